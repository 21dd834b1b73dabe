"""Convolutions that do the ADD behind them: what plan, compile and compare say of them, and --no-fused-add."""
import pathlib
import unittest

from harness import CliTest

DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"
MODEL = str(DEMO / "shapes_yolo_raw_int8.tflite")


def sums_of(report):
    """{the ADD: the layer whose tasks do it}."""
    return {layer["sum"]: layer for layer in report["layers"] if layer["sum"] is not None}


class Sums(CliTest):
    def json_of(self, command, *options):
        return self.succeeds(command, MODEL, "--json", *options).json()

    def test_plan(self):
        report, without = self.json_of("plan"), self.json_of("plan", "--no-fused-add")
        sums = sums_of(report)
        adds = {o["op"]: o for o in report["operators"] if o["kind"] == "add"}
        self.assertEqual(sorted(sums), sorted(adds))
        self.assertEqual(len(sums), 3)
        self.assertEqual(without["total"]["tasks"] - report["total"]["tasks"], 3)
        self.assertLess(report["total"]["bytes"], without["total"]["bytes"])
        self.assertLess(report["total"]["estimated_ms"], without["total"]["estimated_ms"])
        text = self.succeeds("plan", MODEL).out.decode()
        for op, layer in sums.items():
            reason = (f"computed by the tasks of operator {layer['op']}, at most {layer['certificate']['max']} from the reference's "
                      "two operators")
            self.assertEqual((adds[op]["device"], adds[op]["reason"]), ("npu", reason))
            self.assertIn(reason, text)

    def test_never_without_leave(self):
        for options in (("--no-fused-add",), ("--accuracy", "exact"), ("--max-mismatch", "0"), ("--strategy", "exponent-classes"),
                        ("--convolutions-only",)):
            report = self.json_of("plan", *options)
            self.assertEqual(sums_of(report), {}, options)
            self.assertEqual({o["reason"] for o in report["operators"] if o["kind"] == "add" and o["device"] == "npu"} - {None}, set())

    def test_compile(self):
        for options, named in (((), 3), (("--no-fused-add",), 0)):
            file = self.dir / "x.pax"
            made = self.succeeds("compile", MODEL, "-o", file, *options).out.decode()
            self.assertEqual(made.count("from the reference's two operators"), named, options)
            found = self.succeeds("inspect", file, "--json").json()
            fused = [o for o in found["operators"] if (o["reason"] or "").startswith("computed by the tasks of")]
            self.assertEqual(len(fused), named)

    def test_compare_measures_the_sum_with_the_convolution(self):
        report = self.json_of("compare", "--image", DEMO / "test_03.png")
        bounds = {layer["op"]: (op, layer["certificate"]["max"]) for op, layer in sums_of(self.json_of("plan")).items()}
        rows = {layer["op"]: layer for layer in report["layers"]}
        for convolution, (add, most) in bounds.items():
            self.assertLessEqual(rows[convolution]["isolated"]["max"], most)
            self.assertIsNone(rows[add]["isolated"])
            self.assertIn(next(t for t in self.outputs(convolution)), report["removed"])

    def outputs(self, op):
        found, = [o for o in self.succeeds("inspect", MODEL, "--json").json()["operators"] if o["op"] == op]
        return [t["tensor"] for t in found["outputs"]]


if __name__ == "__main__":
    unittest.main()
