#!/usr/bin/env bash
# clang-tidy (.clang-tidy) over our sources, warnings as errors. Needs a configured build/release.
#   scripts/tidy.sh                 all of src
#   scripts/tidy.sh src/requant ... folders or files
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e build/release/compile_commands.json ] || cmake --preset release >/dev/null
[ $# -gt 0 ] || set -- src
find "$@" -name '*.cpp' | sort | xargs -P "$(nproc)" -n 4 \
  "${CLANG_TIDY:-clang-tidy-19}" --quiet -p build/release --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option \
  --extra-arg=-Wno-deprecated-declarations  # clang 19 on libstdc++ 12's stable_sort
