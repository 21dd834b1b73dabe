#!/usr/bin/env python3
"""Writes docs/accuracy.md: strategies and plans on every collected model, as `peraxis compare` and `peraxis plan` measure them.

    scripts/accuracy.py [--binary build/release/peraxis] [--shared ../shared] [--output docs/accuracy.md]

Isolated: each convolution-like operator alone, with the reference kernels' activations of input set 0 as its
inputs. End to end: the whole compiled model on input sets 0 and 1 against the goldens, which are LiteRT's
reference kernels; beside it LiteRT's own XNNPACK on the same inputs (needs ai_edge_litert; run it with
.venv/bin/python). The sections on plans: `peraxis plan` with the inputs of a set.
"""
import argparse
import collections
import json
import multiprocessing.pool
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np

BUDGET = "0.05"
LIMITED = f"at most {BUDGET} %"
# Column -> options of `compare`.
COLUMNS = {
    "max-scale": ["--strategy", "max-scale"],
    "hw-multiply": ["--strategy", "hw-multiply"],
    "fast": [],
    "exponent-classes": ["--strategy", "exponent-classes"],
    "exponent-classes-tie-proof": ["--strategy", "exponent-classes-tie-proof"],
    LIMITED: ["--max-mismatch", BUDGET],
    "exact": ["--strategy", "exact"],
}
FOLDERS = ["demo", "real", "synth"]
SETS = (0, 1)

# What a numpy computation with the arithmetic of docs/hardware gave on the same models, before this project's code.
INDEPENDENT = {
    "shapes_yolo_raw_int8": {"max-scale": "7.6 (56)", "hw-multiply": ".027", "exponent-classes": ".005", "exponent-classes-tie-proof": ".013"},
    "yolov5n_relu_320_raw": {"max-scale": "10.9 (140)", "hw-multiply": ".067", "exponent-classes": ".031", "exponent-classes-tie-proof": ".069"},
    "yolov5s_relu_640_raw": {"max-scale": "10.4 (145)", "hw-multiply": ".060", "exponent-classes": ".026", "exponent-classes-tie-proof": ".067"},
    "yolox_nano_ti_lite_320_full_integer": {"max-scale": "6.5 (101)", "hw-multiply": ".046", "exponent-classes": ".010", "exponent-classes-tie-proof": ".017"},
    "yolo-fastest-1.1-coco80-int8": {"max-scale": "15.6 (95)", "hw-multiply": ".342", "exponent-classes": ".012", "exponent-classes-tie-proof": ".018"},
    "tf2_mobilenet_v2_1.0_224_ptq": {"max-scale": "32 (253)", "hw-multiply": ".427", "exponent-classes": ".036", "exponent-classes-tie-proof": ".064"},
    "vww_96_int8": {"max-scale": "9.8 (218)", "hw-multiply": ".052", "exponent-classes": ".013", "exponent-classes-tie-proof": ".015"},
    "mobilenet_v1_0.25_128_quant": {"max-scale": "1.25 (1)", "hw-multiply": ".034", "exponent-classes": ".064", "exponent-classes-tie-proof": ".088"},
}


class Failed(Exception):
    """A command failed; sys.exit in a pool's thread would leave the others waiting."""


def page_options(description, output):
    """The command line of a script that writes a generated page."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/peraxis")
    parser.add_argument("--shared", default=os.environ.get("PERAXIS_SHARED", "../shared"))
    parser.add_argument("--output", default=output)
    return parser.parse_args()


def write_page(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run_script(script):
    try:
        script()
    except Failed as error:
        sys.exit(str(error))


def xnnpack_means(model, goldens):
    """Mean |difference| over all outputs of each input set, LiteRT's default kernels against the goldens."""
    from ai_edge_litert.interpreter import Interpreter  # only this table needs it

    interpreter = Interpreter(model_path=model, num_threads=1)
    interpreter.allocate_tensors()
    means = []
    for k in SETS:
        for n, detail in enumerate(interpreter.get_input_details()):
            interpreter.set_tensor(detail["index"], goldens[f"i{k}_{n}"])
        interpreter.invoke()
        total, count = 0, 0
        for n, detail in enumerate(interpreter.get_output_details()):
            got = interpreter.get_tensor(detail["index"]).astype(np.int64)
            want = goldens[f"o{k}_{n}"].astype(np.int64)
            total += np.abs(got - want).sum()
            count += want.size
        means.append(total / count)
    return means


