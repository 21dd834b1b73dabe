#!/usr/bin/env python3
"""Captured command streams of other compilers, decoded, encoded again and executed on the machine model.

Usage: replay_fixtures.py DIR [--json] [--peraxis BINARY] [--keep FOLDER] [--words FOLDER]

DIR holds cases in either of two forms, in any folder below it:
  NAME.json + NAME.npz   a driver's submission: buffers, jobs, tasks, arrays, the TFLite model
  NAME.json.gz           a compiler's blocks: tensors, constants, relocations, recorded outputs
Each case becomes a capture (docs/capture.md). A case is ok when every word survives decode and encode and, where the case
holds what a run needs, the result lies within the limit of its family, or outside it for causes that are proved: what the
stream and its buffers say contradicts the model (scripts/fixtures/causes.py), or a task reads what nobody wrote; the stream
put right in that meets the limit, and its wrong bytes are those that numpy computes (scripts/fixtures/verdict.py). Where the
chip is not settled other readings are tried after the default one; the note says which was needed. Exit code 0 when every
case is ok, else 1.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from fixtures import causes, verdict  # noqa: E402
from fixtures.blocks import blocks  # noqa: E402
from fixtures.case import Case, case_name  # noqa: E402
from fixtures.evaluate import NotEvaluated, evaluate  # noqa: E402
from fixtures.submission import submission  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What silicon has not settled (src/machine/switches.hpp), alone and together, in the order they are tried.
READINGS = ([], ["pad_lanes=byte0"], ["drop_dummy_output=on"], ["pad_lanes=byte0", "drop_dummy_output=on"],
            ["ignore_ow_op_with_records=on"], ["stored_kernels=orig"],
            ["ignore_ow_op_with_records=on", "stored_kernels=orig"], ["ignore_ow_op_with_records=on", "pad_lanes=byte0"], ["refuse_full_last_bank=off"], ["ew_surf_stride_unread=on"])
# Refusals that are findings about the stream, and what lets the replay go on. The first is a cause of wrong values too.
UNWRITTEN = "read before written"
FINDINGS = {"was never written": (UNWRITTEN, "read_unwritten=on"),
            "_REUSE is set, but no earlier task of the job left any":
                ("weights of another job: a task keeps what an earlier job left in the buffer", "cbuf_survives_jobs=on")}
LIKE_REFERENCE = 0.5  # of the values of a fused addition that must be TFLite's: they skip one rounding
GIVEN = ("input", "weights", "bias")  # roles of buffers that a driver fills before it submits
LARGEST_FILE = 1 << 28  # bytes


def peraxis(binary, *arguments, data=None):
    return subprocess.run([binary, *map(str, arguments)], input=data, capture_output=True, check=False, timeout=600)


def identical(binary, case, folder):
    """Every word of the case after decode and encode."""
    file = folder / "words.bin"
    data = b"".join(np.array(words, "<u8").tobytes() for words in case.streams)
    file.write_bytes(data)
    if not data:
        return True
    text = peraxis(binary, "decode", "--words", file)
    back = peraxis(binary, "encode", data=text.stdout)
    return text.returncode == 0 and back.returncode == 0 and back.stdout == data


class Run:
    """One replay of a capture under one reading of the chip."""

    def __init__(self, binary, capture, reading, folder, recorded=()):
        """`recorded`: buffers whose contents the case should hold; reading beyond them is the case's fault."""
        self.reading, self.findings = list(reading), []
        outputs = folder / "outputs.npz"
        while True:
            switches = [a for s in self.reading for a in ("--switch", s)]
            done = peraxis(binary, "replay", capture, "--json", "--outputs", outputs, *switches)
            try:
                self.report = json.loads(done.stdout)
            except json.JSONDecodeError:
                raise RuntimeError(done.stderr.decode(errors="replace").strip()) from None
            refusal = self.report["refusal"] or ""
            found = next((f for text, f in FINDINGS.items() if text in refusal and f[1] not in self.reading), None)
            lacking = re.search(r"\(buffer '([^']*)'", refusal) if found else None
            if lacking and lacking[1] in recorded:
                raise RuntimeError(f"the case lacks contents of '{lacking[1]}': {refusal}")
            if found is None:
                break
            self.findings.append((found[0], refusal))
            self.reading.append(found[1])
        with np.load(outputs) as file:
            self.values = {k: file[k] for k in file.files}

    def compare(self, case):
        self.elements = self.equal = self.largest = 0
        if case.combine is None or self.report["refusal"]:
            return
        made, want = case.combine(self.values)
        if case.computed:
            made, want = self.values["out0"], self.from_operands(case, want)
        apart = np.abs(np.asarray(made, np.int64) - np.asarray(want, np.int64))
        self.elements, self.equal, self.largest = apart.size, int((apart == 0).sum()), int(apart.max(initial=0))

    def from_operands(self, case, reference):
        """What words and buffers give in numpy, when most of it is the reference's; else the reference."""
        try:
            made = evaluate(case, case.captures[0], self.reading)["out0"]
        except NotEvaluated as problem:
            case.notes.append(f"not computed from its operands: {problem}")
            return reference
        return made if (made == reference).mean() > LIKE_REFERENCE else reference

    def within(self, case):
        if self.report["refusal"]:
            return False
        return case.limit is None or case.limit.holds(self.elements, self.equal, self.largest)


