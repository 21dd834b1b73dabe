#!/bin/sh
# Builds the fuzz preset (clang-19 with address and undefined sanitizers) and runs every fuzz target for
# some seconds. Usage: scripts/fuzz.sh [seconds-a-target] [target...]
#
# fuzz/corpus/<target>/ holds the committed seeds; what a run finds goes to <build>/corpus/<target>/, crashing
# inputs to <build>/crashes/. A crash becomes a unit test, not a corpus file.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
build=${PERAXIS_FUZZ_BUILD:-build/fuzz}

cmake --preset fuzz -B "$build" >/dev/null
if [ $# -eq 0 ]; then
  for source in fuzz/*.cpp; do set -- "$@" "$(basename "$source" .cpp)"; done
fi
programs=
for target in "$@"; do programs="$programs fuzz_$target"; done
# shellcheck disable=SC2086  # one word a program
cmake --build "$build" --target $programs

failed=
mkdir -p "$build/crashes"
for target in "$@"; do
  mkdir -p "$build/corpus/$target"
  seeds=
  [ -d "fuzz/corpus/$target" ] && seeds="fuzz/corpus/$target"
  echo "== $target: $seconds s"
  # shellcheck disable=SC2086  # absent or one word
  if ! "$build/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=65536 -timeout=25 -rss_limit_mb=4096 \
      -print_final_stats=1 -verbosity=0 -artifact_prefix="$build/crashes/$target-" \
      "$build/corpus/$target" $seeds; then
    failed="$failed $target"
  fi
done
if [ -n "$failed" ]; then
  echo "failed:$failed (inputs in $build/crashes)" >&2
  exit 1
fi
