"""Random single-operator models of every operator and type, through LiteRT's reference kernels and through peraxis.

The models are those of tests/data/operator_cases.py and make_kernel_cases.py, drawn with other seeds than the stored
ones. `--device cpu` must give the same bytes; every seventh model also runs on the machine model's device, where an
operator without a lowering is a step of the host.

The seeds are fixed and printed. PERAXIS_SEED=n takes another one. A failure names the model, which is kept.
Needs numpy and ai-edge-litert. Run by pytest, or as a program.
"""
import collections
import multiprocessing.pool
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

import peraxis_runs
from peraxis_runs import interpreter, invoke, np, run

peraxis_runs.need_module("ai_edge_litert")
peraxis_runs.need_binary()
sys.path.insert(0, str(peraxis_runs.ROOT / "tests" / "data"))

import model_builder  # noqa: E402  needs ai_edge_litert
import operator_cases  # noqa: E402  needs ai_edge_litert
import recurrent_cases  # noqa: E402  needs ai_edge_litert

SEED = int(os.environ.get("PERAXIS_SEED") or 77)
EVERY = 7  # how often the machine model's device runs a model too


class Collected(operator_cases.Cases):
    """Models with their inputs and expected outputs, as arrays."""

    def __init__(self, seed):
        super().__init__(seed)
        self.models = []

    def store(self, kind, data):
        if kind == 0:
            self.models.append((self.names[-1], bytes(data), []))

    def ran(self, feed, outputs):
        self.models[-1][2].append(([np.asarray(v) for v in feed], outputs))


@pytest.fixture(scope="module")
def models():
    print(f"\nseed {SEED}")
    made = Collected(SEED)
    for family, _, count in operator_cases.FAMILIES:
        family(made, count)
    return made.models


def bits(array):
    return array.tobytes()


def kept_failures(name, place, sets):
    """Of a model with states: the sets as steps of one sequence, and the first of them alone."""
    stored = {f"{kind}{step}_{n}": value for step, arrays in enumerate(sets) for kind, values in zip("io", arrays)
              for n, value in enumerate(values)}
    np.savez(place / "steps.npz", **stored)
    report = peraxis_runs.compare(place / "model.tflite", place / "steps.npz", "--keep-state")
    wrong = [f"{name}, step {s['set']}: {s['differing']} differ; kept: {place}" for s in report["goldens"]["sets"] if s["differing"]]
    assert len(report["goldens"]["sets"]) == len(sets)
    for device in ("cpu", "sim"):
        got, _ = run(place / "model.tflite", sets[0][0], place / device, "--device", device)
        wrong += [f"{name} on {device}: a first run differs" for a, b in zip(got, sets[0][1]) if bits(a) != bits(b)]
    if not wrong:
        shutil.rmtree(place)
    return wrong


def failures(model, folder):
    """What differs, as lines."""
    name, data, sets = model
    place = folder / name
    place.mkdir()
    (place / "model.tflite").write_bytes(data)
    wrong = []
    devices = ["cpu"] + (["sim"] if sum(name.encode()) % EVERY == 0 else [])
    if name.startswith("kept_"):
        return kept_failures(name, place, sets)
    for device in devices:
        for index, (feed, want) in enumerate(sets):
            try:
                got, _ = run(place / "model.tflite", feed, place / f"{device}{index}", "--device", device)
            except peraxis_runs.Failed as error:
                wrong.append(f"{name} on {device}: {error}")
                break
            for n, (a, b) in enumerate(zip(got, want)):
                if a.dtype != b.dtype or a.shape != b.shape or bits(a) != bits(b):
                    count = int((a != b).sum()) if a.shape == b.shape else -1
                    wrong.append(f"{name} on {device}, set {index}, output {n}: {count} of {b.size} differ; kept: {place}")
    if not wrong:
        shutil.rmtree(place)
    return wrong


def test_every_operator_is_byte_identical(models):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="peraxis_random_operators_"))
    with multiprocessing.pool.ThreadPool(2) as pool:
        wrong = [line for lines in pool.map(lambda m: failures(m, folder), models, chunksize=8) for line in lines]
    kinds = collections.Counter(name.rsplit("_", 1)[0] for name, _, _ in models)
    print(f"{len(models)} models of {len(kinds)} operators and types, {len(wrong)} failures")
    assert not wrong, "\n".join(wrong)
    folder.rmdir()
    assert len(models) >= 500