def write_capture(binary, description, arrays, folder, number):
    source, capture = folder / "case.json", folder / f"case{number}.pxc"
    source.write_text(json.dumps(description))
    made = peraxis(binary, "capture", "--pack", source, "--arrays", arrays, "-o", capture)
    if made.returncode:
        raise RuntimeError(made.stderr.decode(errors="replace").strip())
    return capture


class Outcome:
    """What became of a case: its row, the run that came closest, and why it is where it is."""

    def __init__(self, name):
        self.row = {"name": name, "ok": False, "elements": 0, "equal": 0, "max": 0, "note": ""}
        self.best = None
        self.captures = []
        self.found = []  # causes that are proved, as text
        self.proof = []  # how


def closest(binary, case, capture, folder):
    best = None
    recorded = {b["name"] for b in case.captures[0]["buffers"] if b["role"] in GIVEN}
    for reading in READINGS:
        run = Run(binary, capture, reading, folder, recorded)
        run.compare(case)
        if best is None or (run.within(case), not run.report["refusal"], run.equal) > \
                (best.within(case), not best.report["refusal"], best.equal):
            best = run
        if run.within(case) or run.report["not_modelled"]:
            break
    return best


def replay(binary, case, folder, outcome):
    arrays = folder / "case.npz"
    np.savez(arrays, **case.arrays)
    outcome.captures = [write_capture(binary, c, arrays, folder, i) for i, c in enumerate(case.captures)]
    best = outcome.best = closest(binary, case, outcome.captures[0], folder)
    outcome.row.update(elements=best.elements, equal=best.equal, max=best.largest)
    refusal = best.report["refusal"]
    within = best.within(case) and case.combine is not None
    judged = None
    if not within and not refusal and case.limit is not None and case.model is not None:
        judged = verdict.judge(case, best, found_causes(case, best), lambda fixed: replay_again(binary, fixed, folder))
        outcome.found, outcome.proof = [str(cause) for cause in judged.causes], judged.notes
    agree = bool(refusal) or cores_agree(binary, case, outcome, folder)
    if best.reading:
        case.notes.append("with " + ", ".join(best.reading))
    if refusal:
        case.notes.append(("not modelled: " if best.report["not_modelled"] else "refused: ") + refusal)
    if case.exact and not refusal:
        case.notes.append(("equal to " if case.exact[1](best.values) else "not equal to ") + case.exact[0])
    if len(outcome.captures) > 1:
        case.notes.append("the same" if agree else "NOT the same")
        case.notes[-1] += f" on 1 to {len(outcome.captures)} cores"
    said = [refusal for kind, refusal in best.findings if any(kind in cause and refusal in cause for cause in outcome.found)]
    case.notes += [f"{kind} ({why}), without effect on the result" for kind, why in best.findings if why not in said]
    case.notes += outcome.found + outcome.proof + [n for n in best.report["notes"] if not n.startswith(UNWRITTEN)]
    nothing_known = case.combine is None and not outcome.found and not refusal
    outcome.row["ok"] = bool(agree and (within or nothing_known or (judged is not None and judged.excused)))


def found_causes(case, run):
    """What words and buffers say, and that a task read what nobody had written."""
    found = causes.find(case)
    adding = next((w for w in case.works if w.task.adds_tensor), None)
    for kind, refusal in run.findings:
        if kind == UNWRITTEN:
            found.insert(0, causes.Cause(kind, refusal, "operand_tensor" if adding and "MRDMA" in refusal else "", adding))
    return found


def replay_again(binary, case, folder):
    """The best run of a case that was put right."""
    arrays = folder / "repaired.npz"
    np.savez(arrays, **case.arrays)
    return closest(binary, case, write_capture(binary, case.captures[0], arrays, folder, "repaired"), folder)


