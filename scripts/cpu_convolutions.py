#!/usr/bin/env python3
"""Lists the convolution-like operators that run on the CPU, one line each: model, operator, reason.

Usage: scripts/cpu_convolutions.py MODELS [--binary PERAXIS] [-o FILE]

MODELS holds the folders demo, real, synth and ops of the model collection. Models that this version refuses
to import are named as comments, so that the list covers every file. tests/data/cpu_convolutions.txt is this
script's output; tests/python/cpu_convolutions_test.py fails when it is stale.
"""
import argparse
import json
import pathlib
import subprocess
import sys

FOLDERS = ("demo", "real", "synth", "ops")
HEADER = """\
# Convolution-like operators that run on the CPU: model, operator, reason. Written by
# scripts/cpu_convolutions.py; a line that goes away is progress, a new one needs a reason to be there.
"""


def lines_of(binary, path, name):
    done = subprocess.run([binary, "inspect", str(path), "--json"], capture_output=True, check=False)
    if done.returncode != 0:
        error = done.stderr.decode(errors="replace").replace(str(path), name).splitlines()[0]
        return [f"# refused: {error.removeprefix('peraxis: error: ')}"]
    return [f"{name} {op['op']} {op['kind']}: {op['reason']}"
            for op in json.loads(done.stdout)["operators"] if op.get("device") == "cpu"]


def listing(binary, models):
    out = []
    for folder in FOLDERS:
        for path in sorted((models / folder).glob("*.tflite")):
            out += lines_of(binary, path, f"{folder}/{path.name}")
    return HEADER + "".join(line + "\n" for line in out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--binary", default="build/release/peraxis")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    text = listing(options.binary, options.models)
    if options.output:
        options.output.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
