"""Small maps with several groups of channels, under every strategy and setting, alone and in chains.

Maps of 8x8 down to 1x1 with 40, 64 and 96 output channels, weight scales up to 1000 apart: most of a task is then
padding, and the channel sets of a strategy are larger than the map. `exact` must give LiteRT's reference kernels byte
for byte, strategies with a factor a channel within 1, and those whose parameters follow from the layer alone what
layer_arithmetic.py computes for them, byte for byte. In a chain the first layer's sets may stay where its tasks wrote
them; there every layer is held against LiteRT on the very input it was given.

Needs numpy and ai-edge-litert. Run by pytest, or as a program.
"""
import collections
import json
import multiprocessing.pool
import zlib

import numpy as np
import pytest

import peraxis_runs
from peraxis_runs import interpreter, invoke, run

peraxis_runs.need_module("ai_edge_litert")
peraxis_runs.need_binary()

from layer_arithmetic import draw, pack  # noqa: E402  needs ai_edge_litert
from model_builder import Map, input_sets  # noqa: E402
from strategy_ways import CAN_REFUSE, WAYS, WITHIN_ONE  # noqa: E402

SIZES = (8, 5, 3, 2, 1)


def layers_alone():
    """[(name, layer)]: every kind on every size, channels and activations taking turns."""
    found = []
    for kind, kernel, stride in (("conv", 3, 1), ("conv", 1, 1), ("conv", 3, 2), ("conv", 1, 2), ("depthwise", 3, 1),
                                 ("depthwise", 3, 2), ("fully_connected", 1, 1)):
        for size in SIZES:
            n = len(found)
            rng = np.random.default_rng(700 + n)
            channels = (40, 64, 96)[n % 3]
            shape = (size, (16, 33, 64)[n % 3]) if kind == "fully_connected" else (
                1, size, size, channels if kind == "depthwise" else (3, 16, 33, 64)[n % 4])
            layer = draw(rng, kind, shape, channels, kernel, stride, n % 2 if kernel <= size else 0,
                         (1e3, 30, 1, 1e3, 4)[n % 5], ("none", "relu", "none", "relu6")[n % 4])
            found.append((f"{kind} {kernel}x{kernel} stride {stride}, {size}x{size}, {channels} channels", layer))
    return found


def chains():
    """[(name, first layer, layers that read it)]."""
    found = []
    for name, kinds in (("conv 3x3, conv 1x1", ("conv 3", "conv 1")), ("conv 1x1, conv 3x3", ("conv 1", "conv 3")),
                        ("depthwise, conv 1x1", ("depthwise 3", "conv 1")), ("conv 1x1, depthwise", ("conv 1", "depthwise 3")),
                        ("conv 3x3, two", ("conv 3", "conv 1", "conv 3"))):
        for size in SIZES:
            n = len(found)
            rng = np.random.default_rng(900 + n)
            channels = (96, 40, 64)[n % 3]
            layers = []
            for kind in kinds:
                kind, kernel = kind.split()
                source = layers[0] if layers else None
                shape = source.out_shape if source else (1, size, size, channels if kind == "depthwise" else 16)
                out = channels if not source or kind == "depthwise" else (40, 64, 96)[(n + len(layers)) % 3]
                layers.append(draw(rng, kind, shape, out, int(kernel), 1, 0, 1e3 if n % 4 else 30,
                                   ("none", "relu")[(n + len(layers)) % 2], source))
            found.append((f"{name}, {size}x{size}, {channels} channels", layers[0], layers[1:]))
    return found


def sets_of(layer, seed):
    """Three inputs: uniform, extremes only, near the zero point."""
    only = Map(0, layer.in_shape, layer.in_scale, layer.in_zero, np.int8)
    return [values[0] for values in input_sets([only], np.random.default_rng(seed))]


def wrong_in(way, expected, layer, x, got, strategy):
    """Why the output of one layer is wrong; empty when it is right."""
    acc = layer.accumulators(x)
    reference = layer.reference(acc)
    off = np.abs(got.astype(np.int64) - reference)
    if strategy == "exact":
        return "" if not off.any() else f"exact differs in {np.count_nonzero(off)} values by up to {off.max()}"
    if expected == WITHIN_ONE:
        return "" if off.max() <= 1 else f"off by up to {off.max()} in channels {np.unique(np.nonzero(off > 1)[-1])}"
    want = expected(layer, acc)
    different = np.nonzero(got != want)
    if len(different[0]):
        at = tuple(int(n[0]) for n in different)
        return (f"{len(different[0])} values are not what {way} gives; first at {at}: {got[at]}, computed {want[at]}, "
                f"reference {reference[at]}")
    return ""


