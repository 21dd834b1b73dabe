#!/usr/bin/env python3
"""Writes docs/strategies/comparison.md: every strategy beside the others, from `peraxis plan` and `peraxis compare`.

    scripts/compare_strategies.py [--binary build/release/peraxis] [--shared ../shared] [--output FILE]

The rows of the strategies are those of `peraxis plan MODEL --all-strategies --input ... --json` on input set 0;
the rows of settings are one `peraxis compare` and one `peraxis plan` each, with the same inputs. Needs numpy.
"""
import os
import sys
import tempfile

import numpy as np

from accuracy import Failed, page_options, peraxis, percent, run_script, set_inputs, write_page

MODELS = ["demo/shapes_yolo_raw_int8", "synth/yolov5s_relu_640_raw", "synth/yolov5n_relu_320_raw", "real/vww_96_int8"]
PER_TENSOR_MODEL = "real/mobilenet_v1_0.25_128_quant"
PER_TENSOR = ["two-scalar", "mesa-scale"]  # strategies for layers of one scale
# Label -> options, for rows that are a setting of a strategy; None: a row of --all-strategies.
ROWS = {
    "max-scale, no correction": ["--strategy", "max-scale", "--correction", "off"],
    "max-scale": None,
    "max-scale, bias rescaled": ["--strategy", "max-scale", "--bias-rescale"],
    "groups": None,
    "groups, multiplier inside": ["--strategy", "groups", "--correction", "multiply"],
    "sorted-groups": None,
    "sorted-groups, multiplier inside": ["--strategy", "sorted-groups", "--correction", "multiply"],
    "hybrid": None,
    "per-channel": None,
    "hw-multiply, vendor's factors": ["--strategy", "hw-multiply", "--vendor-factors"],
    "hw-multiply": None,
    "hw-multiply, ratio of a set <= 4": ["--strategy", "hw-multiply", "--max-ratio", "4"],
    "exponent-classes": None,
    "exponent-classes-tie-proof": None,
    "fast": None,
    "at most 0.05 %": ["--max-mismatch", "0.05"],
    "exact": None,
}
PER_TENSOR_ROWS = {label: None for label in ("max-scale", "mesa-scale", "hw-multiply", "two-scalar", "exponent-classes", "fast", "exact")}
SINGLE = ["--reference", "single-rounding"]
# A numpy computation with the arithmetic of docs/hardware, before this project's code, in the order of MODELS: per cent, largest difference where not 1.
# Strategy, reference, options of a row that no table above has, values.
INDEPENDENT = [
    ("max-scale", "double", None, "7.6 (56)", "10.4 (145)", "10.9 (140)", "9.8 (218)"),
    ("max-scale, bias rescaled", "double", None, "46", "79", "81", "53"),
    ("groups", "double", None, "7.6", "11", "11", "9"),
    ("sorted-groups", "double", None, "8.7", "16", "15", "9"),
    ("hybrid", "double", None, "6.4", "1.8", "1.9", ".21"),
    ("per-channel", "single", [*SINGLE, "--strategy", "per-channel"], ".007", ".027", ".032", ".012"),
    ("hw-multiply, vendor's factors", "single", [*SINGLE, "--strategy", "hw-multiply", "--vendor-factors"], ".056", ".138", ".159", ".217 (18)"),
    ("hw-multiply", "single", [*SINGLE, "--strategy", "hw-multiply"], ".008", ".052", ".049", ".026"),
    ("hw-multiply", "double", None, ".027", ".060", ".067", ".052"),
    ("exponent-classes", "double", None, ".005", ".026", ".031", ".013"),
    ("exponent-classes-tie-proof", "double", None, ".013", ".067", ".069", ".015"),
    ("exact", "double", None, "0", "0", "0", "0"),
]
# Its tasks, where it has them: shapes_yolo_raw_int8, yolov5s_relu_640_raw.
INDEPENDENT_TASKS = {"max-scale": (36, 189), "groups": (96, 1216), "per-channel": (1422, 19370), "exponent-classes": (93, 547)}


