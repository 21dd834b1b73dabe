#!/usr/bin/env bash
# Installs what is missing, builds, runs all tests. Arguments go to ctest: scripts/test.sh -R machine
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh test
cmake --preset release -DPERAXIS_TESTS=ON >/dev/null
cmake --build --preset release
exec ctest --test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)" "$@"
