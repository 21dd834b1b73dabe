"""Random TFLite models, made here, through LiteRT and through peraxis.

Every model is read by LiteRT (reference kernels), by `--device cpu` and by the machine model. `exact` and the CPU
must be byte-identical to LiteRT; one convolution-like operator under a fast strategy may be off by one. With
`--reference single-rounding` the machine model must agree with the CPU kernels of the same rounding, and with
LiteRT's default kernels (XNNPACK) within one.

The seeds are fixed and printed. A failure names the seed, keeps the model and its inputs, and prints the command that
replays it: PERAXIS_SEED=n python3 tests/python/random_models_test.py. PERAXIS_SEED also takes a range, as in 5000-5999.

Needs numpy and ai-edge-litert. Run by pytest, or as a program.
"""
import collections
import multiprocessing.pool
import os
import pathlib
import re
import shutil
import tempfile

import pytest

import peraxis_runs
from peraxis_runs import compare, distance, interpreter, invoke, replaced, run, save_sets

peraxis_runs.need_module("ai_edge_litert")
peraxis_runs.need_binary()

import random_graphs  # noqa: E402  needs ai_edge_litert

FIRST_SEED, COUNT = 1000, 240
FAST = ("hw-multiply", "exponent-classes", "exponent-classes-tie-proof")
ONCE = "hw-multiply for single rounding"


def seeds():
    text = os.environ.get("PERAXIS_SEED")
    if not text:
        return range(FIRST_SEED, FIRST_SEED + COUNT)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


class Tried:
    """One model: what was drawn and every figure the tests look at."""

    def __init__(self, seed, folder):
        self.drawn = random_graphs.draw(seed)
        self.folder = folder / str(seed)
        self.folder.mkdir()
        self.model = self.folder / "model.tflite"
        self.model.write_bytes(self.drawn.data)
        self.different = {}  # (what, input set) -> (differing, maximum)
        self.replaced = {}  # what -> why the layer ran as `exact`: no evidence for the strategy that was asked for
        self.error = None
        self.reported = False  # a failure names it: its files are kept
        self.npu, self.cpu_reasons = None, []
        try:
            self.measure()
        except (peraxis_runs.Failed, AssertionError, RuntimeError, ValueError) as error:
            self.error = str(error)

    def note(self, what, index, got, want):
        difference = distance(got, want)
        self.different[what, index] = (int((difference != 0).sum()), int(difference.max()))

    def measure(self):
        reference = interpreter(self.drawn.data)
        sets = [(inputs, invoke(reference, inputs)) for inputs in self.drawn.inputs]
        save_sets(self.folder / "sets.npz", sets)
        for index, (inputs, want) in enumerate(sets):
            got, _ = run(self.model, inputs, self.folder / "cpu", "--device", "cpu")
            self.note("cpu", index, got, want)
            got, report = run(self.model, inputs, self.folder / "exact", "--device", "sim", "--accuracy", "exact")
            self.note("exact", index, got, want)
        self.npu = report["npu"]
        self.cpu_reasons = [layer["reason"] for layer in report["layers"] if layer["macs"] and layer["device"] != "npu"]
        self.single_rounding(sets)
        if self.drawn.kind in random_graphs.SINGLE:
            for strategy in (*FAST, "max-scale"):
                found = compare(self.model, self.folder / "sets.npz", "--strategy", strategy)
                self.replaced[strategy] = [reason for _, _, reason in replaced(found, strategy)]
                if self.replaced[strategy]:
                    self.within_anyway(strategy, found)
                    continue
                for item in found["goldens"]["sets"]:
                    key = (strategy, item["set"])
                    before = self.different.get(key, (0, 0))
                    self.different[key] = (before[0] + item["differing"], max(before[1], int(item["max"])))

    def within_anyway(self, strategy, found):
        worst = max(item["max"] for item in found["goldens"]["sets"])
        assert worst == 0, f"{strategy} was replaced by exact, and exact is off by {worst}"

    def single_rounding(self, sets):
        inputs, _ = sets[0]
        single = ("--reference", "single-rounding")
        kernels, _ = run(self.model, inputs, self.folder / "single_cpu", "--device", "cpu", *single)
        got, _ = run(self.model, inputs, self.folder / "single_sim", "--device", "sim", "--strategy", "exact", *single)
        self.note("single-rounding", 0, got, kernels)
        if self.drawn.kind in random_graphs.SINGLE:
            # The classes have nothing to emulate here: they take the parameters of hw-multiply.
            fast, report = run(self.model, inputs, self.folder / "single_fast", "--device", "sim", "--strategy",
                               "hw-multiply", *single)
            self.replaced[ONCE] = [reason for _, _, reason in replaced(report, "hw-multiply")]
            if not self.replaced[ONCE]:
                self.note(ONCE, 0, fast, kernels)
        if self.drawn.has_default and self.drawn.kind in random_graphs.SINGLE:
            try:
                default = interpreter(self.drawn.data, reference=False)
            except RuntimeError:  # XNNPACK refuses some scales that the reference kernels take
                return
            self.note("xnnpack", 0, got, invoke(default, inputs))

    def text(self, why):
        self.reported = True
        lines = [f"seed {self.drawn.seed} ({self.drawn.kind}, {self.drawn.style}): {why}", *(f"    {x}" for x in self.drawn.operators),
                 f"    kept: {self.folder}",
                 f"    replay: PERAXIS_SEED={self.drawn.seed} python3 tests/python/random_models_test.py"]
        return "\n".join(lines)


