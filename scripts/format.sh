#!/bin/sh
# Formats our C++ files with clang-format-19 and .clang-format; --check only lists the files that would
# change and fails when there is one. Usage: scripts/format.sh [--check] [file...]
set -eu
cd "$(dirname "$0")/.."
format=${CLANG_FORMAT:-clang-format-19}
mode=-i
if [ "${1:-}" = --check ]; then
  mode=--dry-run
  shift
fi
if ! command -v "$format" >/dev/null; then
  echo "$format is not installed (package clang-format-19, or set CLANG_FORMAT)" >&2
  exit 2
fi
if [ $# -eq 0 ]; then
  for folder in src include tests tools fuzz bench examples; do
    [ -d "$folder" ] && set -- "$@" "$folder"
  done
  list=$(find "$@" -name '*.[ch]pp' -o -name '*.[ch]' | sort)
  [ -n "$list" ] || exit 0
  # shellcheck disable=SC2086  # our paths have no blanks
  set -- $list
fi
if [ "$mode" = -i ]; then
  "$format" -i "$@"
  exit
fi
bad=0
for file in "$@"; do
  "$format" --dry-run --Werror "$file" 2>/dev/null || { echo "$file"; bad=1; }
done
[ "$bad" = 0 ] || { echo "run scripts/format.sh" >&2; exit 1; }
