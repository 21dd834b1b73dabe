"""Small models made after public reports, which hold operators or forms of them: LiteRT's stored bytes on the CPU and on the model
of the machine.

Needs numpy and the folder with the shared models. Run by pytest, or as a program.
"""
import pytest

import peraxis_runs
from peraxis_runs import np, run

peraxis_runs.need_binary()
REPORTS = peraxis_runs.need_shared_models() / "reports"

NAMES = ("a05_reverse_v2_int8", "a06_l2norm_int8", "a12_gelu_int8", "a12_gelu_uint8", "a13_fc_activation_weights_nobias",
         "a16_transpose_high_rank_r7", "c09_tile_int8", "c11_softmax_axes_to_int16", "c12_log_softmax_int8", "c14_nms_v4",
         "e05_obb_sin_cos_float", "f01_dead_state_scales_int8")


def sets_of(stored):
    """Inputs and outputs by set."""
    for number in sorted({name.split("_")[0][1:] for name in stored.files}, key=int):
        yield [[np.asarray(stored[name], order="C") for name in sorted(stored.files) if name.startswith(f"{kind}{number}_")] for kind in "io"]


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_those_of_litert(name, device, tmp_path):
    stored = np.load(REPORTS / f"{name}.npz")
    for number, (inputs, want) in enumerate(sets_of(stored)):
        got, _ = run(REPORTS / f"{name}.tflite", inputs, tmp_path / str(number), "--device", device)
        assert [(a.dtype, a.shape, a.tobytes()) for a in got] == [(b.dtype, b.shape, b.tobytes()) for b in want]


if __name__ == "__main__":
    peraxis_runs.main(__file__)
