#!/usr/bin/env python3
"""Writes docs/evidence.md: every recorded case replayed on the machine model, and what each reading of the chip changes.

    scripts/evidence.py [--binary build/release/peraxis] [--shared ../shared] [--output docs/evidence.md]

Needs numpy and ai-edge-litert; run it with .venv/bin/python. Takes some minutes: every case that agrees with its reference is
replayed once more for every other value of every switch.
"""
import collections
import pathlib
import sys
import tempfile

import numpy as np

from accuracy import page_options, write_page

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import evidence_page  # noqa: E402
from fixtures import beside_mesa  # noqa: E402
import replay_fixtures  # noqa: E402
from replay_fixtures import Run  # noqa: E402

SUMMARIZED = "vendor:nets/yolo2_relu"
TIES = ("register", "even", "up")
FLAG = ("off", "on")
# The switches of src/machine/switches.hpp and their values, the default first. Those that only let a replay go on after a
# refusal (read_unwritten, drop_dummy_output, cbuf_survives_jobs) are readings of a driver, not of arithmetic; they are here too.
SWITCHES = {
    "out_cvt_ties": TIES, "out_cvt_offset_inside": FLAG, "clip_truncate_ties": TIES, "bs_ties": ("even", "register", "up"),
    "bn_ties": ("even", "register", "up"), "ew_cvt_ties": TIES, "lut_ties": ("up", "register", "even"),
    "pool_average_ties": ("even", "register", "up"), "pool_notch_is_row_pitch": FLAG, "pad_lanes": ("two", "byte0", "two_everywhere"),
    "truncate_before_cpend": FLAG, "bn_shift_first": FLAG, "lut_after_op": FLAG, "pool_padding_competes": FLAG,
    "deconv_inserts_zero": FLAG, "ew_surf_stride_unread": FLAG, "ignore_ow_op_with_records": FLAG,
    "stored_kernels": ("kernels", "orig"), "refuse_partial_groups": ("on", "off"), "drop_dummy_output": FLAG,
    "read_unwritten": FLAG, "cbuf_survives_jobs": FLAG, "refuse_full_last_bank": ("on", "off"),
}


class Effect:
    """What one value of one switch does to the cases that agree with their reference under the readings they need."""

    def __init__(self):
        self.breaks, self.changes, self.needed = [], [], []


def flipped(reading, switch, value):
    return [r for r in reading if not r.startswith(f"{switch}=")] + [f"{switch}={value}"]


def try_switches(binary, case, captures, best, folder, effects):
    for switch, values in SWITCHES.items():
        used = next((r.split("=")[1] for r in best.reading if r.startswith(f"{switch}=")), values[0])
        for value in values:
            if value == used:
                continue
            run = Run(binary, captures[0], flipped(best.reading, switch, value), folder)
            run.compare(case)
            if not run.within(case):
                effects[switch, value].breaks.append((case.name, run.report["refusal"], run.elements, run.equal, run.largest))
            elif (run.equal, run.largest) != (best.equal, best.largest) or \
                    any((run.values[k] != v).any() for k, v in best.values.items()):
                effects[switch, value].changes.append((case.name, run.equal - best.equal))


def main():
    options = page_options(__doc__, "docs/evidence.md")
    shared = pathlib.Path(options.shared)
    rows, effects, layers = [], collections.defaultdict(Effect), []
    summary = ""
    for family in ("mesa", "vendor"):
        if not (shared / family).is_dir():
            sys.exit(f"{shared / family}: no such folder")
        for case in replay_fixtures.cases(shared / family):
            case.name = f"{family}:{case.name}"
            with tempfile.TemporaryDirectory() as work:
                folder = pathlib.Path(work)
                outcome = replay_fixtures.examine(options.binary, case, folder)
                rows.append((case, outcome))
                if outcome.best is not None:
                    for reading in outcome.best.reading:
                        effects[tuple(reading.split("="))].needed.append(case.name)
                if outcome.best is not None and not outcome.found and case.combine is not None and outcome.best.within(case):
                    try_switches(options.binary, case, outcome.captures, outcome.best, folder, effects)
                if case.driver == "mesa" and outcome.best is not None and not outcome.best.report["refusal"]:
                    same = beside_mesa.same_layer(options.binary, case, outcome.best.values, folder)
                    if same is not None:
                        layers.append((case.name, *same, beside_mesa.exception(case, outcome)))
                if case.name == SUMMARIZED:
                    words = folder / "yolo2_relu.bin"
                    np.array([w for s in case.streams for w in s], "<u8").tofile(words)
                    summary = beside_mesa.run(options.binary, "decode", "--words", words, "--summary").stdout.decode()
                    summary = summary.replace(str(words), words.name)
            print(outcome.row["name"], outcome.row["ok"], file=sys.stderr)
    with tempfile.TemporaryDirectory() as work:
        whole = beside_mesa.whole_network(options.binary, shared, pathlib.Path(work))
    write_page(options.output, evidence_page.page(rows, effects, SWITCHES, whole, layers, summary))


if __name__ == "__main__":
    main()
