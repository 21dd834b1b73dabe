#!/usr/bin/env bash
# The main job on the shipped demo: installs what is missing, builds, compiles a per-axis int8 YOLO to NPU
# register commands, executes them on the machine model and writes the annotated picture.
#   scripts/demo.sh [picture.png|.jpg]
set -euo pipefail
picture=$(realpath "${1:-$(dirname "$0")/../examples/demo/test_01.png}")
cd "$(dirname "$0")/.."
scripts/install.sh build
cmake --preset release -DPERAXIS_TESTS=OFF >/dev/null
cmake --build --preset release --target peraxis
out=build/demo
mkdir -p "$out"
build/release/peraxis run examples/demo/shapes_yolo_raw_int8.tflite --image "$picture" --output-dir "$out"
echo
echo "annotated picture: $out/annotated.png"