def test_a_shape_computed_at_run_time(tmp_path):
    """What converters write for a free batch: SHAPE, one entry of it, PACK with the other sizes, RESHAPE."""
    rng = np.random.default_rng(SEED)
    builder = model_builder.ModelBuilder(rng)
    builtin = model_builder.Builtin

    def whole(shape):
        return model_builder.Map(builder.tensor(shape, np.int32), tuple(shape), 1.0, 0, np.int32)

    source = builder.input((1, 3, 4, 5), np.int8)
    shape = builder.operator(builtin.SHAPE, [source], [whole([4])], "shape", "ShapeOptions", outType=model_builder.Type.INT32)
    batch = builder.operator(builtin.STRIDED_SLICE, [shape, *(builder.constant([n]) for n in (0, 1, 1))], [whole([])],
                             "strided_slice", "StridedSliceOptions", shrinkAxisMask=1)
    rest = builder.tensor((), np.int32, data=np.array(60, np.int32))
    wanted = builder.operator(builtin.PACK, [batch, rest], [whole([2])], "pack", "PackOptions", valuesCount=2)
    builder.operator(builtin.RESHAPE, [source, wanted], [builder.same(source, (1, 60))], "reshape")
    (tmp_path / "model.tflite").write_bytes(builder.bytes())
    inputs = [rng.integers(-128, 128, source.shape).astype(np.int8)]
    want = invoke(interpreter(builder.bytes()), inputs)
    for device in ("cpu", "sim"):
        got, _ = run(tmp_path / "model.tflite", inputs, tmp_path / device, "--device", device)
        assert [a.tobytes() for a in got] == [b.tobytes() for b in want]


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_of_floats_is_close(approximate, tmp_path):
    """LiteRT takes polynomials of another library for float32: equal but for the last bits."""
    schema = operator_cases.schema
    x = operator_cases.Tensor([1, 4096], "float32")
    made = operator_cases.options("GeluOptions", approximate=approximate)
    model = operator_cases.build(schema.BuiltinOperator.GELU, schema.BuiltinOptions.GeluOptions, made, [x], [x])
    (tmp_path / "gelu.tflite").write_bytes(model)
    feed = [np.linspace(-12, 12, 4096, dtype=np.float32).reshape(1, 4096)]
    want = invoke(interpreter(model), feed)[0]
    got = run(tmp_path / "gelu.tflite", feed, tmp_path, "--device", "cpu")[0][0]
    assert np.abs(got - want).max() <= 1e-6
    assert (got == want).mean() > 0.5


def test_an_lstm_of_floats_is_close(tmp_path):
    """LiteRT takes logistic and tanh of another library for float32: close, also after steps that each read what the one before left."""
    made = Collected(SEED)
    for number in range(8):
        model = recurrent_cases.lstm_model(made, "float32")
        feeds = operator_cases.feeds_of(made, [model[1][0]], 3)
        made.add(f"lstm_{number}", operator_cases.OP.UNIDIRECTIONAL_SEQUENCE_LSTM, *model[:3], feeds, kept=True)
    for name, data, sets in made.models:
        (tmp_path / f"{name}.tflite").write_bytes(data)
        stored = {f"{kind}{step}_0": arrays[0] for step, pair in enumerate(sets) for kind, arrays in zip("io", pair)}
        np.savez(tmp_path / f"{name}.npz", **stored)
        report = peraxis_runs.compare(tmp_path / f"{name}.tflite", tmp_path / f"{name}.npz", "--keep-state")
        assert [s["max"] <= 1e-5 for s in report["goldens"]["sets"]] == [True] * len(sets)


def test_a_model_that_keeps_state_begins_every_set_anew_unless_told(tmp_path):
    made = Collected(SEED)
    operator_cases.svdf(made, 4)
    name, data, sets = max(made.models, key=lambda m: m[1] != b"" and m[0].startswith("kept_svdf_float32"))
    (tmp_path / "m.tflite").write_bytes(data)
    feed, want = sets[0]
    np.savez(tmp_path / "m.npz", **{f"{kind}{step}_0": value for step in range(3) for kind, value in (("i", feed[0]), ("o", want[0]))})
    differing = [s["differing"] for s in peraxis_runs.compare(tmp_path / "m.tflite", tmp_path / "m.npz")["goldens"]["sets"]]
    assert differing == [0, 0, 0], name
    kept = [s["differing"] for s in peraxis_runs.compare(tmp_path / "m.tflite", tmp_path / "m.npz", "--keep-state")["goldens"]["sets"]]
    assert kept[0] == 0 and sum(kept) > 0


if __name__ == "__main__":
    peraxis_runs.main(__file__)
