"""Inputs as numpy writes them: every order of elements and bytes, format version and type gives the same outputs.

The files are numpy's; what a model makes of the plain form is the measure, and another form must give the same bytes
because it holds the same numbers. Wrong shapes, types and sizes are refused by name. Run by pytest, or as a program.
"""
import itertools

import pytest

import peraxis_runs
from peraxis_runs import np

peraxis_runs.need_binary()
MODEL = peraxis_runs.DEMO / "shapes_yolo_raw_int8.tflite"
SHAPE = (1, 160, 160, 3)


def written(path, array, version=(1, 0)):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    return path


def outputs(source, folder, model=MODEL):
    folder.mkdir()
    peraxis_runs.peraxis("run", model, "--device", "cpu", "--input", f"0={source}", "--output-dir", folder)
    return [np.load(folder / f"{i}.npy") for i in range(2)]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    values = np.random.default_rng(10).integers(-128, 128, SHAPE, dtype=np.int8)
    return values, outputs(written(folder / "x.npy", values), folder / "out")


@pytest.mark.parametrize("version, fortran", list(itertools.product([(1, 0), (2, 0), (3, 0)], [False, True])))
def test_fortran_order_and_header_versions(plain, version, fortran, tmp_path):
    values, want = plain
    array = np.asfortranarray(values) if fortran else values
    source = written(tmp_path / "x.npy", array, version)
    assert (b"'fortran_order': True" in source.read_bytes()[:200]) == fortran
    for got, right in zip(outputs(source, tmp_path / "out"), want):
        np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("code", ["u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8", "b1"])
@pytest.mark.parametrize("fortran", [False, True])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4)])
def test_every_type_and_shape_is_read(code, fortran, shape, tmp_path):
    """What is not the input's is named by its type and shape, so the file was understood."""
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(">" + code)
    source = written(tmp_path / "x.npy", np.array(array, order="F" if fortran else "C"))
    with pytest.raises(peraxis_runs.Failed) as failed:
        outputs(source, tmp_path / "out")
    shown = ",".join(map(str, shape))
    assert f"holds {array.dtype.name} [{shown}], needed is int8 [1,160,160,3]" in str(failed.value)


@pytest.mark.parametrize("kind", ["<f4", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_real_numbers(kind, order, tmp_path):
    """RELU of a map is numpy's maximum, whatever form the map comes in."""
    builder = pytest.importorskip("model_builder")
    model = builder.ModelBuilder(np.random.default_rng(1))
    shape = (1, 3, 5, 2)
    source, target = (builder.Map(model.tensor(shape, np.float32), shape, 1.0, 0, np.float32) for _ in range(2))
    model.inputs.append(source)
    model.operator(builder.Builtin.RELU, [source], [target], "relu")
    (tmp_path / "m.tflite").write_bytes(model.bytes())
    values = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    written(tmp_path / "x.npy", np.array(values, dtype=kind, order=order))
    peraxis_runs.peraxis("run", tmp_path / "m.tflite", "--device", "cpu", "--input", f"0={tmp_path / 'x.npy'}",
                         "--output-dir", tmp_path / "out")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "0.npy"), np.maximum(values, 0))


def test_npz_with_members_in_any_order(plain, tmp_path):
    """`compare --goldens` on recorded arrays in Fortran order: no value differs; one changed value does."""
    values, want = plain

    def mismatched(first):
        np.savez_compressed(tmp_path / "g.npz", i0_0=np.asfortranarray(values), o0_0=np.asfortranarray(first),
                            o0_1=np.asfortranarray(want[1]))
        report = peraxis_runs.compare(MODEL, tmp_path / "g.npz", "--accuracy", "exact")
        return [out["differing"] for out in report["goldens"]["sets"]]

    assert mismatched(want[0]) == [0, 0]
    changed = want[0].copy()
    changed[0, 3, 5, 7] ^= 1
    assert mismatched(changed) == [1, 0]


def test_a_file_that_was_cut_off_names_its_shape(tmp_path):
    source = tmp_path / "x.npy"
    whole = written(source, np.zeros(SHAPE, ">i2")).read_bytes()
    source.write_bytes(whole[:-7])
    with pytest.raises(peraxis_runs.Failed, match=r"153593 bytes of data, its shape \(1, 160, 160, 3\) of int16 asks for 76800 x 2"):
        outputs(source, tmp_path / "out")


if __name__ == "__main__":
    peraxis_runs.main(__file__)
