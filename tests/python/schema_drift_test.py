"""Our schemas/tflite.fbs against the schema LiteRT ships: every field slot and every enum value.

The Python flatbuffers package has no reflection, so the generated text is compared: flatc --python makes
classes from our file, and every `self._tab.Offset(N)` (slot = (N - 4) / 2) and every enum constant must be the
same in the class of the same name in ai_edge_litert.schema_py_generated.

Run: python3 tests/python/schema_drift_test.py (or under pytest). Without flatc or ai_edge_litert it is skipped.
"""

import importlib.util
import inspect
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "schemas" / "tflite.fbs"

CLASS = re.compile(r"^class (\w+)\(object\):\n(.*?)(?=^class |\Z)", re.S | re.M)
FIELD = re.compile(
    r"def (\w+)\(self(?:, j)?\):\n(?:.*\n){0,2}?\s+o = flatbuffers\.number_types\.UOffsetTFlags"
    r"\.py_type\(self\._tab\.Offset\((\d+)\)\)"
)
VALUE = re.compile(r"^    (\w+) = (-?\d+)$", re.M)


def field_slots(source):
    """{table: {field: slot}} of generated Python."""
    tables = {}
    for name, body in CLASS.findall(source):
        for field, offset in FIELD.findall(body):
            if not field.endswith(("Length", "AsNumpy", "IsNone")):
                tables.setdefault(name, {}).setdefault(field, (int(offset) - 4) // 2)
    return tables


def enum_values(source):
    """{enum: {name: value}} of generated Python."""
    return {name: {key: int(value) for key, value in VALUE.findall(body)}
            for name, body in CLASS.findall(source) if VALUE.search(body)}


def generated_from(schema_text):
    with tempfile.TemporaryDirectory() as folder:
        schema = pathlib.Path(folder) / "tflite.fbs"
        schema.write_text(schema_text)
        subprocess.run(["flatc", "--python", "-o", folder, str(schema)], check=True)
        return "\n".join(path.read_text() for path in sorted(pathlib.Path(folder).rglob("*.py")))


def differences(ours, theirs, parse):
    """What `ours` says and `theirs` does not, as readable lines."""
    upstream = parse(theirs)
    return [f"{group}.{name}: {value} here, {upstream.get(group, {}).get(name)} upstream"
            for group, members in parse(ours).items() for name, value in members.items()
            if upstream.get(group, {}).get(name) != value]


@unittest.skipIf(shutil.which("flatc") is None, "flatc is not installed")
@unittest.skipIf(importlib.util.find_spec("ai_edge_litert") is None, "ai_edge_litert is not installed")
class SchemaDrift(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from ai_edge_litert import schema_py_generated
        cls.theirs = inspect.getsource(schema_py_generated)
        cls.text = SCHEMA.read_text()
        cls.ours = generated_from(cls.text)

    def test_something_is_compared(self):
        self.assertGreaterEqual(len(field_slots(self.ours)), 20)
        self.assertGreaterEqual(sum(map(len, field_slots(self.ours).values())), 80)
        self.assertGreaterEqual(sum(map(len, enum_values(self.ours).values())), 250)

    def test_field_slots(self):
        self.assertEqual(differences(self.ours, self.theirs, field_slots), [])

    def test_enum_values(self):
        self.assertEqual(differences(self.ours, self.theirs, enum_values), [])

    def test_every_operator_of_upstream_has_a_name_here(self):
        ours, theirs = enum_values(self.ours)["BuiltinOperator"], enum_values(self.theirs)["BuiltinOperator"]
        self.assertEqual(sorted(set(theirs) - set(ours)), [])

    def test_a_moved_field_is_noticed(self):
        broken = self.text.replace("  stride_w:int;\n  stride_h:int;", "  stride_h:int;\n  stride_w:int;")
        self.assertNotEqual(broken, self.text)
        self.assertIn("Conv2DOptions.StrideH: 1 here, 2 upstream",
                      differences(generated_from(broken), self.theirs, field_slots))

    def test_a_changed_value_is_noticed(self):
        last = "STABLEHLO_CASE = 209"
        moved = self.text.replace(" CONV_2D = 3,", "").replace(last, last + ", CONV_2D = 210")
        self.assertIn("BuiltinOperator.CONV_2D: 210 here, 3 upstream",
                      differences(generated_from(moved), self.theirs, enum_values))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
