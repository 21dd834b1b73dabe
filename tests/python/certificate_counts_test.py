"""The certificate of a layer, counted again on every accumulator it can reach.

A certificate says for how many accumulators of all that a layer can reach the output is not the reference's, and by
how much at most. Here the layers have two weights a channel, 1 and up to 127 in size, so a map with every pair of
inputs reaches every accumulator: the outputs of the machine model and of LiteRT are compared on each of them, and the
counts must be exactly those of the certificate, under every strategy and setting, with the host's work included.

Needs numpy and ai-edge-litert. Run by pytest, or as a program.
"""
import json
import multiprocessing.pool

import numpy as np
import pytest

import peraxis_runs
from peraxis_runs import interpreter, invoke, run

peraxis_runs.need_module("ai_edge_litert")
peraxis_runs.need_binary()

from layer_arithmetic import Layer, pack  # noqa: E402  needs ai_edge_litert
from strategy_ways import WAYS  # noqa: E402

CHANNELS = 40
STEPS = 400  # outputs between the ends of the channel with the largest multiplier: some saturate
ALL = np.arange(-128, 128, dtype=np.int8)
PAIRS = np.stack(np.meshgrid(ALL, ALL, indexing="ij"), -1)  # [256][256][2]


def fully_connected_rows():
    """Pairs that reach every accumulator when the larger weight is 16: fewer rows than the chip's highest map."""
    few = PAIRS[:16].reshape(-1, 2)
    return np.concatenate([few, PAIRS[:, 0], PAIRS[:, 255]])


def layer_and_inputs(kind, activation, ratio, seed):
    rng = np.random.default_rng(seed)
    largest = 16 if kind == "fully_connected" else 127
    sizes = np.full(CHANNELS, 16) if kind == "fully_connected" else rng.integers(2, 128, CHANNELS)
    pairs = np.stack([rng.choice([-1, 1], CHANNELS), sizes * rng.choice([-1, 1], CHANNELS)], -1).astype(np.int8)
    if kind == "depthwise":  # one kernel 1x2 a channel, every second row and column
        x = np.zeros((1, 511, 512, CHANNELS), np.int8)
        x[0, ::2] = PAIRS.reshape(256, 512)[:, :, None]
        weights, stride = pairs.T.reshape(1, 1, 2, CHANNELS), 2
    elif kind == "conv":
        x, weights, stride = PAIRS[None], pairs.reshape(CHANNELS, 1, 1, 2), 1
    else:
        x, weights, stride = fully_connected_rows(), pairs, 1
    scales = np.exp(rng.uniform(0, np.log(ratio), CHANNELS)).astype(np.float32)
    in_scale, in_zero, reach = 0.02, int(rng.integers(-128, 128)), 255 * (largest + 1)
    middle = (-0.5 - in_zero) * weights.astype(np.int64).sum(-1 if kind != "depthwise" else 2).ravel()
    bias = (rng.normal(0, 0.3, CHANNELS) * reach - middle).astype(np.int32)
    zero = int(rng.integers(-110, 110)) if activation == "none" else int(rng.integers(-128, -90))
    return Layer(kind, x.shape, in_scale, in_zero, weights, scales, bias, in_scale * scales.max() * reach / STEPS, zero, stride, 1,
                 activation), np.ascontiguousarray(x)


CASES = {f"{kind}, {activation}, ratio {ratio:g}": (kind, activation, ratio, seed) for seed, (kind, activation, ratio) in enumerate((
    ("conv", "none", 1000), ("conv", "relu", 30), ("conv", "relu6", 3), ("conv", "none", 1), ("depthwise", "none", 30),
    ("fully_connected", "none", 1000), ("fully_connected", "relu6", 30), ("fully_connected", "none", 1)))}


def counted(layer, acc, got, want):
    """Accumulators, those with another output, and the largest difference, over all channels."""
    values = differing = largest = 0
    low, high = layer.reach()
    for c in range(layer.channels):
        _, first, again = np.unique(acc[..., c], return_index=True, return_inverse=True)
        assert len(first) == high[c] - low[c] + 1, "not every accumulator is reached"
        ours, theirs = got[..., c].ravel()[first], want[..., c].ravel()[first]
        assert (got[..., c].ravel() == ours[again.ravel()]).all(), "the output depends on more than the accumulator"
        off = np.abs(ours.astype(int) - theirs)
        values, differing, largest = values + len(first), differing + np.count_nonzero(off), max(largest, int(off.max()))
    return values, differing, largest


class Measured:
    """One layer: {way: (certificate of run, of plan, what is counted)}."""

    def __init__(self, name, folder):
        self.layer, x = layer_and_inputs(*CASES[name])
        self.folder = folder / name.replace(" ", "_")
        self.folder.mkdir()
        model = self.folder / "model.tflite"
        model.write_bytes(pack(self.layer))
        want, = invoke(interpreter(model.read_bytes()), [x])
        acc = self.layer.accumulators(x)
        self.as_computed = bool((want == self.layer.reference(acc)).all())
        self.found = {}
        for way, (options, _) in WAYS.items():
            (got,), report = run(model, [x], self.folder, "--device", "sim", "--no-fallback", *options)
            plan = json.loads(peraxis_runs.peraxis("plan", model, "--json", "--threads", "1", "--input",
                                                   f"0={self.folder / 'in0.npy'}", *options))
            self.found[way] = (report["layers"][0]["certificate"], plan["layers"][0], counted(self.layer, acc, got, want))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    with multiprocessing.pool.ThreadPool(2) as pool:
        return dict(zip(CASES, pool.map(lambda name: Measured(name, folder), CASES, chunksize=1)))


@pytest.mark.parametrize("name", CASES)
def test_counts(measured, name):
    case = measured[name]
    assert case.as_computed, "LiteRT gives other values than layer_arithmetic.py"
    wrong = []
    for way, (certificate, plan, (values, differing, largest)) in case.found.items():
        print(f"{name}, {way} ({plan['strategy']}, {plan['sets']} sets): {differing:g} of {values} accumulators, at most {largest}")
        for kind, given in (("run", certificate), ("plan", plan["certificate"])):
            if (given["values"], given["differing"], given["max"]) != (values, differing, largest):
                wrong.append(f"{way}, {kind}: certificate {given}, counted {values}, {differing}, {largest}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", CASES)
def test_range_of_accumulators(measured, name):
    case = measured[name]
    low, high = case.layer.reach()
    for way, (_, plan, _) in case.found.items():
        assert (plan["certificate"]["acc_min"], plan["certificate"]["acc_max"]) == (low.min(), high.max()), way


def test_strategies_differ(measured):
    """Both kinds of result occur: nothing differs, and far off."""
    counts = [count for case in measured.values() for _, _, count in case.found.values()]
    assert any(differing == 0 for _, differing, _ in counts)
    assert any(largest == 1 for _, _, largest in counts)
    assert any(largest > 50 for _, _, largest in counts)


if __name__ == "__main__":
    peraxis_runs.main(__file__)
