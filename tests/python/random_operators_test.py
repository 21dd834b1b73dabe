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


def failures(model, folder):
    """What differs, as lines."""
    name, data, sets = model
    place = folder / name
    place.mkdir()
    (place / "model.tflite").write_bytes(data)
    wrong = []
    devices = ["cpu"] + (["sim"] if sum(name.encode()) % EVERY == 0 else [])
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


def test_lstm_is_refused_by_name(tmp_path):
    """The name of an operator that is not supported reaches the user."""
    schema = operator_cases.schema
    tensor = operator_cases.Tensor([1, 2], "float32")
    (tmp_path / "lstm.tflite").write_bytes(
        operator_cases.build(schema.BuiltinOperator.UNIDIRECTIONAL_SEQUENCE_LSTM, 0, None, [tensor], [tensor]))
    with pytest.raises(peraxis_runs.Failed, match="UNIDIRECTIONAL_SEQUENCE_LSTM"):
        run(tmp_path / "lstm.tflite", [np.zeros((1, 2), np.float32)], tmp_path, "--device", "cpu")


if __name__ == "__main__":
    peraxis_runs.main(__file__)
