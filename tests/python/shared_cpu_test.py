"""All 165 shared operator models through `run`: on the CPU, and compiled for the NPU with the machine model.

The goldens are LiteRT's reference kernels'. Both devices must give the same bytes under `exact`: an operator without a
lowering is a step of the host.

Needs numpy and the shared models (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import pytest

import peraxis_runs
from peraxis_runs import golden_sets, run

peraxis_runs.need_binary()
OPS = peraxis_runs.need_shared_models() / "ops"
MODELS = sorted(path.stem for path in OPS.glob("*.tflite"))


def test_the_list_is_whole():
    assert len(MODELS) == 165


@pytest.mark.parametrize("device", [("cpu",), ("sim", "--accuracy", "exact")], ids=["cpu", "sim"])
@pytest.mark.parametrize("name", MODELS)
def test_byte_identical(name, device, tmp_path):
    sets = golden_sets(OPS / f"{name}.npz")
    assert sets
    for index, (inputs, outputs) in enumerate(sets):
        got, _ = run(OPS / f"{name}.tflite", inputs, tmp_path / str(index), "--device", *device)
        assert len(got) == len(outputs)
        for a, b in zip(got, outputs):
            assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


if __name__ == "__main__":
    peraxis_runs.main(__file__)