def peraxis(binary, command, model, arguments):
    """The JSON that a command prints."""
    run = subprocess.run([binary, command, model, "--json", *arguments], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Failed(f"{command} {model} {' '.join(arguments)}: {run.stderr}")
    return json.loads(run.stdout)


def set_inputs(folder, goldens, k):
    """Input set k of an .npz as --input options, through .npy files in `folder`."""
    options, n = [], 0
    while f"i{k}_{n}" in goldens:
        path = os.path.join(folder, f"{k}_{n}.npy")
        np.save(path, goldens[f"i{k}_{n}"])
        options += ["--input", f"{n}={path}"]
        n += 1
    return options


def compare(binary, model, goldens, arguments):
    """One `peraxis compare`: isolated figures, and per input set the mean and largest difference of the outputs."""
    report = peraxis(binary, "compare", model, ["--goldens", goldens, *arguments])
    sets = {}
    for row in report["goldens"]["sets"]:
        entry = sets.setdefault(row["set"], [0.0, 0, 0])
        entry[0] += row["mean"] * row["elements"]
        entry[1] += row["elements"]
        entry[2] = max(entry[2], int(row["max"]))
    return {"percent": report["isolated"]["percent"], "max": int(report["isolated"]["max"]),
            "end": [(total / count, peak) for total, count, peak in (sets[k] for k in sorted(sets))],
            "tasks": report["npu"]["tasks"], "share": report["npu"]["mac_share"]}


def plan(binary, model, arguments):
    """One `peraxis plan`: what it says in advance, and with inputs what was measured."""
    report = peraxis(binary, "plan", model, ["--threads", "1", *arguments])
    layers = [layer for layer in report["layers"] if layer["device"] == "npu"]
    found = {"tasks": report["total"]["tasks"], "expected": report["total"]["expected_mismatch_percent"],
             "other_ms": report["other_operators"]["estimated_ms"] + report["other_operators_on_npu"]["estimated_ms"]}
    found["ms"] = report["total"]["estimated_ms"] - found["other_ms"]
    figures = [layer["isolated"] for layer in layers if "isolated" in layer]
    if figures:
        found["measured"] = 100 * sum(f["differing"] for f in figures) / sum(f["elements"] for f in figures)
        found["max"] = int(max(f["max"] for f in figures))
        elements = sum(f["elements"] for f in figures)
        found["expected"] = sum(layer["expected_mismatch_percent"] * layer["isolated"]["elements"] for layer in layers) / elements
        found["others"] = [operator for operator in report["operators"] if operator.get("certificate", {}).get("max", 0) > 0]
        found["equal_others"] = sum(operator.get("certificate", {}).get("values", 0) > 0 and operator["certificate"]["max"] == 0
                                    for operator in report["operators"])
    return found


def other_operators(way):
    """One way's operators that can differ: how many of which kinds, expected, measured on both sets, maximum, largest single share."""
    if not way[0]["others"]:
        return ["none", "", "", "", ""]
    kinds = collections.Counter(operator["kind"] for operator in way[0]["others"])
    elements = [operator["isolated"]["elements"] for operator in way[0]["others"]]
    expected = sum(n * operator["expected_mismatch_percent"] for n, operator in zip(elements, way[0]["others"])) / sum(elements)
    measured = [100 * sum(operator["isolated"]["differing"] for operator in one["others"]) / sum(elements) for one in way]
    largest = max(operator["isolated"]["percent"] for one in way for operator in one["others"])
    return [", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())), percent(expected),
            " / ".join(percent(value) for value in measured), percent(largest),
            str(int(max(operator["isolated"]["max"] for one in way for operator in one["others"])))]


def plans(binary, model, goldens):
    """Way -> one plan a set, for the sections on plans."""
    with tempfile.TemporaryDirectory() as folder:
        seen = os.path.join(folder, "seen.npz")
        np.savez(seen, **{key: goldens[key] for key in goldens.files if key.startswith("i0_")})
        ways = {"fast": [], LIMITED: COLUMNS[LIMITED], "calibrated": ["--calibrate", seen]}
        inputs = [set_inputs(folder, goldens, k) for k in SETS]
        found = {way: [plan(binary, model, [*inputs[k], *options]) for k in SETS] for way, options in ways.items()}
    found["exact"] = [plan(binary, model, ["--accuracy", "exact"])]
    return found


def percent(value):
    return "0" if value == 0 else (f"{value:.2f}" if value >= 1 else f"{value:.4f}")


def both(figures, key="measured"):
    return " / ".join(percent(figure[key]) for figure in figures)


def study(options, folder, name):
    """All rows of one model: section -> line."""
    directory = os.path.join(options.shared, "models", folder)
    model, path = (os.path.join(directory, name + end) for end in (".tflite", ".npz"))
    goldens = np.load(path)
    rows = {column: compare(options.binary, model, path, arguments) for column, arguments in COLUMNS.items()}
    xnnpack = xnnpack_means(model, goldens)
    made = plans(options.binary, model, goldens)
    fast, limited, exact, calibrated = made["fast"], made[LIMITED], made["exact"][0], made["calibrated"]
    if any(figure["max"] > 1 for way in (fast, limited, calibrated) for figure in way):
        raise Failed(f"{name}: a plan differs by more than 1")  # the page says that none does
    cells = {
        "isolated": [f"{percent(row['percent'])} ({row['max']})" for row in rows.values()],
        "end": [" / ".join(f"{m:.3f}" for m in xnnpack),
                *(" / ".join(f"{mean:.3f}" for mean, _ in row["end"]) + f" ({max(peak for _, peak in row['end'])})"
                  for row in rows.values())],
        "tasks": [*(str(row["tasks"]) for row in rows.values()), f"{100 * rows['exact']['share']:.2f}"],
        "price": [both(fast), str(fast[0]["tasks"]), f"{fast[0]['ms']:.2f}",
                  both(limited), str(limited[0]["tasks"]), f"{limited[0]['ms']:.2f}",
                  str(exact["tasks"]), f"{exact['ms']:.2f}", f"{exact['other_ms']:.2f}"],
        "expected": [percent(fast[0]["expected"]), both(fast), percent(limited[0]["expected"]), both(limited),
                     percent(calibrated[0]["expected"]), both(calibrated), str(calibrated[0]["tasks"])],
    }
    if any(way[0]["others"] for way in (fast, limited)):
        cells["others"] = [*other_operators(fast), *other_operators(limited)[:3]]
    if name in INDEPENDENT:
        cells["independent"] = [f"{percent(rows[column]['percent'])} / {theirs}" for column, theirs in INDEPENDENT[name].items()]
    print(name, file=sys.stderr)
    return {section: f"| {name} | " + " | ".join(line) + " |" for section, line in cells.items()}, made


def ratios(made, way, sets=SETS):
    """Measured / expected of one way: smallest, largest and median over all models and these sets."""
    found = sorted(one[way][k]["measured"] / one[way][k]["expected"] for one in made for k in sets)
    return f"{found[0]:.2f} to {found[-1]:.2f}, median {statistics.median(found):.2f}"


def main():
    options = page_options(__doc__, "docs/accuracy.md")
    names = [(folder, file[:-7]) for folder in FOLDERS
             for file in sorted(os.listdir(os.path.join(options.shared, "models", folder))) if file.endswith(".tflite")]
    with multiprocessing.pool.ThreadPool() as pool:
        found = pool.starmap(lambda folder, name: study(options, folder, name), names, chunksize=1)
    lines = {section: "\n".join(line[section] for line, _ in found if section in line)
             for section in ("isolated", "end", "tasks", "price", "expected", "others", "independent")}
    made = [plans_of for _, plans_of in found]
    worst = max(figure["measured"] for one in made for figure in one[LIMITED])
    dearest = [one[LIMITED][0]["ms"] / one["exact"][0]["ms"] for one in made]

    def head(columns):
        return f"| model | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}"

    text = f"""# Accuracy

Generated by `scripts/accuracy.py` from `peraxis compare` and `peraxis plan`; do not edit. Everything ran on the machine model. The
reference is LiteRT's reference kernels (`BUILTIN_REF`). `fast` is the default, a mixed plan; `{LIMITED}` is `--max-mismatch {BUDGET}`; the
other columns are one strategy for all layers. What plans are: [plan](plan.md).

## How to read it
`compare` runs every operator twice. *Isolated*: alone, on the reference's own activations: the error the operator itself makes.
*Accumulated*: inside the whole compiled model, on what the operators before it produced: differences of 1 spread, and after a few
layers a quarter of the values of a deep network are 1 or 2 off under any arithmetic but the reference's own, XNNPACK's included. Judge a
strategy by the isolated column. The columns -2-, -1, 0, 1, 2+ are a histogram of the differences in LSB.

## Isolated layers
Per cent of the values of all convolution-like operators of a model that differ, each operator run alone on the reference's own
activations (input set 0); in brackets the largest difference.

{head(COLUMNS)}
{lines["isolated"]}

## Fast, a budget, exact
Per cent of values that differ, isolated, on input sets 0 / 1 (never by more than 1; under `exact` none does), tasks of one run, and
**estimated** ms of the convolution-like operators with the default constants (`peraxis plan`; no board was measured). Operators on the
host cost the last column more under every plan. A budget of {BUDGET} % is kept everywhere (largest measured value {percent(worst)} %); its
estimated time is {100 * min(dearest):.0f} to {100 * max(dearest):.0f} % of that of `exact`.

{head(["fast, %", "tasks", "est. ms", f"{LIMITED}, %", "tasks", "est. ms", "exact, tasks", "est. ms", "other operators, est. ms"])}
{lines["price"]}

## Expected and measured
The same per cents beside what the plan expected without having seen an input, and for `fast` with `--calibrate` on input set 0: expected,
measured on set 0 (seen) / set 1 (not seen: uniform noise), tasks. Measured / expected: `fast` {ratios(made, "fast")}; `{LIMITED}`
{ratios(made, LIMITED)}; calibrated, set 0 {ratios(made, "calibrated", [0])}, set 1 {ratios(made, "calibrated", [1])}.
Without calibration the model expects too much rather than too little. With it the expectation holds for inputs like those that were seen,
and for no others: the largest ratio is kws_ref_model, calibrated on its set 0 (one picture) and measured on noise.

{head(["fast, expected %", "measured %", f"{LIMITED}, expected %", "measured %", "calibrated, expected %", "measured %", "tasks"])}
{lines["expected"]}

## Other operators
Operators of the NPU that are no convolutions and can differ from the reference, never by more than 1: what `plan` states of them, counted over
all values of their operands, and what was measured, each alone on the reference's activations; the last columns under `--max-mismatch {BUDGET}`,
which counts them with the layers. Networks that are not listed have none: their operators beside convolutions are equal to the reference,
as all are under `exact`. The tables above are of the convolution-like operators alone.

{head(["fast", "expected %", "measured %, set 0 / 1", "largest of one operator, %", "max", LIMITED, "expected %", "measured %, set 0 / 1"])}
{lines["others"]}

## End to end
Mean difference of the outputs on input sets 0 / 1, in brackets the largest. `XNNPACK`: LiteRT's default kernels on the same inputs,
the yardstick: networks decorrelate on any difference of 1, so every good strategy ends where one rounding ends.

{head(["XNNPACK", *COLUMNS])}
{lines["end"]}

## Tasks
Register command programs of one run, and the share of the convolutions' multiply-accumulates that `exact` runs as tasks.

{head([*COLUMNS, "MACs in tasks under `exact`, %"])}
{lines["tasks"]}

## Beside an independent computation
Isolated per cent, ours / a numpy computation with the arithmetic of docs/hardware, made before this project's code. The other
strategies: [comparison](strategies/comparison.md).

{head(INDEPENDENT["vww_96_int8"])}
{lines["independent"]}

Where they are apart:
- `max-scale` on vww_96_int8: many channels of that model are constant over their whole reachable range, and we write them as their
  exact value. Treating them like the others gives 9.85 %, the other computation's figure.
- `hw-multiply`: both choose an addend for each channel by the thresholds near the zero point. We also search how the total shift is split
  between the two roundings and try the neighbouring factors; the weighting of the thresholds is two constants for all models
  (`kActivationDecay`, and `kBoundedDecay` for RELU6 and RELU_N1_TO_1, in `src/requant/layer.cpp`). On the uint8 MobileNetV1 it is mostly one
  layer (operator 2, 0.183 % of its values), which `fast` gives to `two-scalar` (0.015 %).
"""
    write_page(options.output, text)


if __name__ == "__main__":
    run_script(main)