def cores_agree(binary, case, outcome, folder):
    """Every other way to run the case gives the same outputs."""
    first, agree = outcome.best, True
    for capture in outcome.captures[1:]:
        run = Run(binary, capture, first.reading, folder)
        if run.report["refusal"]:
            case.notes.append("refused: " + run.report["refusal"])
            return False
        apart = np.concatenate([np.abs(run.values[k].astype(np.int64) - v).ravel() for k, v in first.values.items()])
        agree = agree and not apart.any()
        if case.compare_cores:
            row = outcome.row
            row["elements"] += apart.size
            row["equal"] += int((apart == 0).sum())
            row["max"] = max(row["max"], int(apart.max(initial=0)))
    return agree


def examine(binary, case, folder):
    """Replays a case; its captures stay in `folder`."""
    outcome = Outcome(case.name)
    try:
        if case.broken:
            case.notes.append(case.broken)
        elif not identical(binary, case, folder):
            case.notes.append("decode and encode change words")
        elif not case.replayable:
            outcome.row["ok"] = True
        else:
            replay(binary, case, folder, outcome)
    except subprocess.TimeoutExpired:
        case.notes.append("the replay took more than ten minutes")
    except Exception as problem:  # pylint: disable=broad-exception-caught
        # As in read_case: arrays of a damaged case that do not fit each other.
        case.notes.append(str(problem) if isinstance(problem, RuntimeError) else f"{type(problem).__name__}: {problem}")
    outcome.row["note"] = "; ".join(case.notes)
    return outcome


def check_file(path):
    if not path.is_file():
        raise ValueError(f"{path.name} is no regular file")
    if path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, the limit is {LARGEST_FILE}")


def read_case(path, name):
    """The case of a file, None when the file is none of ours."""
    try:
        check_file(path)
        if path.name.endswith(".json.gz"):
            return blocks(path, name)
        check_file(path.with_suffix(".npz"))
        return submission(path, name)
    except Exception as problem:  # pylint: disable=broad-exception-caught
        # Whatever a damaged file makes numpy, zipfile, json or LiteRT raise: the case is broken, the others are not.
        case = Case(name)
        case.broken = f"unreadable: {type(problem).__name__}: {problem}"
        return case


def cases(folder):
    names = set()
    for path in sorted(folder.rglob("*")):
        if not path.name.endswith(".json.gz") and not (path.suffix == ".json" and os.path.lexists(path.with_suffix(".npz"))):
            continue
        full = os.fsencode(path.relative_to(folder)).decode("utf-8", "replace")
        name = case_name(full)
        if name in names:  # the two forms side by side
            name = full
        names.add(name)
        case = read_case(path, name)
        if case is not None:
            yield case


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--peraxis", default=os.environ.get("PERAXIS_BINARY", str(ROOT / "build/release/peraxis")))
    parser.add_argument("--keep", type=pathlib.Path, help="leave the captures in this folder")
    parser.add_argument("--words", type=pathlib.Path, help="leave the words of every case in this folder, for peraxis decode --words")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    if not os.access(options.peraxis, os.X_OK) or os.path.isdir(options.peraxis):
        parser.error(f"--peraxis {options.peraxis}: no program")
    for kept in filter(None, (options.keep, options.words)):
        try:
            kept.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            parser.error(str(problem))
    sys.stdout.reconfigure(errors="backslashreplace")
    results, taken = [], set()
    for case in cases(options.folder):
        with tempfile.TemporaryDirectory() as work:
            outcome = examine(options.peraxis, case, pathlib.Path(work))
            flat = case.name.replace("/", "_")
            while flat in taken:
                flat += "_"
            taken.add(flat)
            if options.words and case.streams:
                np.array([w for s in case.streams for w in s], "<u8").tofile(options.words / f"{flat}.bin")
            if options.keep and outcome.captures:
                shutil.copyfile(outcome.captures[0], options.keep / f"{flat}.pxc")
        result = outcome.row
        results.append(result)
        if not options.json:
            print(f"{'ok  ' if result['ok'] else 'FAIL'} {result['name']}: {result['equal']} of {result['elements']} equal, "
                  f"max {result['max']}{'; ' if result['note'] else ''}{result['note']}", flush=True)
    if options.json:
        print(json.dumps({"cases": results}, indent=1))
    else:
        print(f"{sum(r['ok'] for r in results)} of {len(results)} cases ok")
    return 0 if results and all(r["ok"] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
