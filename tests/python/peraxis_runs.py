"""Runs the peraxis binary for the Python tests and counts differences between its arrays and LiteRT's.

PERAXIS_BINARY names the binary, else build/release/peraxis of the repository. PERAXIS_SHARED names the folder with
the shared models, else ../shared beside the repository; tests that need it skip without it. Python and LiteRT do
the counting here, so a mistake in `peraxis compare` cannot hide one in `peraxis run`.
"""
import importlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo"
BINARY = pathlib.Path(os.environ.get("PERAXIS_BINARY") or ROOT / "build" / "release" / "peraxis")
SHARED = pathlib.Path(os.environ.get("PERAXIS_SHARED") or ROOT.parent / "shared")
NOTHING_RAN = 77  # what ctest takes as "skipped"


def skip(reason):
    """Leaves a whole test file: under pytest as a skip, as a program with the exit code of a skip."""
    if pathlib.Path(getattr(sys.modules["__main__"], "__file__", None) or "").name.endswith("_test.py"):
        print(f"skipped: {reason}")
        sys.exit(NOTHING_RAN)
    pytest.skip(reason, allow_module_level=True)


def need_module(name):
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        return skip(str(missing))


def need_binary():
    if not os.access(BINARY, os.X_OK):
        skip(f"no binary at {BINARY}; set PERAXIS_BINARY")


def need_shared_models():
    if not (SHARED / "models").is_dir():
        skip(f"no models in {SHARED}; set PERAXIS_SHARED")
    return SHARED / "models"


def need_shared_captures():
    """The folders of streams that drivers and the vendor's compiler emitted."""
    folders = SHARED / "mesa", SHARED / "vendor"
    if not all(folder.is_dir() for folder in folders):
        skip(f"no captures in {SHARED}; set PERAXIS_SHARED")
    return folders


np = need_module("numpy")


class Failed(Exception):
    """The command ended with another code than 0."""


def peraxis(*arguments, folder=None, timeout=1800):
    """Standard output of a command that must succeed."""
    command = [str(BINARY), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\nexit code {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def run(model, inputs, folder, *options):
    """Outputs of `run` in the model's order, and its report. `inputs`: arrays in the model's order."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arguments = []
    for index, value in enumerate(inputs):
        np.save(folder / f"in{index}.npy", value)
        arguments += ["--input", f"{index}={folder / f'in{index}.npy'}"]
    report = json.loads(peraxis("run", model, *arguments, *options, "--output-dir", folder / "out", "--json"))
    return [np.load(folder / "out" / f"{index}.npy") for index in range(len(report["outputs"]))], report


def compare(model, goldens, *options):
    return json.loads(peraxis("compare", model, "--goldens", goldens, *options, "--json"))


def replaced(report, strategy):
    """[(operator, strategy, reason)] of the layers with multiplications that did not run on the NPU as asked.

    A strategy that cannot express a layer hands it to `exact`, which has no differences: it must not be counted as
    a success of the strategy.
    """
    return [(layer["op"], layer["strategy"], layer["reason"]) for layer in report["layers"]
            if layer["macs"] and (layer["device"] != "npu" or layer["strategy"] != strategy)]


def golden_sets(path):
    """[(inputs, outputs), ...] of a file with arrays i<set>_<n> and o<set>_<n>."""
    stored = np.load(path)
    sets = []
    while f"o{len(sets)}_0" in stored:
        arrays = {kind: [] for kind in "io"}
        for kind, found in arrays.items():
            while f"{kind}{len(sets)}_{len(found)}" in stored:
                found.append(stored[f"{kind}{len(sets)}_{len(found)}"])
        sets.append((arrays["i"], arrays["o"]))
    return sets


def save_sets(path, sets):
    np.savez(path, **{f"{kind}{k}_{n}": value for k, pair in enumerate(sets) for kind, values in zip("io", pair)
                      for n, value in enumerate(values)})


def distance(got, want):
    """Absolute differences of all elements of two lists of arrays; types and shapes must be the same."""
    assert len(got) == len(want), f"{len(got)} outputs, expected {len(want)}"
    parts = []
    for index, (a, b) in enumerate(zip(got, want)):
        assert a.dtype == b.dtype and a.shape == b.shape, f"output {index}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        parts.append(np.abs(a.astype(np.int64) - b.astype(np.int64)).ravel())
    return np.concatenate(parts)


def interpreter(model, reference=True):
    """LiteRT on the bytes or the file of a model: its reference kernels, or what it does by default (XNNPACK)."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    resolver = OpResolverType.BUILTIN_REF if reference else OpResolverType.AUTO
    source = {"model_content": model} if isinstance(model, bytes) else {"model_path": str(model)}
    made = Interpreter(**source, experimental_op_resolver_type=resolver, num_threads=1)
    made.allocate_tensors()
    return made


def invoke(made, inputs):
    for detail, value in zip(made.get_input_details(), inputs):
        made.set_tensor(detail["index"], value)
    made.invoke()
    return [made.get_tensor(detail["index"]) for detail in made.get_output_details()]


class _Counter:
    """pytest plugin: whether any test did more than skip."""

    def __init__(self):
        self.ran = 0

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and not report.skipped or report.failed:
            self.ran += 1


def main(path):
    """Runs a test file as a program: exit code 77 when everything was skipped."""
    counter = _Counter()
    code = int(pytest.main([path, "-v", "-rs", "-s", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[counter]))
    sys.exit(NOTHING_RAN if counter.ran == 0 and code in (0, 5) else code)