class Tried:
    """A model under every way: what is wrong, and what ran."""

    def __init__(self, name, first, readers, folder):
        self.name, self.first, self.readers = name, first, readers
        self.folder = folder / f"{zlib.crc32(name.encode()):08x}"
        self.folder.mkdir()
        self.model = self.folder / "model.tflite"
        self.model.write_bytes(pack(first, *([readers] if readers else [])))
        self.wrong = collections.defaultdict(list)   # way -> texts
        self.figures = collections.Counter()         # (way, "values" or "differing")
        self.ran = {}                                # way -> strategies of the layers
        self.scattered = set()                       # ways under which the first layer's sets were read where they lay
        self.litert = []                             # how LiteRT itself differs from layer_arithmetic.py: nothing
        try:
            self.measure()
        except (peraxis_runs.Failed, AssertionError, RuntimeError, ValueError) as error:
            self.wrong["run"].append(f"{self.name}: {error} ({self.model})")

    def measure(self):
        made = interpreter(self.model.read_bytes())
        for index, x in enumerate(sets_of(self.first, len(self.name))):
            middle = self.first.reference(self.first.accumulators(x)).astype(np.int8)
            own = [layer.reference(layer.accumulators(middle)) for layer in self.readers] or [middle]
            self.litert += [self.name for a, b in zip(own, invoke(made, [x])) if (a != b).any()]
            for way in WAYS:
                self.one(way, index, x)
        if self.readers:
            for way, (options, _) in WAYS.items():
                report = json.loads(peraxis_runs.peraxis("plan", self.model, "--json", "--threads", "1", *options))
                first = report["layers"][0]
                if first["sets"] > 1 and first["estimated_host_ms"] == 0:
                    self.scattered.add(way)

    def one(self, way, index, x):
        options, expected = WAYS[way]
        outputs, report = run(self.model, [x], self.folder, "--device", "sim", "--no-fallback", *options)
        self.ran[way] = [layer["strategy"] for layer in report["layers"]]
        assert report["npu"]["mac_share"] == 1
        inputs, layers, got = [x], [self.first], outputs
        if self.readers:
            # The same again with the map in between, which is then fetched from the device.
            path = self.folder / "dump.npz"
            again, _ = run(self.model, [x], self.folder, "--device", "sim", *options, "--dump-tensors", path)
            if any((a != b).any() for a, b in zip(outputs, again)):
                self.wrong[way].append(f"{self.name}, set {index}: other outputs with --dump-tensors")
            middle = np.load(path)["t3"]
            inputs, layers, got = [x] + [middle] * len(self.readers), [self.first, *self.readers], [middle, *outputs]
        for place, (values, layer, output) in enumerate(zip(inputs, layers, got)):
            reason = wrong_in(way, expected, layer, values, output, self.ran[way][place])
            if reason:
                self.wrong[way].append(f"{self.name}, set {index}, layer {place}: {reason} ({self.model})")
            self.figures[way, "values"] += output.size
            self.figures[way, "differing"] += int((output != layer.reference(layer.accumulators(values))).sum())


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small_maps")
    jobs = [(name, layer, []) for name, layer in layers_alone()] + chains()
    with multiprocessing.pool.ThreadPool(2) as pool:
        return pool.map(lambda job: Tried(*job, folder), jobs, chunksize=1)


def fail_with(texts):
    assert not texts, f"{len(texts)} wrong\n" + "\n".join(texts[:10])


def test_models_run(tried):
    fail_with([text for model in tried for text in model.wrong["run"]])
    assert len([model for model in tried if not model.readers]) == 35
    assert len([model for model in tried if model.readers]) == 25


def test_litert_gives_what_is_computed_here(tried):
    """The numbers the layers are held against are LiteRT's own."""
    assert not [name for model in tried for name in model.litert]


def test_every_strategy_is_tried():
    help_text = peraxis_runs.peraxis("run", "--help")
    listed = help_text.split("per-axis scales are applied: ")[1].split(" (")[0].replace("\n", " ").split(",")
    used = {options[1] for options, _ in WAYS.values() if options[:1] == ("--strategy",)}
    assert used | {"auto"} == {name.strip() for name in listed}


@pytest.mark.parametrize("way", WAYS)
def test_way(tried, way):
    values = sum(model.figures[way, "values"] for model in tried)
    differing = sum(model.figures[way, "differing"] for model in tried)
    layers = [strategy for model in tried for strategy in model.ran.get(way, [])]
    replaced = layers.count("exact")
    scattered = sum(way in model.scattered for model in tried)
    print(f"{way}: {values} values of {len(layers)} layers, {differing} are not the reference's; {replaced} layers ran as exact; "
          f"{scattered} chains keep their sets apart")
    fail_with([text for model in tried for text in model.wrong[way]])
    assert layers
    if WAYS[way][0][:1] == ("--strategy",) and way not in CAN_REFUSE | {"exact"}:
        assert replaced <= len(layers) / 20, "too many layers ran as exact to say something about the strategy"


def test_some_sets_stay_apart(tried):
    """Without a chain whose first layer is read where its tasks wrote it, the chains would prove nothing."""
    found = {way: sum(way in model.scattered for model in tried) for way in WAYS}
    print(found)
    assert found["exponent-classes"] > 5 and found["hw-multiply, ratio 4"] > 5


def test_clipping_would_be_seen(tried):
    """One gain for scales up to 1000 apart is far off; were it not, the comparisons would have compared nothing."""
    far = sum(model.figures["max-scale", "differing"] for model in tried)
    near = sum(model.figures["exponent-classes", "differing"] for model in tried)
    assert far > 100 * max(1, near)


if __name__ == "__main__":
    peraxis_runs.main(__file__)