def setting(binary, model, inputs, options):
    """The figures of one row of settings."""
    report = peraxis(binary, "compare", model, [*inputs, *options])
    total = peraxis(binary, "plan", model, options)["total"]
    if total["tasks"] != report["npu"]["tasks"]:
        raise Failed(f"{model} {options}: plan has {total['tasks']} tasks, compare {report['npu']['tasks']}")
    outputs = report["end_to_end"]
    elements = sum(output["elements"] for output in outputs)
    return {"tasks": total["tasks"], "estimated_ms": total["estimated_ms"],
            "isolated_mismatch_percent": report["isolated"]["percent"], "isolated_max": report["isolated"]["max"],
            "end_to_end_max": max(output["max"] for output in outputs),
            "end_to_end_mean": sum(output["mean"] * output["elements"] for output in outputs) / elements}


def share(figures):
    return f"{percent(figures['isolated_mismatch_percent'])} ({figures['isolated_max']:.0f})"


def measure(options, name, wanted):
    """Label -> figures of one model, and how many of its layers share one scale."""
    model = os.path.join(options.shared, "models", name + ".tflite")
    goldens = np.load(os.path.join(options.shared, "models", name + ".npz"))
    with tempfile.TemporaryDirectory() as folder:
        inputs = set_inputs(folder, goldens, 0)
        report = peraxis(options.binary, "plan", model, ["--all-strategies", *inputs])
        if report["inputs"] != "given":
            raise Failed(f"{name}: measured on other inputs")
        rows = {row["strategy"]: row for row in report["strategies"]}
        for label, arguments in wanted.items():
            if arguments is not None:
                rows[label] = setting(options.binary, model, inputs, arguments)
        singles = [row[2] and setting(options.binary, model, inputs, row[2]) for row in INDEPENDENT] if name in MODELS else []
        layers = peraxis(options.binary, "plan", model, ["--strategy", "two-scalar"])["layers"]
    print(name, file=sys.stderr)
    shared_scale = sum(layer["strategy"] == "two-scalar" for layer in layers)
    return rows, singles, (shared_scale, len(layers))


def table(rows, wanted):
    lines = ["| strategy | tasks | est. ms | isolated % (max) | end to end mean (max) |", "|---|---|---|---|---|"]
    for label in wanted:
        row = rows[label]
        lines.append(f"| {label} | {row['tasks']:,} | {row['estimated_ms']:.2f} | {share(row)} | "
                     f"{row['end_to_end_mean']:.3f} ({row['end_to_end_max']:.0f}) |")
    return "\n".join(lines)


def story(found):
    """The research note's findings, in the figures of this page."""
    def span(label, key, form="{:.0f}"):
        values = [rows[label][key] for rows, _, _ in found.values()]
        return f"{form.format(min(values))} to {form.format(max(values))}"

    s5 = found["synth/yolov5s_relu_640_raw"][0]
    mismatch = "isolated_mismatch_percent"
    return f"""## The research note, measured
What the note found by trying, and what followed from it, on the four models below:

- **One scale a task clips.** `max-scale`, even corrected on the host: {span("max-scale", mismatch, "{:.1f}")} % of the values differ, by {span("max-scale", "isolated_max")} at most.
  Without the correction {span("max-scale, no correction", mismatch, "{:.0f}")} %.
- **Rescaling the bias** has a negligible effect, the note says. It is {span("max-scale, bias rescaled", mismatch, "{:.0f}")} % instead; the mean difference of the outputs on
  yolov5s_relu_640, {s5["max-scale, bias rescaled"]["end_to_end_mean"]:.1f}, is of the order of the note's own (17 to 48).
- **Groups by position** clip as well: {span("groups", mismatch, "{:.1f}")} %, by {span("groups", "isolated_max")}. Neighbours differ in scale as the layer does.
- **Sorting** makes scales within a group alike, but every corrected channel is rounded twice: {span("sorted-groups", mismatch, "{:.1f}")} %, by {span("sorted-groups", "isolated_max")}. It helps
  with the chip's multiplier inside the groups: {span("sorted-groups, multiplier inside", mismatch, "{:.3f}")} %, groups by position {span("groups, multiplier inside", mismatch, "{:.3f}")} %, by 1.
- **A task for every channel** is right: {span("per-channel", mismatch, "{:.2f}")} %, by 1, as much as one rounding differs from LiteRT's two. It takes
  {span("per-channel", "tasks", "{:,}")} tasks. `hybrid` lies between: {span("hybrid", mismatch, "{:.2f}")} %, by {span("hybrid", "isolated_max")}, with {span("hybrid", "tasks", "{:,}")} tasks.
- **The multiplier** that the note holds to be unused does better in one task a tile: `hw-multiply` {span("hw-multiply", mismatch, "{:.3f}")} %, by 1. With the vendor's
  factors it is {span("hw-multiply, vendor's factors", mismatch, "{:.2f}")} %, by {span("hw-multiply, vendor's factors", "isolated_max")}: where ratios are large they leave small channels few bits. On the
  note's network {s5["hw-multiply"]["tasks"]:,} tasks take the place of {s5["per-channel"]["tasks"]:,}, an estimated {s5["hw-multiply"]["estimated_ms"]:.0f} ms that of {s5["per-channel"]["estimated_ms"]:,.0f} ms.
"""


