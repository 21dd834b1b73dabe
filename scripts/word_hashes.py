#!/usr/bin/env python3
"""What a build of peraxis makes of every model under every strategy: a hash of the command words with what is said of
their tasks, the number of tasks and the estimated time. With --against, two builds side by side: a change of the
compiler that should leave all words as they are is held against the build before it.

One line a model and strategy; exit code 1 when two builds disagree. Without the collected models (../shared, or the
folder that PERAXIS_SHARED names) only those of examples/demo are looked at.

Usage: word_hashes.py [--peraxis FILE] [--against FILE] [--strategies A,B] [--jobs N] [MODEL or FOLDER ...]
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("real", "synth", "ops")


def strategies():
    listed = (TOP / "src/requant/strategies.def").read_text(encoding="utf-8")
    names = re.findall(r'^PERAXIS_STRATEGY\(\w+,\s*"([\w-]+)"', listed, re.MULTILINE)
    return ["auto", "accuracy=exact"] + names


def models(arguments):
    if arguments:
        places = [pathlib.Path(a) for a in arguments]
    else:
        shared = pathlib.Path(os.environ.get("PERAXIS_SHARED", TOP.parent / "shared"))
        places = [TOP / "examples/demo"] + [shared / "models" / folder for folder in FOLDERS]
    found = []
    for place in places:
        found += sorted(place.glob("*.tflite")) if place.is_dir() else [place]
    return [m for m in found if m.is_file()]


def command(binary, name, model, strategy, *more):
    how = ["--accuracy", "exact"] if strategy == "accuracy=exact" else ["--strategy", strategy]
    return subprocess.run([binary, name, str(model), *how, "--json", *more], capture_output=True, check=False)


def facts(binary, model, strategy):
    """One line of text: equal for builds that make the same of the model."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.pax"
        made = command(binary, "compile", model, strategy, "-o", str(file))
        if made.returncode != 0:
            return "refused: " + made.stderr.decode(errors="replace").strip().replace(folder, "").splitlines()[-1]
        out = json.loads(made.stdout)
        text = subprocess.run([binary, "decode", str(file)], capture_output=True, check=True).stdout
    plan = json.loads(command(binary, "plan", model, strategy).stdout)
    records = json.dumps([out[key] for key in ("buffers", "uploads", "execution_order", "layers", "operators")])
    return (f"words {hashlib.sha256(text).hexdigest()[:16]} records {hashlib.sha256(records.encode()).hexdigest()[:16]} "
            f"tasks {out['tasks']} steps {out['steps']} bytes {out['memory']['device_bytes']} "
            f"ms {plan['total']['estimated_ms']:.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peraxis", default=str(TOP / "build/release/peraxis"))
    parser.add_argument("--against", help="another build; only what differs is printed")
    parser.add_argument("--strategies", help="instead of all, separated by commas; accuracy=exact is one")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    names = options.strategies.split(",") if options.strategies else strategies()
    cases = [(model, strategy) for model in models(options.models) for strategy in names]
    builds = [options.peraxis] + ([options.against] if options.against else [])
    different = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (model, strategy), made in zip(cases, pool.map(lambda c: [facts(b, *c) for b in builds], cases)):
            same = len(set(made)) == 1
            different += not same
            if not options.against:
                print(f"{model.name} {strategy}: {made[0]}", flush=True)
            elif not same:
                print(f"{model.name} {strategy}:\n  {builds[0]}: {made[0]}\n  {builds[1]}: {made[1]}", flush=True)
    if options.against:
        print(f"{len(cases)} cases, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
