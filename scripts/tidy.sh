#!/usr/bin/env bash
# clang-tidy (.clang-tidy) over our sources, warnings as errors, every file on its own.
#   scripts/tidy.sh                 all of src
#   scripts/tidy.sh src/requant ... folders or files
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/tidy
cmake --preset release -B "$build" -DPERAXIS_UNITY=OFF -DPERAXIS_TESTS=OFF >/dev/null
cmake --build "$build" --target peraxis_tflite_schema peraxis_executable_schema peraxis_capture_schema >/dev/null
[ $# -gt 0 ] || set -- src
find "$@" -name '*.cpp' | sort | xargs -P "$(nproc)" -n 4 \
  "${CLANG_TIDY:-clang-tidy-19}" --quiet -p "$build" --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option \
  --extra-arg=-Wno-deprecated-declarations  # clang 19 on libstdc++ 12's stable_sort
