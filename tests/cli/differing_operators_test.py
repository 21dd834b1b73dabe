"""Operators that are no convolutions and differ from the reference: stated by `plan`, counted by budgets, run as planned."""
import csv
import io
import pathlib
import unittest

from harness import CliTest, ModelBuilder, litert, np, schema

DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"
MODEL, PICTURE = str(DEMO / "shapes_yolo_raw_int8.tflite"), str(DEMO / "test_03.png")
SHAPE = (1, 32, 32, 32)


def rescaling_model():
    """A convolution, LEAKY_RELU, and a convolution: the middle one is off by one for some of 256 values."""
    rng = np.random.default_rng(5)
    m = ModelBuilder()
    x = m.tensor("x", (1, 32, 32, 16), scale=[1 / 255], zero_point=[-3])
    y = m.conv(x, "first", rng.integers(-127, 128, (32, 1, 1, 16), dtype=np.int8), [0.013] * 32, np.zeros(32, np.int32), SHAPE, 0.05, 5)
    z = m.tensor("middle", SHAPE, scale=[0.0371], zero_point=[-20])
    options = schema.LeakyReluOptionsT()
    options.alpha = 0.1
    m.op(schema.BuiltinOperator.LEAKY_RELU, [y], [z], schema.BuiltinOptions.LeakyReluOptions, options)
    w = m.conv(z, "last", rng.integers(-127, 128, (32, 1, 1, 32), dtype=np.int8), [0.013] * 32, np.zeros(32, np.int32), SHAPE, 0.2, 5)
    return m.bytes([x], [z, w])


def counted(report):
    """Operators on the NPU that are no convolutions and whose arithmetic was counted."""
    return [operator for operator in report["operators"] if operator.get("certificate", {}).get("values")]


class EqualOperators(CliTest):
    """The demo model's: all of them are counted, and none differs."""
    OPTIONS = (MODEL, "--image", PICTURE)

    def test_json_and_text(self):
        report = self.succeeds("plan", *self.OPTIONS, "--json").json()
        text = self.succeeds("plan", *self.OPTIONS).out.decode()
        others = counted(report)
        self.assertGreater(len(others), 0)
        table = text.split("other operators with arithmetic on the NPU\n")[1].splitlines()
        self.assertEqual(table[0].split()[:3], ["op", "kind", "tasks"])
        for operator, line in zip(others, table[2:]):
            certificate = operator["certificate"]
            self.assertEqual(list(certificate), ["values", "differing", "max", "counted", "every_tie_reading", "max_any_tie_reading"])
            self.assertEqual((certificate["differing"], certificate["max"], operator["isolated"]["differing"]), (0, 0, 0))
            self.assertEqual(line.split()[:3], [str(operator["op"]), operator["kind"], str(operator["tasks"])])
            self.assertIn(f"{certificate['values']:,}", line)
        fused = {layer["sum"] for layer in report["layers"]}
        for operator in report["operators"]:
            own = operator["device"] == "npu" and operator["op"] not in fused
            self.assertEqual("certificate" in operator, own, operator)
            self.assertEqual("not_fused" in operator, own and operator["kind"] == "add", operator)

    def test_csv(self):
        report = self.succeeds("plan", *self.OPTIONS, "--json").json()
        rows = list(csv.DictReader(io.StringIO(self.succeeds("plan", *self.OPTIONS, "--csv").out.decode())))
        others = counted(report)
        self.assertEqual([row["op"] for row in rows], [str(part["op"]) for part in report["layers"] + others])
        for row, operator in zip(rows[len(report["layers"]):], others):
            self.assertEqual((row["kind"], row["device"], row["strategy"]), (operator["kind"], "npu", ""))
            self.assertEqual(int(row["tasks"]), operator["tasks"])
            for key in ("values", "differing", "max"):
                self.assertEqual(int(row[key]), operator["certificate"][key])
            self.assertAlmostEqual(float(row["expected_mismatch_percent"]), operator["expected_mismatch_percent"], places=5)
            self.assertAlmostEqual(float(row["isolated_percent"]), operator["isolated"]["percent"], places=5)


