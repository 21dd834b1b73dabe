"""cmake --install, then examples/cpp built against the installed tree alone, by CMake and by pkg-config: its boxes are
those of examples/demo/expected_detections.json, its `exact` outputs LiteRT's. The library exports its interface and nothing else."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo"
BUILD = pathlib.Path(os.environ["PERAXIS_BINARY"]).parent
PICTURE = "test_03.png"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


@pytest.fixture(scope="module")
def prefix():
    with tempfile.TemporaryDirectory() as folder:
        run("cmake", "--install", BUILD, "--prefix", folder)
        yield pathlib.Path(folder)


@pytest.fixture(scope="module")
def by_cmake(prefix):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples" / "cpp", f"{folder}/source")
        run("cmake", "-S", f"{folder}/source", "-B", f"{folder}/build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", f"{folder}/build")
        yield pathlib.Path(folder) / "build" / "detect"


def ppm(folder):
    from PIL import Image
    picture = Image.open(DEMO / PICTURE).convert("RGB")
    path = folder / "picture.ppm"
    picture.save(path)
    return path


def boxes_of(text):
    found = []
    for line in text.splitlines():
        label, *numbers = line.rsplit(" ", 5)
        found.append((label, [float(n) for n in numbers]))
    return found


def check_boxes(text):
    """Best first; scores and corners as far as printing leaves them."""
    want = json.loads((DEMO / "expected_detections.json").read_text())[PICTURE]["int8_raw"]
    got = boxes_of(text)
    assert len(got) == len(want) > 0
    for (label, numbers), expected in zip(got, sorted(want, key=lambda d: -d["score"])):
        x, y, width, height = expected["cxcywh"]
        assert label == expected["class"]
        assert abs(numbers[0] - expected["score"]) < 0.001
        np.testing.assert_allclose(numbers[1:], [x - width / 2, y - height / 2, x + width / 2, y + height / 2], atol=0.06)


def test_find_package(by_cmake, tmp_path):
    done = run(by_cmake, DEMO / "shapes_yolo_raw_int8.tflite", ppm(tmp_path), "exact", tmp_path / "o.bin")
    check_boxes(done.stdout)
    assert done.stderr.startswith("peraxis 0.")
    # The outputs, on the input that the command line makes of the picture.
    run(os.environ["PERAXIS_BINARY"], "run", DEMO / "shapes_yolo_raw_int8.tflite", "--device", "cpu", "--image", DEMO / PICTURE,
        "--dump-tensors", tmp_path / "d.npz", "--output-dir", tmp_path / "o")
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    judge = Interpreter(str(DEMO / "shapes_yolo_raw_int8.tflite"), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    judge.allocate_tensors()
    given = judge.get_input_details()[0]
    with np.load(tmp_path / "d.npz") as dump:
        judge.set_tensor(given["index"], dump[f"t{given['index']}"])
    judge.invoke()
    want = judge.get_tensor(judge.get_output_details()[0]["index"])
    assert (tmp_path / "o.bin").read_bytes() == want.tobytes()


def test_pkg_config(prefix, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    flags = run("pkg-config", "--cflags", "--libs", "peraxis", env=environment).stdout.split()
    run("g++", ROOT / "examples" / "cpp" / "detect.cpp", "-o", tmp_path / "detect", *flags, f"-Wl,-rpath,{prefix}/lib")
    check_boxes(run(tmp_path / "detect", DEMO / "shapes_yolo_raw_int8.tflite", ppm(tmp_path), "exact").stdout)
    assert run("pkg-config", "--modversion", "peraxis", env=environment).stdout.strip() in \
        run(prefix / "bin" / "peraxis", "--version").stdout


def test_a_mistake_has_its_text(by_cmake, tmp_path):
    done = subprocess.run([by_cmake, tmp_path / "none.tflite", ppm(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1 and "none.tflite" in done.stderr


def test_only_the_interface_is_exported(prefix):
    symbols = run("nm", "-D", "--defined-only", "-C", prefix / "lib" / "libperaxis.so").stdout.splitlines()
    names = [line.split(" ", 2)[2] for line in symbols]
    assert any("Engine::compile(" in name for name in names)
    foreign = [name for name in names if "peraxis::v0::" not in name.split("(")[0]]
    assert foreign == []
    assert len(names) < 120, "an interface, not its inside"


def test_headers_stand_alone(prefix, tmp_path):
    for header in sorted((prefix / "include" / "peraxis").glob("*.hpp")):
        (tmp_path / "one.cpp").write_text(f"#include <peraxis/{header.name}>\nint main() {{}}\n")
        run("g++", "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only", f"-I{prefix}/include", tmp_path / "one.cpp")


if __name__ == "__main__":
    raise SystemExit(pytest.main(["-q", __file__]))
