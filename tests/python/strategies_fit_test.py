"""Strategies of many channel sets on networks whose readers cannot take all of them as they lie: planned, compiled, compared.

Needs numpy and the shared models (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import json

import pytest

import peraxis_runs
from peraxis_runs import peraxis

peraxis_runs.need_binary()
MODELS = peraxis_runs.need_shared_models()
NETWORKS = ["yolov5n_relu_320_decoded_u8", "yolov5n_silu_320_decoded", "yolov8n_relu_320_raw"]
MANY_SETS = ["per-channel", "hybrid", "groups", "sorted-groups"]


@pytest.mark.parametrize("strategy", MANY_SETS)
@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_planned_compiles(name, strategy, tmp_path):
    model = MODELS / "synth" / f"{name}.tflite"
    planned = json.loads(peraxis("plan", model, "--json", "--strategy", strategy))
    compiled = json.loads(peraxis("compile", model, "--strategy", strategy, "-o", tmp_path / "m.pax", "--json"))
    assert compiled["tasks"] == planned["total"]["tasks"]
    # No operator of the NPU is free but those that move nothing.
    for operator in planned["operators"]:
        if operator.get("certificate", {}).get("values"):
            assert operator["tasks"] > 0, operator


def test_a_layout_that_does_not_fit_says_so():
    report = json.loads(peraxis("plan", MODELS / "synth" / "yolov5n_relu_320_decoded_u8.tflite", "--json", "--strategy", "per-channel"))
    reasons = [layer["gathered"] for layer in report["layers"] if layer["gathered"]]
    assert any("cannot read them where they lie" in reason and "CBUF banks" in reason for reason in reasons), reasons


def test_all_strategies_have_their_rows():
    report = json.loads(peraxis("plan", MODELS / "synth" / "yolov5n_relu_320_decoded_u8.tflite", "--json", "--all-strategies"))
    rows = {row["strategy"]: row for row in report["strategies"]}
    assert {"max-scale", "per-channel", "hybrid", "hw-multiply", "fast", "exact"} <= set(rows)
    assert not [row for row in rows.values() if "error" in row]
    assert rows["exact"]["isolated_mismatch_percent"] == 0


if __name__ == "__main__":
    peraxis_runs.main(__file__)