class DifferingOperators(CliTest):
    def setUp(self):
        super().setUp()
        self.data = rescaling_model()
        self.model = self.write("m.tflite", self.data)
        self.x = np.random.default_rng(6).integers(-128, 128, (1, 32, 32, 16), dtype=np.int8)
        self.save("x.npy", self.x)

    def plan(self, *options):
        return self.succeeds("plan", self.model, "--json", "--input", "0=x.npy", *options).json()

    def middle(self, report):
        found, = [operator for operator in report["operators"] if operator["kind"] == "leaky_relu"]
        return found

    def test_the_difference_is_stated_and_measured(self):
        report = self.plan()
        middle = self.middle(report)
        self.assertEqual((middle["device"], middle["tasks"]), ("npu", 1))
        certificate = middle["certificate"]
        self.assertEqual((certificate["values"], certificate["max"], certificate["counted"]), (256, 1, True))
        self.assertGreater(certificate["differing"], 0)
        self.assertGreaterEqual(middle["expected_mismatch_percent"], 100 * certificate["differing"] / 256)
        self.assertEqual(middle["isolated"]["max"], 1)
        parts = [*report["layers"], middle]
        elements = [part["isolated"]["elements"] for part in parts]
        pooled = sum(n * part["expected_mismatch_percent"] for n, part in zip(elements, parts)) / sum(elements)
        self.assertAlmostEqual(report["total"]["expected_mismatch_percent"], pooled, places=9)
        text = self.succeeds("plan", self.model, "--input", "0=x.npy").out.decode()
        line, = [line for line in text.splitlines() if " leaky_relu " in line]
        self.assertIn(f"{middle['isolated']['percent']:.4f}", line)
        rows = list(csv.DictReader(io.StringIO(self.succeeds("plan", self.model, "--csv").out.decode())))
        row, = [row for row in rows if row["kind"] == "leaky_relu"]
        self.assertEqual((row["values"], row["differing"], row["max"]), ("256", str(certificate["differing"]), "1"))

    def test_a_budget_takes_the_table(self):
        report = self.plan("--max-mismatch", "0.05")
        middle = self.middle(report)
        self.assertEqual((middle["device"], middle["tasks"], middle["certificate"]["max"]), ("npu", 2, 0))
        self.assertEqual(middle["isolated"], None)
        self.assertLessEqual(report["total"]["expected_mismatch_percent"], 0.05 / 1.5)
        self.assertGreater(report["total"]["estimated_ms"], 0)

    def test_without_tables_the_cpu(self):
        middle = self.middle(self.plan("--max-mismatch", "0.05", "--no-tables"))
        self.assertEqual(middle["device"], "cpu")
        self.assertIn("would be expected to differ on the NPU, and at most 0.05 % of all are wanted", middle["reason"])
        self.assertNotIn("certificate", middle)
        # A budget with room for it leaves it where it is.
        self.assertEqual(self.middle(self.plan("--max-mismatch", "50", "--no-tables"))["device"], "npu")

    def test_the_budget_is_kept_against_litert(self):
        want = litert(self.data, [self.x])
        for options in (("--max-mismatch", "0"), ("--accuracy", "exact")):
            self.succeeds("run", self.model, "--device", "sim", "--input", "0=x.npy", *options, "--output-dir", "o")
            for n, values in enumerate(want):
                np.testing.assert_array_equal(np.load(self.dir / "o" / f"{n}.npy"), values, str(options))

    def test_calibration_weighs_what_was_seen(self):
        np.savez(self.dir / "seen.npz", i0_0=self.x)
        plain, seen = self.middle(self.plan()), self.middle(self.plan("--calibrate", "seen.npz"))
        distance = [abs(found["expected_mismatch_percent"] - found["isolated"]["percent"]) for found in (plain, seen)]
        self.assertLess(distance[1], 0.2 * distance[0] + 0.2)

    def test_all_strategies_count_it(self):
        rows = self.succeeds("plan", self.model, "--json", "--all-strategies", "--input", "0=x.npy").json()["strategies"]
        exact, fast = ({row["strategy"]: row for row in rows}[name] for name in ("exact", "fast"))
        self.assertEqual(exact["isolated_mismatch_percent"], 0)
        report = self.plan()
        parts = [part["isolated"] for part in [*report["layers"], self.middle(report)]]
        self.assertAlmostEqual(fast["isolated_mismatch_percent"],
                               100 * sum(part["differing"] for part in parts) / sum(part["elements"] for part in parts), places=9)


if __name__ == "__main__":
    unittest.main()
