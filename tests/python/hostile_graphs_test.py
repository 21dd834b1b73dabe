"""Odd and broken graphs: peraxis runs them as LiteRT's reference kernels do, or refuses them with a sentence; it never dies or hangs.

Named cases state which; random changes of random models only that nothing dies, and that what runs is right.
PERAXIS_SEED=n (or a range n-m) takes other random changes.

Needs numpy and ai-edge-litert. Run by pytest, or as a program.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

import peraxis_runs
from peraxis_runs import BINARY, np

peraxis_runs.need_module("ai_edge_litert")
peraxis_runs.need_binary()

import hostile_sequences  # noqa: E402, F401  adds cases to those of hostile_graphs
from hostile_changes import mutants  # noqa: E402  needs ai_edge_litert
from hostile_graphs import ANY, RUNS, inputs_of, named, says  # noqa: E402

TIMEOUT = 120  # of one command, on a loaded machine
FIRST_SEED, COUNT = 100, 120
NOT_BY_LITERT = {"names_of_odd_bytes"}  # its Python interface decodes the names
# LiteRT would allocate what they ask for.
TOO_LARGE = {"tile_by_2_to_the_31", "tile_to_more_than_memory", "scatter_to_a_huge_shape", "suppression_of_a_huge_number"}


def seeds():
    text = os.environ.get("PERAXIS_SEED")
    if not text:
        return range(FIRST_SEED, FIRST_SEED + COUNT)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


class Tried:
    def __init__(self, case, folder):
        self.case, self.folder = case, folder
        self.model = folder / f"{case.name}.tflite"
        self.model.write_bytes(case.data)
        try:
            self.inputs = inputs_of(case.data, np.random.default_rng(7))
        except (IndexError, ValueError, KeyError, MemoryError):
            self.inputs = None  # no input fits this file
        if self.case.name in TOO_LARGE:
            self.model.with_suffix(".outcome").write_text("not asked")
        elif self.inputs is not None and sum(value.nbytes for value in self.inputs) < 2**26:
            np.savez(self.model.with_suffix(".inputs.npz"), **{f"i{n}": value for n, value in enumerate(self.inputs)})
        else:
            self.inputs = None
            self.model.with_suffix(".outcome").write_text("not asked")
        self.litert, self.outputs = None, None

    def read_litert(self):
        self.litert = self.model.with_suffix(".outcome").read_text()
        if self.litert == "ran":
            stored = np.load(self.model.with_suffix(".npz"))
            self.outputs = [stored[f"o{n}"] for n in range(len(stored.files))]

    def command(self, *arguments):
        """Exit code and stderr of a command that must end by itself, with 0 or with an error."""
        done = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, timeout=TIMEOUT, check=False)
        error = done.stderr.decode(errors="replace")
        assert done.returncode in (0, 1), f"{self.about()}: {arguments} gave {done.returncode}\n{error}"
        if done.returncode:
            assert re.search(r"^peraxis: error: .{20}", error, re.MULTILINE), f"{self.about()}: {arguments}\n{error}"
            assert not done.stdout, f"{self.about()}: {arguments} failed and printed {done.stdout[:200]}"
        return done.returncode, error

    def run(self, name, *options):
        arguments = []
        for n, value in enumerate(self.inputs):
            np.save(self.folder / f"in{n}.npy", value)
            arguments += ["--input", f"{n}={self.folder / f'in{n}.npy'}"]
        out = self.folder / f"{self.case.name}_{name}"
        code, error = self.command("run", self.model, *arguments, *options, "--output-dir", out, "--json")
        return error if code else [np.load(out / f"{n}.npy") for n in range(len(list(out.glob("*.npy"))))]

    def about(self):
        return f"{self.case.name} ({self.case.why or 'named'}; LiteRT {self.litert}; {self.model})"


@pytest.fixture(scope="module", name="tried")
def all_cases():
    with tempfile.TemporaryDirectory(prefix="peraxis_hostile_") as folder:
        folder = pathlib.Path(folder)
        cases = [*([] if os.environ.get("PERAXIS_SEED") else named()), *mutants(seeds())]
        made = [Tried(case, folder) for case in cases]
        for _ in made:  # a crash ends the process; what follows is done by the next one
            script = pathlib.Path(__file__).with_name("litert_outcomes.py")
            if subprocess.run([sys.executable, script, folder], capture_output=True, timeout=600, check=False).returncode == 0:
                break
        for one in made:
            one.read_litert()
        yield made


def equal(got, want):
    return len(got) == len(want) and all(
        a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype == np.float32) for a, b in zip(got, want))


def check(one):
    """"ran" or "refused"; an assertion fails when neither was right."""
    code, error = one.command("inspect", one.model, "--json")
    if code:
        assert one.command("run", one.model)[0] == 1
        assert one.command("compile", one.model, "-o", one.folder / "x.pax")[0] == 1
        return error
    for accuracy in ("fast", "exact"):
        one.command("plan", one.model, "--accuracy", accuracy, "--json")
        one.command("compile", one.model, "--accuracy", accuracy, "-o", one.folder / "x.pax", "--json")
    one.command("ops", one.model, "--json")
    if one.inputs is None:
        return "no inputs fit"
    cpu = one.run("cpu", "--device", "cpu")
    exact = one.run("exact", "--device", "sim", "--accuracy", "exact")
    fast = one.run("fast", "--device", "sim")
    if isinstance(cpu, str):
        assert isinstance(exact, str) and isinstance(fast, str), f"{one.about()}: only the CPU refuses: {cpu}"
        return cpu
    assert not isinstance(exact, str) and not isinstance(fast, str), f"{one.about()}: {exact if isinstance(exact, str) else fast}"
    assert equal(exact, cpu), f"{one.about()}: `exact` is not what the CPU kernels give"
    assert [(a.dtype, a.shape) for a in fast] == [(a.dtype, a.shape) for a in cpu], one.about()
    if one.outputs is not None:
        assert equal(cpu, one.outputs), f"{one.about()}: not what LiteRT gives"
    return "ran"


def test_named_cases(tried):
    wrong, compared = [], 0
    chosen = [one for one in tried if one.case.name[:6] != "mutant"]
    for one in chosen:
        try:
            outcome = check(one)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            wrong.append(str(error))
            continue
        wanted = one.case.refusal
        if wanted is RUNS and outcome != "ran":
            wrong.append(f"{one.about()}: must run, but {outcome}")
        elif wanted not in (RUNS, ANY) and (outcome == "ran" or not says(wanted, outcome)):
            wrong.append(f"{one.about()}: must be refused with '{wanted}', but {outcome}")
        if wanted is RUNS:
            compared += one.outputs is not None
            if one.outputs is None and one.case.name not in NOT_BY_LITERT:
                wrong.append(f"{one.about()}: LiteRT was expected to run it")
    print(f"{len(chosen)} named cases, {compared} compared with LiteRT")
    assert not wrong, f"{len(wrong)} cases\n" + "\n".join(wrong)
    if not os.environ.get("PERAXIS_SEED"):
        assert compared >= 20


def test_random_changes(tried):
    wrong, ran, compared, refused = [], 0, 0, []
    chosen = [one for one in tried if one.case.name[:6] == "mutant"]
    for one in chosen:
        try:
            outcome = check(one)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            wrong.append(str(error))
            continue
        ran += outcome == "ran"
        compared += outcome == "ran" and one.outputs is not None
        if outcome != "ran" and one.outputs is not None:
            refused.append(f"{one.about()}: {outcome.strip()}")
    print(f"{len(chosen)} changed models: {ran} ran, {compared} compared with LiteRT; {len(refused)} that LiteRT runs were refused:")
    print("\n".join(refused))
    assert not wrong, f"{len(wrong)} models\n" + "\n".join(wrong)
    if not os.environ.get("PERAXIS_SEED"):
        assert len(chosen) >= COUNT // 2 and compared >= 10 and len(chosen) - ran >= 10


if __name__ == "__main__":
    peraxis_runs.main(__file__)
