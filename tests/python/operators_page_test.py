"""docs/operators.md has what `peraxis ops` says, and `peraxis ops` has what the lists of the source say."""
import importlib.util
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PERAXIS_BINARY") or str(ROOT / "build" / "release" / "peraxis")


def load_script():
    spec = importlib.util.spec_from_file_location("operators_page", ROOT / "scripts" / "operators_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@unittest.skipUnless(os.access(BINARY, os.X_OK), f"no binary at {BINARY}")
class OperatorsPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = load_script()
        cls.facts = cls.script.facts_of(BINARY)
        cls.text = (ROOT / "docs" / "operators.md").read_text()

    def test_page_is_fresh(self):
        self.maxDiff = None
        self.assertEqual(self.text.splitlines(), self.script.page(self.text, self.facts).splitlines(),
                         "run scripts/operators_page.py")

    def test_a_changed_fact_shows(self):
        for change in (lambda o: [way.update(conditions="never") for way in o["npu"]], lambda o: o["cpu"].update(note="never")):
            facts = self.script.facts_of(BINARY)
            for o in facts["operators"]:
                change(o)
            self.assertIn("never", self.script.page(self.text, facts))
        with self.assertRaises(ValueError):
            self.script.page(self.text.replace("generated: cpu", "generated: gpu"), self.facts)

    def test_every_operator_is_there(self):
        names = re.findall(r'PERAXIS_OP\(\w+, "(\w+)"', (ROOT / "src" / "ir" / "ops.def").read_text())
        self.assertGreater(len(names), 10)
        self.assertEqual([o["name"] for o in self.facts["operators"]], names)
        for name in names:
            self.assertIn(f"`{name}`", self.text)

    def test_operators_of_the_npu_are_described(self):
        """A DeviceOp without a DeviceText runs, but nobody learns when."""
        kinds = set(re.findall(r"DeviceOp k\w+\{\s*ir::OpKind::(\w+)",
                               "".join(p.read_text() for p in (ROOT / "src" / "lower").glob("*.cpp"))))
        self.assertGreater(len(kinds), 5)
        names = dict(re.findall(r'PERAXIS_OP\((\w+), "(\w+)"', (ROOT / "src" / "ir" / "ops.def").read_text()))
        by_name = {o["name"]: o for o in self.facts["operators"]}
        for kind in kinds:
            self.assertTrue(by_name[names[kind]]["npu"], kind)
        for o in self.facts["operators"]:
            for way in [] if o["convolution"] else o["npu"]:
                for what in ("tasks", "accuracy", "conditions"):
                    self.assertTrue(way[what], f"{o['name']} has no {what}: fill DeviceOp::text")

    def test_sentences_of_the_constraints(self):
        """One for every row of kConstraints, in order; the operator's own numbers are N, and a limit comes from a field
        of the register table."""
        source = (ROOT / "src" / "lower" / "constraints.cpp").read_text()
        table = source[source.index("kConstraints"):source.index("std::string npu_refusal(")]
        rows = re.findall(r'Constraint\{\s*"([^"]*)"', table)
        refusals = self.facts["conditions"]["convolution_refusals"]
        self.assertEqual(len(refusals), len(rows))
        registers = ROOT / "src" / "target" / "rk3588" / "registers"
        fields = {".".join(f) for path in registers.glob("*.def")
                  for f in re.findall(r"PERAXIS_FIELD\((\w+), (\w+), (\w+),", path.read_text())}
        for row, refusal in zip(rows, refusals, strict=True):
            wanted = re.sub(r"\{(in|out)?\}", "N", row).replace("{limit}", str(refusal["limit"]))
            self.assertEqual(refusal["sentence"], wanted)
            self.assertEqual(refusal["limit"] is None, "{limit}" not in row, row)
            if refusal["field"]:
                self.assertIn(refusal["field"], fields)
        self.assertIn("kernel NxN exceeds 31", [r["sentence"] for r in refusals])


if __name__ == "__main__":
    sys.exit(unittest.main())
