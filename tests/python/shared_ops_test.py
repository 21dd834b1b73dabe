"""Every convolution, depthwise or transposed convolution and fully connected case of the shared operator models, on the NPU.

The goldens are LiteRT's reference kernels' (stored with the models, three input sets each: random, extreme, near the
zero point). `--no-fallback`: a case whose multiplications do not run as tasks is an error. `exact` must be equal byte
for byte; the one-task and class strategies may be off by one; `max-scale` is only printed.

Needs numpy and the shared models (PERAXIS_SHARED). Run by pytest, or as a program.
"""
import json

import pytest

import peraxis_runs
from peraxis_runs import distance, golden_sets, replaced, run

peraxis_runs.need_binary()
OPS = peraxis_runs.need_shared_models() / "ops"
KINDS = {"conv", "dwconv", "fc"}
LATER = {"int16"}
FAST = ("hw-multiply", "exponent-classes", "exponent-classes-tie-proof")


def cases():
    index = json.loads((OPS / "index.json").read_text())
    chosen = []
    for name, case in index.items():
        tags = set(case["tags"])
        is_convolution = tags & KINDS or name.startswith(("u8_conv", "u8_dw", "tconv"))
        if is_convolution and not tags & LATER:
            chosen.append(name)
    return sorted(chosen)


CASES = cases()


def worst(name, strategy, folder):
    """[(differing, maximum) per set]."""
    found = []
    for index, (inputs, outputs) in enumerate(golden_sets(OPS / f"{name}.npz")):
        got, report = run(OPS / f"{name}.tflite", inputs, folder / str(index), "--device", "sim", "--no-fallback",
                          "--strategy", strategy)
        assert not replaced(report, strategy)
        assert report["npu"]["mac_share"] == 1 and report["npu"]["tasks"] >= 1, report["npu"]
        difference = distance(got, outputs)
        found.append((int((difference != 0).sum()), int(difference.max())))
    return found


def test_the_list_is_whole():
    """A case that drops out is noticed: 54 convolutions, 15 depthwise, 6 fully connected, 2 of uint8, 3 transposed."""
    assert len(CASES) == 54 + 15 + 6 + 2 + 3, CASES


@pytest.mark.parametrize("name", CASES)
def test_exact_is_byte_identical(name, tmp_path):
    assert all(found == (0, 0) for found in worst(name, "exact", tmp_path))


@pytest.mark.parametrize("strategy", FAST)
@pytest.mark.parametrize("name", CASES)
def test_within_one(name, strategy, tmp_path):
    found = worst(name, strategy, tmp_path)
    assert max(maximum for _, maximum in found) <= 1, f"(differing, maximum) per set: {found}"


def test_report_max_scale(tmp_path):
    """The baseline has no limit; it must run."""
    for name in CASES:
        found = worst(name, "max-scale", tmp_path / name)
        print(f"max-scale {name}: (differing, maximum) per set {found}")


if __name__ == "__main__":
    peraxis_runs.main(__file__)
