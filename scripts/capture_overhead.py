#!/usr/bin/env python3
"""Prints what recording and the fake kernel cost a program, with the release build: the table of docs/capture.md.
Each number is the least of several runs, because other work on the computer only adds to it."""
import argparse
import pathlib
import subprocess
import tempfile

BUILD = pathlib.Path(__file__).resolve().parents[1] / "build" / "release"
PERAXIS, PROGRAM = BUILD / "peraxis", BUILD / "tests" / "capture" / "capture_rocket_program"


def output(command):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()


def submits(times, runs, recorded):
    best = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            record = ["-o", f"{folder}/rec"] if recorded else []
            command = [PERAXIS, "capture", "--fake", "rocket", "--executor", "test-words", *record, "--", PROGRAM, "time",
                       times]
            best.append(float(output(command)))
    return min(best)


def calls(times, runs, *before):
    """The three calls that have nothing to do with an NPU."""
    found = [[float(line.split(": ")[1]) for line in output([*before, PROGRAM, "calls", times]).splitlines()] for _ in range(runs)]
    return [min(column) for column in zip(*found)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--times", type=int, default=500)
    arguments.add_argument("--runs", type=int, default=5)
    options = arguments.parse_args()
    print("| A job of one task: FINI_BO, SUBMIT, PREP_BO | microseconds |\n|---|---|")
    for name, recorded in (("fake kernel", False), ("and recorded", True)):
        print(f"| {name} | {submits(options.times, options.runs, recorded):.0f} |")
    plain = calls(options.times * 100, options.runs)
    with tempfile.TemporaryDirectory() as folder:
        # No fake kernel: what programs on a board pay for calls that are no NPU's.
        hooked = calls(options.times * 100, options.runs, PERAXIS, "capture", "-o", f"{folder}/rec", "--")
    print("\n| Calls without an NPU | microseconds | with the library |\n|---|---|---|")
    for name, without, with_it in zip(("open, close", "mmap, munmap", "ioctl"), plain, hooked):
        print(f"| {name} | {without:.2f} | {with_it:.2f} |")


if __name__ == "__main__":
    main()