def independent(found):
    lines = [f"| strategy | against | {' | '.join(os.path.basename(name) for name in MODELS)} |", "|---|---|---|---|---|---|"]
    for index, (label, reference, arguments, *theirs) in enumerate(INDEPENDENT):
        cells = []
        for name, value in zip(MODELS, theirs):
            rows, singles, _ = found[name]
            cells.append(f"{share(rows[label] if arguments is None else singles[index])} / {value}")
        lines.append(f"| {label} | {reference} | {' | '.join(cells)} |")
    lines += ["", f"| tasks | {' | '.join(os.path.basename(name) for name in MODELS[:2])} |", "|---|---|---|"]
    for label, theirs in INDEPENDENT_TASKS.items():
        cells = [f"{found[name][0][label]['tasks']:,} / {value:,}" for name, value in zip(MODELS, theirs)]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page(found, per_tensor):
    sections = "".join(f"\n## {os.path.basename(name)}\n\n{table(found[name][0], ROWS)}\n" for name in MODELS)
    counts = ", ".join(f"{found[name][2][0]} of {found[name][2][1]}" for name in MODELS)
    return f"""# Every strategy beside the others

Generated by `scripts/compare_strategies.py` from `peraxis plan MODEL --all-strategies --input ... --json`, and for settings from
`peraxis compare` and `peraxis plan` with the options that the strategies' pages name; do not edit. Machine model, against LiteRT's
reference kernels, input set 0.

Tasks: register command programs of one run. Est. ms: the whole model with the default constants, an **estimate**, not measured on a board
([plan](../plan.md)). Isolated: per cent of the convolutions' values that differ, each layer on the reference's own activations, in brackets
the largest difference. End to end: mean difference of the outputs, in brackets the largest. `fast` is the default, a
[mixed plan](mixed.md); `at most 0.05 %` is `--max-mismatch 0.05`. A layer that a strategy cannot express runs as `exact`.

{story(found)}{sections}
## Layers of one scale
`two-scalar` and `mesa-scale` are for per-tensor layers. The models above have {counts}, so their rows are left out there. On
{os.path.basename(PER_TENSOR_MODEL)}, {per_tensor[2][0]} of {per_tensor[2][1]} layers:

{table(per_tensor[0], PER_TENSOR_ROWS)}

## Beside an independent computation
Ours / a numpy computation with the arithmetic of docs/hardware, made before this project's code: isolated per cent, in brackets the
largest difference (theirs only where it is not 1). `double`: LiteRT's reference kernels; `single`: `--reference single-rounding`. More models:
[accuracy](../accuracy.md).

{independent(found)}

Where they are apart:
- `max-scale`, `groups`, `sorted-groups` on vww_96_int8: channels that are constant over their whole reachable range are written as their exact
  value here, and do not take part in maximum and sorting.
- `hw-multiply`, single: theirs has the searched gain alone, ours also the addend and the neighbouring factors. On shapes_yolo_raw_int8 the
  difference is a few of 469,500 values.
- `hw-multiply`, double: both choose the addend by the thresholds near the zero point, with different weights; ours also searches the split of the shift.
- Tasks of yolov5s_relu_640_raw: our tiling takes fewer row tiles, since it uses every CBUF bank and streams weights where that saves a task.
"""


def main():
    options = page_options(__doc__, "docs/strategies/comparison.md")
    per_tensor = measure(options, PER_TENSOR_MODEL, PER_TENSOR_ROWS)
    found = {name: measure(options, name, ROWS) for name in MODELS}
    write_page(options.output, page(found, per_tensor))


if __name__ == "__main__":
    run_script(main)
