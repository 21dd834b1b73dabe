#!/usr/bin/env python3
"""Writes docs/accuracy.md: every strategy on every collected model, as measured by `peraxis compare`.

    scripts/accuracy.py [--binary build/release/peraxis] [--shared ../shared] [--output docs/accuracy.md]

Isolated: each convolution-like operator alone, with the reference kernels' activations of input set 0 as its
inputs. End to end: the whole compiled model on input sets 0 and 1 against the goldens, which are LiteRT's
reference kernels; beside it LiteRT's own XNNPACK on the same inputs (needs ai_edge_litert; run it with
.venv/bin/python).
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

STRATEGIES = ["max-scale", "hw-multiply", "exponent-classes", "exponent-classes-tie-proof", "exact"]
FOLDERS = ["demo", "real", "synth"]

# What an independent computation on the same models gave (corrections.md 2 of the collected facts).
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


def xnnpack_means(model, goldens):
    """Mean |difference| over all outputs of each input set, LiteRT's default kernels against the goldens."""
    from ai_edge_litert.interpreter import Interpreter  # only this table needs it

    interpreter = Interpreter(model_path=model, num_threads=1)
    interpreter.allocate_tensors()
    means = []
    for k in range(2):
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


def compare(binary, model, goldens, arguments):
    """One `peraxis compare`: isolated figures, and per input set the mean and largest difference of the outputs."""
    run = subprocess.run([binary, "compare", model, "--goldens", goldens, "--json", *arguments],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{model} {' '.join(arguments)}: {run.stderr}")
    report = json.loads(run.stdout)
    sets = {}
    for row in report["goldens"]["sets"]:
        entry = sets.setdefault(row["set"], [0.0, 0, 0])
        entry[0] += row["mean"] * row["elements"]
        entry[1] += row["elements"]
        entry[2] = max(entry[2], int(row["max"]))
    return {"percent": report["isolated"]["percent"], "max": int(report["isolated"]["max"]),
            "end": [(total / count, peak) for total, count, peak in (sets[k] for k in sorted(sets))],
            "tasks": report["npu"]["tasks"], "share": report["npu"]["mac_share"]}


def percent(value):
    return "0" if value == 0 else (f"{value:.2f}" if value >= 1 else f"{value:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/peraxis")
    parser.add_argument("--shared", default=os.environ.get("PERAXIS_SHARED", "../shared"))
    parser.add_argument("--output", default="docs/accuracy.md")
    options = parser.parse_args()
    isolated, end_to_end, tasks, independent = [], [], [], []
    for folder in FOLDERS:
        directory = os.path.join(options.shared, "models", folder)
        for name in sorted(f[:-7] for f in os.listdir(directory) if f.endswith(".tflite")):
            model, goldens = (os.path.join(directory, name + end) for end in (".tflite", ".npz"))
            rows = {s: compare(options.binary, model, goldens, ["--strategy", s]) for s in STRATEGIES}
            xnnpack = xnnpack_means(model, np.load(goldens))
            isolated.append(f"| {name} | " + " | ".join(f"{percent(rows[s]['percent'])} ({rows[s]['max']})" for s in STRATEGIES) + " |")
            end_to_end.append(f"| {name} | " + " / ".join(f"{m:.3f}" for m in xnnpack) + " | " + " | ".join(
                " / ".join(f"{mean:.3f}" for mean, _ in rows[s]["end"]) + f" ({max(peak for _, peak in rows[s]['end'])})"
                for s in STRATEGIES) + " |")
            tasks.append(f"| {name} | " + " | ".join(str(rows[s]["tasks"]) for s in STRATEGIES) + f" | {100 * rows['exact']['share']:.2f} |")
            if name in INDEPENDENT:
                independent.append(f"| {name} | " + " | ".join(
                    f"{percent(rows[s]['percent'])} / {INDEPENDENT[name][s]}" for s in STRATEGIES[:-1]) + " |")
            print(name, file=sys.stderr)
    head = "| model | " + " | ".join(STRATEGIES) + " |\n|" + "---|" * (len(STRATEGIES) + 1)
    text = f"""# Accuracy

Generated by `scripts/accuracy.py` from `peraxis compare`; do not edit. Everything ran on the machine model. The reference is
LiteRT's reference kernels (`BUILTIN_REF`).

## How to read it
`compare` runs every operator twice. *Isolated*: alone, on the reference's own activations: the error the operator itself makes.
*Accumulated*: inside the whole compiled model, on what the operators before it produced: differences of 1 spread, and after a few
layers a quarter of the values of a deep network are 1 or 2 off under any arithmetic but the reference's own, XNNPACK's included. Judge a
strategy by the isolated column. The columns -2-, -1, 0, 1, 2+ are a histogram of the differences in LSB.

## Isolated layers
Per cent of the values of all convolution-like operators of a model that differ, each operator run alone on the reference's own
activations (input set 0); in brackets the largest difference.

{head}
{chr(10).join(isolated)}

## End to end
Mean difference of the outputs on input sets 0 / 1, in brackets the largest. `XNNPACK`: LiteRT's default kernels on the same inputs,
the yardstick: networks decorrelate on any difference of 1, so every good strategy ends where one rounding ends.

| model | XNNPACK | {" | ".join(STRATEGIES)} |
|{"---|" * (len(STRATEGIES) + 2)}
{chr(10).join(end_to_end)}

## Tasks
Register command programs of one run, and the share of the convolutions' multiply-accumulates that `exact` runs as tasks.

| model | {" | ".join(STRATEGIES)} | MACs in tasks under `exact`, % |
|{"---|" * (len(STRATEGIES) + 2)}
{chr(10).join(tasks)}

## Beside an independent computation
Isolated per cent, ours / a numpy computation with the hardware document's arithmetic, made before this project's code.

| model | {" | ".join(STRATEGIES[:-1])} |
|{"---|" * len(STRATEGIES)}
{chr(10).join(independent)}

Where they are apart:
- `max-scale` on vww_96_int8: many channels of that model are constant over their whole reachable range, and we write them as their
  exact value. Treating them like the others gives 9.85 %, the other computation's figure.
- `hw-multiply`: both choose an addend for each channel by the thresholds near the zero point. We also search how the total shift is split
  between the two roundings and try the neighbouring factors; the weighting of the thresholds is one constant for all
  models (`kActivationDecay` in `src/requant/parameters.cpp`). On the uint8 MobileNetV1, whose ReLU6 outputs use the whole range evenly, a flatter weighting
  would be better (0.062 % with a decay of 64), on the YOLO models a steeper one.
"""
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