@pytest.fixture(scope="module")
def tried():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="peraxis_random_models_"))
    chosen = seeds()
    print(f"\nseeds {chosen.start} to {chosen.stop - 1}, files in {folder}")
    with multiprocessing.pool.ThreadPool(2) as pool:
        models = pool.map(lambda seed: Tried(seed, folder), chosen, chunksize=4)
    yield models
    for model in models:
        if not model.reported:
            shutil.rmtree(model.folder)
    if not any(model.reported for model in models):
        folder.rmdir()


def must(tried, what, most):
    """No figure of `what` above `most`; models that pass are counted."""
    wrong, seen, differing = [], 0, 0
    for model in tried:
        figures = {index: value for (name, index), value in model.different.items() if name == what}
        seen += bool(figures)
        differing += sum(value[0] for value in figures.values())
        if any(maximum > most for _, maximum in figures.values()):
            wrong.append(model.text(f"{what}: (differing, maximum) per input set {figures}"))
    print(f"{what}: {seen} models, {differing} differing values, limit {most}")
    assert not wrong, f"{len(wrong)} models\n" + "\n".join(wrong)
    return seen


def test_every_model_runs(tried):
    wrong = [model.text(model.error) for model in tried if model.error]
    assert not wrong, "\n".join(wrong)
    kinds = collections.Counter(model.drawn.kind for model in tried)
    operators = collections.Counter(line.split(" ")[0] for model in tried for line in model.drawn.operators)
    print(f"models {dict(kinds)}\noperators {dict(operators)}")
    if not os.environ.get("PERAXIS_SEED"):
        assert len(tried) >= 200
        wanted = {"conv_2d", "depthwise", "fully_connected", "add", "sub", "mul", "concatenation", "split", "max_pool",
                  "average_pool", "pad", "resize", "reshape", "strided_slice", "transpose", "logistic", "softmax",
                  "leaky_relu", "mean", "quantize", "tanh", "hard_swish", "transpose_conv", "resize_bilinear", "mirror_pad",
                  "slice", "split_v", "gather", "unpack", "dequantize"}
        assert wanted <= set(operators), wanted - set(operators)


def test_cpu_is_byte_identical_to_litert(tried):
    assert must(tried, "cpu", 0)


def test_exact_is_byte_identical_to_litert(tried):
    assert must(tried, "exact", 0)


@pytest.mark.parametrize("strategy, least", [*((name, 0.95) for name in FAST), (ONCE, 0.7)])
def test_one_operator_is_within_one(tried, strategy, least):
    """`least`: the share of models that must really run the strategy; the others ran as `exact` and do not count."""
    seen = must(tried, strategy, 1)
    reasons = [reason for model in tried for reason in model.replaced.get(strategy, [])]
    print(f"{strategy}: {seen} models measured, {len(reasons)} replaced by exact")
    for reason, count in collections.Counter(re.sub(r"-?\d+", "n", text) for text in reasons).items():
        print(f"    {count} x {reason}")
    if len(tried) >= 200:
        assert seen >= least * (seen + len(reasons))


def test_a_wrong_result_would_be_seen(tried):
    """One scale for all channels clips and is far off on many per-axis layers: the comparison must say so."""
    far = [model for model in tried if any(value[1] > 1 for (what, _), value in model.different.items() if what == "max-scale")]
    per_axis = [model for model in tried if model.drawn.style == "per-axis" and model.drawn.kind in random_graphs.SINGLE]
    print(f"max-scale is off by more than 1 on {len(far)} models of {len(per_axis)} with per-axis weights")
    if len(per_axis) > 20:
        assert len(far) > len(per_axis) / 4


def test_single_rounding_agrees_with_its_kernels(tried):
    assert must(tried, "single-rounding", 0)


def test_single_rounding_is_near_xnnpack(tried):
    """Single operators only: XNNPACK 2.3.0 frees memory twice on some graphs with two equal operators."""
    must(tried, "xnnpack", 1)


def test_convolutions_run_on_the_npu(tried):
    """The comparison would say nothing about the NPU if the operators went to the CPU."""
    reasons = collections.Counter(reason for model in tried for reason in model.cpu_reasons)
    measured = [model for model in tried if model.npu]
    with_tasks = [model for model in measured if model.npu["mac_share"] == 1]
    print(f"{len(with_tasks)} of {len(measured)} models with every multiplication on the NPU; left: {dict(reasons)}")
    assert len(with_tasks) >= 0.9 * len(measured)


if __name__ == "__main__":
    peraxis_runs.main(__file__)
