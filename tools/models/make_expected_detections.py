#!/usr/bin/env python3
"""Recompute "int8_raw" of the demo's expected_detections.json: the shipped model under LiteRT's reference kernels.

Needs: pip install ai-edge-litert numpy pillow
Without --write it compares with the file and exits with 1 when they differ. "float" (the float model before
quantization) cannot be made from the shipped files and is left as it is.
"""
import argparse
import json
import pathlib
import sys

import numpy as np
from PIL import Image

from yolo_boxes import as_json, decode_raw, nms, run_tflite

DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"


def compute(demo):
    """File name of each picture -> its detections."""
    info = json.loads((demo / "shapes_yolo_raw_int8.json").read_text())
    files = sorted(demo.glob("test_*.png"))
    pictures = [np.asarray(Image.open(file).convert("RGB")) for file in files]
    heads = run_tflite(demo / "shapes_yolo_raw_int8.tflite", pictures)
    rows = decode_raw(heads, info["strides"], info["anchors"])
    # Low threshold first, as when the file was made: suppression then sees the same boxes.
    return {file.name: as_json(nms(row, .05, info["iou"]), info["labels"], info["score"])
            for file, row in zip(files, rows)}


def differences(expected, computed):
    """One line for each picture whose detections are not the same to the printed digits."""
    lines = []
    for name in sorted(set(expected) | set(computed)):
        want, got = expected.get(name, {}).get("int8_raw"), computed.get(name)
        if want != got:
            lines.append(f"{name}: expected {want}, computed {got}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", type=pathlib.Path, default=DEMO, help="folder with the model and the pictures")
    parser.add_argument("--write", action="store_true", help="replace int8_raw in expected_detections.json")
    arguments = parser.parse_args()
    path = arguments.demo / "expected_detections.json"
    expected = json.loads(path.read_text())
    computed = compute(arguments.demo)
    if arguments.write:
        for name, detections in computed.items():
            expected.setdefault(name, {})["int8_raw"] = detections
        path.write_text(json.dumps(expected, indent=1))
        return 0
    lines = differences(expected, computed)
    for line in lines:
        print(line)
    print(f"{len(computed)} pictures, {sum(map(len, computed.values()))} detections, {len(lines)} pictures differ")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
