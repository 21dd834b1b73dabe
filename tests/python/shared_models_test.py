"""All shared networks end to end: `exact` on the machine model and the reference kernels of `--device cpu`.

Both must give the stored outputs of LiteRT's reference kernels byte for byte, for every input set; under `exact` at
least 99 % of the multiplications must be tasks of the NPU. The number of models is asserted: none may drop out.

Needs numpy and the shared models (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import json

import pytest

import peraxis_runs
from peraxis_runs import distance, golden_sets, run

peraxis_runs.need_binary()
MODELS = peraxis_runs.need_shared_models()
NAMES = sorted(f"{folder}/{name}" for folder in ("demo", "real", "synth")
               for name in json.loads((MODELS / folder / "index.json").read_text()))


def test_no_model_drops_out():
    assert len(NAMES) == 17
    files = {str(path.relative_to(MODELS).with_suffix("")) for folder in ("demo", "real", "synth")
             for path in (MODELS / folder).glob("*.tflite")}
    assert files == set(NAMES)


@pytest.mark.parametrize("device", ("sim", "cpu"))
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_byte_identical(name, device, tmp_path):
    sets = golden_sets(MODELS / f"{name}.npz")
    assert len(sets) == 2
    for index, (inputs, outputs) in enumerate(sets):
        got, report = run(MODELS / f"{name}.tflite", inputs, tmp_path, "--device", device, "--accuracy", "exact")
        differing = int((distance(got, outputs) != 0).sum())
        assert differing == 0, f"set {index}: {differing} values differ"
        if device == "sim":
            assert report["npu"]["mac_share"] >= 0.99, report["npu"]
            left = [layer for layer in report["layers"] if layer["device"] != "npu"]
            print(f"{name} set {index}: {report['npu']}, on the CPU {[(x['name'], x['reason']) for x in left]}")


if __name__ == "__main__":
    peraxis_runs.main(__file__)
