"""How far the fast strategies may be from LiteRT's reference kernels on the shared networks.

Isolated: every layer gets the reference's inputs; the differing values of all layers that run on the NPU are pooled
and held to a limit in percent, and no value of any layer may be off by more than 1. End to end: on the YOLO networks
a difference of 1 anywhere decorrelates the rest, so the mean difference of the outputs is held against that of
LiteRT's own default kernels (XNNPACK, one rounding) on the same input.

Needs numpy, ai-edge-litert and the shared models (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import functools
import json

import pytest

import peraxis_runs
from peraxis_runs import compare, distance, golden_sets, interpreter, invoke, need_shared_models, replaced

peraxis_runs.need_binary()
peraxis_runs.need_module("ai_edge_litert")
MODELS = need_shared_models()
STRATEGIES = ("hw-multiply", "exponent-classes", "exponent-classes-tie-proof")
FAST_ALLOWANCE = 1.25  # of XNNPACK's own mean difference

# Percent of differing values, in the order of STRATEGIES. None: no limit for that strategy, maximum only.
YOLO = (0.1, 0.05, 0.09)
LIMITS = {
    "demo/shapes_yolo_decoded_int8": YOLO,
    "demo/shapes_yolo_raw_int8": YOLO,
    "real/emza_ssd_slim_120x160x1": (None, 0.05, 0.09),
    "real/kws_ref_model": (None, 0.05, 0.09),
    "real/mobilenet_v1_0.25_128_quant": (None, 0.09, 0.13),
    "real/pretrainedResnet_quant": (None, 0.05, 0.09),
    "real/tf2_mobilenet_v2_1.0_224_ptq": (0.6, 0.05, 0.09),
    "real/tflm_person_detect": (0.6, 0.05, 0.09),
    "real/vww_96_int8": (0.1, 0.05, 0.09),
    "real/yolo-fastest-1.1-coco80-int8": (0.6, 0.05, 0.09),
    "real/yolox_nano_ti_lite_320_full_integer": YOLO,
    "synth/yolov5n_relu_320_decoded_u8": YOLO,
    "synth/yolov5n_relu_320_raw": YOLO,
    "synth/yolov5n_relu_640_nc20_raw": YOLO,
    "synth/yolov5n_silu_320_decoded": YOLO,
    "synth/yolov5s_relu_640_raw": YOLO,
    "synth/yolov8n_relu_320_raw": YOLO,
}
DETECTORS = [name for name in LIMITS if "yolo" in name]


@functools.lru_cache(maxsize=None)
def report(name, strategy):
    return compare(MODELS / f"{name}.tflite", MODELS / f"{name}.npz", "--strategy", strategy)


@functools.lru_cache(maxsize=None)
def xnnpack_means(name):
    """Mean difference of LiteRT's default kernels against its reference kernels, pooled over the outputs, per set."""
    made = interpreter(MODELS / f"{name}.tflite", reference=False)
    return [float(distance(invoke(made, inputs), outputs).mean())
            for inputs, outputs in golden_sets(MODELS / f"{name}.npz")]


def means(name, strategy):
    """The same for a strategy, from the per-output figures of `compare`."""
    found = []
    for index in range(len(golden_sets(MODELS / f"{name}.npz"))):
        parts = [item for item in report(name, strategy)["goldens"]["sets"] if item["set"] == index]
        found.append(sum(item["mean"] * item["elements"] for item in parts) / sum(item["elements"] for item in parts))
    return found


def test_every_network_has_limits():
    names = {f"{folder}/{name}" for folder in ("demo", "real", "synth")
             for name in json.loads((MODELS / folder / "index.json").read_text())}
    assert names == set(LIMITS) and len(names) == 17
    assert len(DETECTORS) == 10


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", LIMITS)
def test_isolated(name, strategy):
    found = report(name, strategy)
    layers = [layer for layer in found["layers"] if layer["isolated"] and layer["strategy"]]
    assert len(layers) >= 10, "layers on the NPU"
    assert not replaced(found, strategy)
    wrong = [(layer["op"], layer["name"], layer["strategy"], layer["isolated"]["max"]) for layer in layers
             if layer["isolated"]["max"] > 1]
    assert not wrong, f"(operator, name, strategy, maximum): {wrong}"
    elements = sum(layer["isolated"]["elements"] for layer in layers)
    differing = sum(layer["isolated"]["differing"] for layer in layers)
    assert (elements, differing) == (found["isolated"]["elements"], found["isolated"]["differing"])
    percent = 100 * differing / elements
    limit = LIMITS[name][STRATEGIES.index(strategy)]
    print(f"isolated {name} {strategy}: {percent:.4f} % of {elements}, limit {limit}, tasks {found['npu']['tasks']}")
    assert found["npu"]["mac_share"] >= 0.99
    if limit is not None:
        assert percent <= limit


@pytest.mark.parametrize("strategy", STRATEGIES[:2])
@pytest.mark.parametrize("name", DETECTORS)
def test_end_to_end_is_near_single_rounding(name, strategy):
    own, theirs = means(name, strategy), xnnpack_means(name)
    print(f"end to end {name} {strategy}: mean {own}, XNNPACK {theirs}, "
          f"ratio {[round(a / b, 3) for a, b in zip(own, theirs)]}")
    for index, (a, b) in enumerate(zip(own, theirs)):
        assert a <= FAST_ALLOWANCE * b, f"set {index}: mean {a:.4f}, XNNPACK {b:.4f}, ratio {a / b:.3f}"


if __name__ == "__main__":
    peraxis_runs.main(__file__)
