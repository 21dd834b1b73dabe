"""What `peraxis plan` states of operators that are no convolutions, against what was measured of them.

Every shared operator model, its three input sets (random, extreme, near the zero point): each operator on the NPU runs
alone on the machine model and is compared with the reference kernels, which are LiteRT's. A certificate of 0 is equality,
a maximum is a bound, and where operands are uniform noise the share that was counted is the share that comes out.
The shared networks: pooled, no more differs than a budget's margin above what was expected.

Needs numpy and the shared models (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import json
import math

import numpy as np
import pytest

import peraxis_runs
from peraxis_runs import golden_sets, peraxis

peraxis_runs.need_binary()
MODELS = peraxis_runs.need_shared_models()
OPS = sorted(path.stem for path in (MODELS / "ops").glob("*.tflite"))
NETWORKS = ["real/yolo-fastest-1.1-coco80-int8", "real/yolox_nano_ti_lite_320_full_integer", "real/pretrainedResnet_quant",
            "demo/shapes_yolo_decoded_int8", "synth/yolov5n_relu_320_decoded_u8", "synth/yolov5n_silu_320_decoded"]
# The NPU takes whatever it can: nobody pays for a host's second an element.
ON_NPU = ("--host-element-ns", "1000000")
MARGIN = 1.5  # kBudgetMargin


def operators(model, inputs, folder, *options):
    """The operators of a plan that were measured."""
    arguments = []
    for n, values in enumerate(inputs):
        np.save(folder / f"{n}.npy", values)
        arguments += ["--input", f"{n}={folder / f'{n}.npy'}"]
    report = json.loads(peraxis("plan", model, "--json", "--threads", "1", *arguments, *options))
    return [entry for entry in report["operators"] if entry.get("isolated")], report


def check_bounds(entry):
    certificate, found = entry["certificate"], entry["isolated"]
    assert found["max"] <= certificate["max"] <= certificate["max_any_tie_reading"], entry
    assert certificate["max"] <= 1, entry
    assert 0 <= certificate["differing"] <= certificate["values"], entry
    if certificate["counted"]:
        assert (certificate["differing"] == 0) == (certificate["max"] == 0) == (entry["expected_mismatch_percent"] == 0), entry
    if certificate["max"] == 0:
        assert found["differing"] == 0, entry


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """[(model, set, operator)] of all operator models."""
    folder = tmp_path_factory.mktemp("inputs")
    found = []
    for name in OPS:
        for index, (inputs, _) in enumerate(golden_sets(MODELS / "ops" / f"{name}.npz")):
            found += [(name, index, entry) for entry in operators(MODELS / "ops" / f"{name}.tflite", inputs, folder, *ON_NPU)[0]]
    return found


def test_there_is_something_to_check(measured):
    kinds = {entry["kind"] for _, _, entry in measured}
    assert {"sub", "mul", "quantize", "leaky_relu", "prelu", "average_pool_2d", "mean"} <= kinds, kinds
    assert sum(entry["certificate"]["max"] > 0 for _, _, entry in measured) >= 10
    assert len({name for name, _, _ in measured}) >= 30


def test_certificates_bound_what_is_measured(measured):
    for _, _, entry in measured:
        check_bounds(entry)


def test_the_counted_share_comes_out_of_noise(measured):
    """Operators alone in their model, fed with the random set: five deviations of a sample of that many values."""
    compared = 0
    for name, index, entry in measured:
        certificate, found = entry["certificate"], entry["isolated"]
        if index != 0 or entry["kind"] not in ("leaky_relu", "quantize") or not certificate["differing"] or name.startswith("frag"):
            continue
        share = certificate["differing"] / certificate["values"]
        deviation = 100 * math.sqrt(share * (1 - share) / found["elements"])
        print(f"{name}: counted {100 * share:.3f} %, measured {found['percent']:.3f} %")
        assert abs(found["percent"] - 100 * share) <= 5 * deviation, (name, entry)
        compared += 1
    assert compared >= 3


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_differ_about_as_expected(name, tmp_path):
    for index, (inputs, _) in enumerate(golden_sets(MODELS / f"{name}.npz")):
        found, report = operators(MODELS / f"{name}.tflite", inputs, tmp_path)
        for entry in found:
            check_bounds(entry)
        able = [entry for entry in found if entry["certificate"]["max"] > 0]
        assert able
        elements = sum(entry["isolated"]["elements"] for entry in able)
        expected = sum(entry["isolated"]["elements"] * entry["expected_mismatch_percent"] for entry in able) / elements
        percent = 100 * sum(entry["isolated"]["differing"] for entry in able) / elements
        print(f"{name} set {index}: {len(able)} operators, expected {expected:.4f} %, measured {percent:.4f} %")
        assert percent <= MARGIN * expected
        # The total counts them beside the layers.
        layers = [layer for layer in report["layers"] if layer["device"] == "npu"]
        total = sum(layer["isolated"]["elements"] * layer["expected_mismatch_percent"] for layer in layers) + elements * expected
        weight = elements + sum(layer["isolated"]["elements"] for layer in layers)
        assert report["total"]["expected_mismatch_percent"] == pytest.approx(total / weight)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_budget_counts_them(name, tmp_path):
    for budget in (0.05, 0.5):
        for inputs, _ in golden_sets(MODELS / f"{name}.npz"):
            found, report = operators(MODELS / f"{name}.tflite", inputs, tmp_path, "--max-mismatch", str(budget))
            parts = [entry["isolated"] for entry in found if entry["certificate"]["max"] > 0]
            parts += [layer["isolated"] for layer in report["layers"] if layer["device"] == "npu"]
            percent = 100 * sum(part["differing"] for part in parts) / sum(part["elements"] for part in parts)
            print(f"{name}: at most {budget} %: measured {percent:.4f} %")
            assert report["total"]["expected_mismatch_percent"] <= budget / MARGIN
            assert percent <= budget
            assert all(part["max"] <= 1 for part in parts)


@pytest.mark.parametrize("name", NETWORKS)
def test_exact_has_none(name, tmp_path):
    inputs, _ = golden_sets(MODELS / f"{name}.npz")[0]
    found, _ = operators(MODELS / f"{name}.tflite", inputs, tmp_path, "--accuracy", "exact")
    assert all(entry["certificate"]["max"] == 0 and entry["isolated"]["differing"] == 0 for entry in found)


@pytest.mark.parametrize("name", NETWORKS[:2])
def test_calibration_comes_closer(name, tmp_path):
    arrays = np.load(MODELS / f"{name}.npz")
    seen = tmp_path / "seen.npz"
    np.savez(seen, **{key: arrays[key] for key in arrays if key.startswith("i0_")})
    inputs, _ = golden_sets(MODELS / f"{name}.npz")[0]

    def distance(*options):
        able = [entry for entry in operators(MODELS / f"{name}.tflite", inputs, tmp_path, *options)[0] if entry["certificate"]["max"] > 0]
        return sum(abs(entry["expected_mismatch_percent"] - entry["isolated"]["percent"]) for entry in able) / len(able)

    assert distance("--calibrate", seen) < distance() / 3


if __name__ == "__main__":
    peraxis_runs.main(__file__)
