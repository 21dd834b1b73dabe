"""peraxis plan: its documents, the sums in them, the estimate, the budget, calibration, and what it refuses."""
import csv
import functools
import io
import json
import os
import pathlib
import subprocess
import unittest

from harness import BINARY, CliTest, ModelBuilder, add_model, conv_model, litert, np, png

DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"
MODEL = str(DEMO / "shapes_yolo_raw_int8.tflite")
PICTURE = str(DEMO / "test_03.png")
COST_KEYS = ["tasks", "mac_cycles", "bytes", "host_values", "estimated_npu_ms", "estimated_host_ms", "estimated_ms"]
ROW_KEYS = ["strategy", "tasks", "bytes", "mac_cycles", "estimated_ms", "expected_mismatch_percent", "isolated_mismatch_percent",
            "isolated_max", "end_to_end_max", "end_to_end_mean"]
CONSTANTS = ["clock_ghz", "bandwidth_gbs", "task_us", "host_step_us", "host_copy_ns", "host_requantize_ns", "host_element_ns",
             "host_gmacs"]
# Every strategy that fits a layer with weight scales of its own a channel.
PER_AXIS = ["max-scale", "groups", "sorted-groups", "per-channel", "hybrid", "hw-multiply", "exponent-classes",
            "exponent-classes-tie-proof"]


@functools.lru_cache(maxsize=None)
def call(*arguments):
    """Standard output and error of a command that must succeed; the same command is run once."""
    done = subprocess.run([BINARY, *arguments], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout, done.stderr.decode()


def plan(*options):
    """The JSON of a plan of the demo model."""
    return json.loads(call("plan", MODEL, "--json", *options)[0])


@functools.lru_cache(maxsize=None)
def rows_of(*options):
    return {row["strategy"]: row for row in plan("--all-strategies", *options)["strategies"]}


def pooled(report):
    """Per cent of differing values and the largest difference, over all layers measured."""
    figures = [layer["isolated"] for layer in report["layers"] if layer.get("isolated")]
    return (100 * sum(f["differing"] for f in figures) / sum(f["elements"] for f in figures), max(f["max"] for f in figures))


class Layers(CliTest):
    """One plan, layer by layer."""

    def test_json(self):
        report = plan()
        self.assertEqual((report["model"], report["accuracy"], report["strategy"], report["reference"]),
                         (MODEL, "fast", "auto", "litert-ref"))
        self.assertIsNone(report["max_mismatch_percent"])
        self.assertEqual(list(report["estimate"]), CONSTANTS)
        self.assertEqual(len(report["layers"]), 35)
        for layer in report["layers"]:
            self.assertEqual(list(layer), ["op", "kind", "name", "device", "strategy", "reason", "sets", "macs", "gathered", "sum", *COST_KEYS,
                                           "certificate", "expected_mismatch_percent"])
            self.assertEqual((layer["device"], layer["kind"], layer["reason"]), ("npu", "conv_2d", None))
            certificate = layer["certificate"]
            self.assertEqual(list(certificate), ["acc_min", "acc_max", "values", "differing", "max", "every_tie_reading",
                                                 "max_any_tie_reading"])
            self.assertLess(certificate["acc_min"], certificate["acc_max"])
            self.assertLess(certificate["differing"], certificate["values"])
            self.assertEqual(certificate["max"], 1)
            self.assertGreaterEqual(certificate["max_any_tie_reading"], certificate["max"])
            self.assertGreater(layer["expected_mismatch_percent"], 0)
        self.assertEqual(list(report["total"]), [*COST_KEYS, "expected_mismatch_percent"])
        self.assertEqual(list(report["other_operators"]), COST_KEYS)
        self.assertEqual(list(report["other_operators_on_npu"]), COST_KEYS)
        self.assertEqual(sorted(o["op"] for o in report["operators"] + report["layers"]), list(range(51)))
        sums = {layer["sum"] for layer in report["layers"]}  # their reason says whose tasks do them
        for operator in report["operators"]:
            self.assertEqual(operator["reason"] is None, operator["device"] == "npu" and operator["op"] not in sums, operator)
        self.assertEqual(list(report["pareto"][0]), ["tasks", "estimated_ms", "expected_mismatch_percent", "exact_layers"])

    def test_totals_are_the_sums(self):
        for options in ((), ("--accuracy", "exact"), ("--strategy", "groups"), ("--max-mismatch", "0.02")):
            report = plan(*options)
            parts = [*report["layers"], report["other_operators"], report["other_operators_on_npu"]]
            for key in COST_KEYS[:4]:
                self.assertEqual(report["total"][key], sum(part[key] for part in parts), (options, key))
            for key in COST_KEYS[4:]:
                self.assertAlmostEqual(report["total"][key], sum(part[key] for part in parts), places=9)
            for part in parts:
                self.assertAlmostEqual(part["estimated_ms"], part["estimated_npu_ms"] + part["estimated_host_ms"], places=12)
            self.assertEqual(report["other_operators"]["tasks"], 0)

    def test_the_expected_share_is_weighted_by_outputs(self):
        report = plan("--image", PICTURE)
        weights = [layer["isolated"]["elements"] for layer in report["layers"]]
        mean = sum(w * layer["expected_mismatch_percent"] for w, layer in zip(weights, report["layers"])) / sum(weights)
        self.assertAlmostEqual(report["total"]["expected_mismatch_percent"], mean, places=9)

    def test_text(self):
        out, err = call("plan", MODEL)
        lines = out.decode().splitlines()
        self.assertEqual(err, "")
        self.assertIn("estimates, no board was measured", lines[1])
        total, = [line for line in lines if line.startswith("total: ")]
        report = plan()
        self.assertIn("estimated", total)
        for figure in (f"{report['total']['tasks']} tasks", f"{report['total']['bytes']:,} bytes",
                       f"{report['total']['estimated_ms']:.2f} ms"):
            self.assertIn(figure, total)
        header, others = [line for line in lines if line.startswith("op ")]
        self.assertIn("values", others)
        self.assertIn("est. ms", header)
        self.assertNotIn("measured", header)
        self.assertEqual(len([line for line in lines if " hw-multiply " in line]), 35)
        measured = call("plan", MODEL, "--image", PICTURE)[0].decode()
        self.assertIn("measured %", measured)

    def test_csv_has_the_figures_of_json(self):
        for options in ((), ("--image", PICTURE), ("--accuracy", "exact")):
            rows = list(csv.DictReader(io.StringIO(call("plan", MODEL, "--csv", *options)[0].decode())))
            layers = plan(*options)["layers"]
            self.assertGreater(len(rows), len(layers))  # other operators follow
            for row, layer in zip(rows, layers):
                self.assertNotIn(None, row)
                for key in ("op", "kind", "device", "strategy", "sets", *COST_KEYS[:4]):
                    self.assertEqual(row[key], str(layer[key]))
                self.assertAlmostEqual(float(row["estimated_ms"]), layer["estimated_ms"], delta=1e-5 * layer["estimated_ms"])
                for key in ("values", "differing", "max"):
                    self.assertEqual(float(row[key]), layer["certificate"][key])
                self.assertEqual(row["every_tie_reading"], str(int(layer["certificate"]["every_tie_reading"])))
                self.assertEqual(row["isolated_percent"] != "", "--image" in options)
                if "--image" in options:
                    self.assertAlmostEqual(float(row["isolated_percent"]), layer["isolated"]["percent"], places=5)

    def test_measured_figures_are_those_of_compare(self):
        for options in ((), ("--accuracy", "exact"), ("--strategy", "sorted-groups")):
            report = plan("--image", PICTURE, *options)
            other = json.loads(call("compare", MODEL, "--json", "--image", PICTURE, *options)[0])
            self.assertEqual([(layer["op"], layer["strategy"], layer["isolated"]) for layer in report["layers"]],
                             [(layer["op"], layer["strategy"], layer["isolated"]) for layer in other["layers"] if layer["macs"]])
            self.assertAlmostEqual(pooled(report)[0], other["isolated"]["percent"], places=9)

    def test_what_is_planned_is_what_runs(self):
        for options in ((), ("--accuracy", "exact"), ("--max-mismatch", "0.02"), ("--strategy", "hw-multiply", "--max-ratio", "4"),
                        ("--strategy", "groups", "--correction", "multiply"), *(("--strategy", name) for name in PER_AXIS)):
            report = plan(*options)
            run = json.loads(call("run", MODEL, "--device", "sim", "--json", "--image", PICTURE, *options)[0])
            self.assertEqual(report["total"]["tasks"], run["npu"]["tasks"], options)
            self.assertEqual([(layer["op"], layer["strategy"], layer["tasks"], layer["macs"]) for layer in report["layers"]],
                             [(layer["op"], layer["strategy"], layer["tasks"], layer["macs"]) for layer in run["layers"]])
            for layer, ran in zip(report["layers"], run["layers"]):
                for key in ("values", "differing", "max", "every_tie_reading"):
                    self.assertEqual(layer["certificate"][key], ran["certificate"][key])
            compiled = self.succeeds("compile", MODEL, "-o", "m.pax", *options).out.decode()
            self.assertIn(f" {report['total']['tasks']} tasks", compiled.replace(",", ""))

    def test_pareto(self):
        report = plan()
        points = report["pareto"]
        self.assertGreater(len(points), 10)
        for before, after in zip(points, points[1:]):
            self.assertLess(after["expected_mismatch_percent"], before["expected_mismatch_percent"])
            self.assertGreaterEqual(after["exact_layers"], before["exact_layers"])
        self.assertEqual((points[0]["exact_layers"], points[-1]["exact_layers"]), (0, 35))
        self.assertEqual(points[-1]["expected_mismatch_percent"], 0)
        exact = plan("--accuracy", "exact", "--convolutions-only")
        self.assertEqual(points[-1]["tasks"], exact["total"]["tasks"])
        self.assertAlmostEqual(points[-1]["estimated_ms"],
                               exact["total"]["estimated_ms"] - exact["other_operators"]["estimated_ms"], places=9)

    def test_the_same_every_time(self):
        for options in (("--image", PICTURE), ("--csv", "--image", PICTURE), ("--json", "--image", PICTURE),
                        ("--json", "--all-strategies")):
            outputs = {self.succeeds("plan", MODEL, *options, "--threads", threads).out for threads in ("1", "2", "1")}
            self.assertEqual(len(outputs), 1, options)


class AllStrategies(CliTest):
    def test_json(self):
        out, err = call("plan", MODEL, "--json", "--all-strategies")
        report = json.loads(out)
        self.assertEqual(list(report), ["model", "reference", "estimate", "inputs", "strategies", "warnings"])
        self.assertEqual([row["strategy"] for row in report["strategies"]], [*PER_AXIS, "fast", "exact"])
        for row in report["strategies"]:
            self.assertEqual(list(row), ROW_KEYS)
            for key in ROW_KEYS[1:]:
                self.assertIsInstance(row[key], (int, float), key)
        exact = rows_of()["exact"]
        self.assertEqual([exact[key] for key in ROW_KEYS[5:]], [0] * 5)
        self.assertEqual(report["inputs"], "synthetic")
        for name in ("two-scalar", "mesa-scale"):
            self.assertRegex(err, rf"{name} is left out: .*per-axis scales with ratio")
        self.assertIn("synthetic inputs", err)

    def test_given_inputs(self):
        out, err = call("plan", MODEL, "--json", "--all-strategies", "--image", PICTURE)
        self.assertEqual(json.loads(out)["inputs"], "given")
        self.assertNotIn("synthetic", err)

    def test_text_and_csv_have_the_figures_of_json(self):
        text = call("plan", MODEL, "--all-strategies")[0].decode()
        self.assertIn("estimates, no board was measured", text)
        self.assertIn("synthetic", text)
        rows = list(csv.DictReader(io.StringIO(call("plan", MODEL, "--all-strategies", "--csv")[0].decode())))
        self.assertEqual([row["strategy"] for row in rows], list(rows_of()))
        for row in rows:
            for key in ROW_KEYS[1:]:
                wanted = rows_of()[row["strategy"]][key]
                self.assertAlmostEqual(float(row[key]), wanted, delta=1e-5 * wanted)
            line, = [line.split() for line in text.splitlines() if line.startswith(row["strategy"] + " ")]
            self.assertEqual(line[1], f"{int(row['tasks']):,}")

    def test_rows_are_those_of_plans_and_runs(self):
        for name, row in rows_of("--image", PICTURE).items():
            options = () if name == "fast" else ("--strategy", name)
            report = plan("--image", PICTURE, *options)
            for key in ("tasks", "bytes", "mac_cycles", "estimated_ms", "expected_mismatch_percent"):
                self.assertAlmostEqual(row[key], report["total"][key], places=9)
            percent, largest = pooled(report)
            self.assertAlmostEqual(row["isolated_mismatch_percent"], percent, places=9)
            self.assertEqual(row["isolated_max"], largest)
            ends = json.loads(call("compare", MODEL, "--json", "--image", PICTURE, *options)[0])["end_to_end"]
            self.assertEqual(row["end_to_end_max"], max(end["max"] for end in ends))
            self.assertAlmostEqual(row["end_to_end_mean"], sum(end["mean"] * end["elements"] for end in ends) /
                                   sum(end["elements"] for end in ends), places=9)

    def test_layers_with_one_scale_have_every_row(self):
        """Equal weight scales: the strategies for one multiplier fit. LiteRT counts the differences again."""
        data = equal_scales_model()
        model = self.write("equal.tflite", data)
        x = np.random.default_rng(3).integers(-128, 128, (1, 7, 10, 3), dtype=np.int8)
        self.save("x.npy", x)
        outcome = self.succeeds("plan", model, "--json", "--all-strategies", "--input", "0=x.npy")
        self.assertEqual(outcome.err, b"")
        rows = {row["strategy"]: row for row in outcome.json()["strategies"]}
        self.assertEqual(set(rows), {*PER_AXIS, "two-scalar", "mesa-scale", "fast", "exact"})
        want, = litert(data, [x])
        for name, row in rows.items():
            options = () if name == "fast" else ("--strategy", name)
            self.succeeds("run", model, "--device", "sim", "--input", "0=x.npy", *options, "--output-dir", "o")
            off = np.abs(np.load(self.dir / "o" / "0.npy").astype(int) - want)
            self.assertEqual((row["isolated_max"], row["end_to_end_max"]), (off.max(), off.max()), name)
            self.assertAlmostEqual(row["isolated_mismatch_percent"], 100 * np.count_nonzero(off) / off.size, places=9)
            self.assertAlmostEqual(row["end_to_end_mean"], off.mean(), places=9)

    def test_models_without_convolutions(self):
        model = self.write("add.tflite", add_model())
        for row in self.succeeds("plan", model, "--json", "--all-strategies").json()["strategies"]:
            self.assertEqual((row["tasks"], row["isolated_mismatch_percent"], row["end_to_end_max"]), (0, 0, 0))
        report = self.succeeds("plan", model, "--json").json()
        self.assertEqual((report["layers"], report["total"]["tasks"]), ([], 0))


def equal_scales_model(dilation=1, bias=0, weight=None):
    """One convolution 3x3 whose weight scales are all the same."""
    rng = np.random.default_rng(11)
    m = ModelBuilder()
    x = m.tensor("x", (1, 7, 10, 3), scale=[1 / 255], zero_point=[-3])
    weights = rng.integers(-127, 128, (9, 3, 3, 3), dtype=np.int8) if weight is None else np.full((9, 3, 3, 3), weight, np.int8)
    y = m.conv(x, "only", weights, [0.013] * 9, rng.integers(-500, 500, 9, dtype=np.int32) + np.int32(bias), (1, 7, 10, 9), 0.1, 5)
    options = m.graph.operators[0].builtinOptions
    options.dilationHFactor = options.dilationWFactor = dilation
    return m.bytes([x], [y])


class Estimate(CliTest):
    """The time is made of the work and the constants, and of nothing else."""
    FIXED = ("--strategy", "hw-multiply")  # the same plan whatever the constants

    def total(self, *options, strategy=FIXED):
        return plan(*strategy, *options)["total"]

    def test_constants_are_reported(self):
        values = {name: 0.5 + 0.25 * n for n, name in enumerate(CONSTANTS)}
        options = [text for name, value in values.items() for text in ("--" + name.replace("_", "-"), str(value))]
        self.assertEqual(plan(*options)["estimate"], values)
        self.assertIn("clock 0.5 GHz, memory 0.75 GB/s, 1 us a task", call("plan", MODEL, *options)[0].decode())

    def test_tasks(self):
        base = self.total("--task-us", "0")
        for us in (1, 50, 1000):
            total = self.total("--task-us", str(us))
            self.assertAlmostEqual(total["estimated_npu_ms"], base["estimated_npu_ms"] + 1e-3 * us * total["tasks"], places=9)
            self.assertEqual(total["estimated_host_ms"], base["estimated_host_ms"])

    def test_clock(self):
        """With memory out of the way the multiplying is left: cycles over clock."""
        fast_memory = ("--bandwidth-gbs", "1000", "--task-us", "0")
        for ghz in (0.01, 0.02, 0.04):
            total = self.total(*fast_memory, "--clock-ghz", str(ghz), "--convolutions-only")
            self.assertAlmostEqual(total["estimated_npu_ms"], total["mac_cycles"] / ghz * 1e-6, places=9)
        times = [self.total("--clock-ghz", ghz)["estimated_ms"] for ghz in ("0.2", "0.6", "1", "10")]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertGreater(times[0], times[-1])

    def test_bandwidth(self):
        fast_clock = ("--clock-ghz", "10", "--task-us", "0")
        for gbs in (0.01, 0.02, 0.04):
            total = self.total(*fast_clock, "--bandwidth-gbs", str(gbs))
            self.assertAlmostEqual(total["estimated_npu_ms"], total["bytes"] / gbs * 1e-6, places=9)
        times = [self.total("--bandwidth-gbs", gbs)["estimated_ms"] for gbs in ("1", "10", "23.6", "1000")]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertGreater(times[0], times[-1])

    def test_host(self):
        """Each kind of host work has its own constant, and a stop is paid once a layer."""
        for strategy, name, ns, step_us in ((("--accuracy", "exact"), "--host-requantize-ns", 7, 300),
                                            (("--strategy", "max-scale"), "--host-requantize-ns", 0, 20),
                                            (("--strategy", "groups"), "--host-requantize-ns", 3, 0),
                                            (("--strategy", "groups", "--correction", "off"), "--host-copy-ns", 0.001, 0)):
            report = plan(*strategy, name, str(ns), "--host-step-us", str(step_us))
            stops = 0
            for layer in report["layers"]:
                stops += layer["estimated_host_ms"] > 0
                values = layer["host_values"]
                self.assertAlmostEqual(layer["estimated_host_ms"], values * ns * 1e-6 + step_us * 1e-3 if values else 0, places=12)
            self.assertGreater(stops, 3, strategy)

    def test_dear_gathering_leaves_sets_where_they_are(self):
        """Then consumers read the channels from their slots: other addresses, the same values."""
        gathered, dumps = [], []
        for ns, step_us in (("0.001", "0"), ("100", "10000")):
            options = ("--strategy", "exponent-classes", "--host-copy-ns", ns, "--host-step-us", step_us)
            gathered.append(sum(layer["host_values"] > 0 for layer in plan(*options)["layers"]))
            self.succeeds("run", MODEL, "--device", "sim", "--image", PICTURE, "--dump-tensors", "d.npz", *options)
            dumps.append(dict(np.load(self.dir / "d.npz")))
        self.assertGreater(gathered[0], gathered[1])
        self.assertEqual(set(dumps[0]), set(dumps[1]))
        for name, values in dumps[0].items():
            np.testing.assert_array_equal(values, dumps[1][name], name)

    def test_other_operators(self):
        for ns in (0, 2, 5):
            other = plan("--convolutions-only", "--host-element-ns", str(ns), "--host-step-us", "0")["other_operators"]
            self.assertGreater(other["host_values"], 0)
            self.assertAlmostEqual(other["estimated_ms"], other["host_values"] * ns * 1e-6, places=12)
        # The chain stops once for each operator of the CPU that reads what the NPU made.
        operators = json.loads(call("inspect", MODEL, "--json")[0])["operators"]
        made = {t["tensor"] for o in operators if o["kind"] == "conv_2d" for t in o["outputs"]}
        stops = sum(o["kind"] != "conv_2d" and any(t["tensor"] in made for t in o["inputs"]) for o in operators)
        times = [plan("--convolutions-only", "--host-step-us", us)["other_operators"]["estimated_ms"] for us in ("0", "1000")]
        self.assertAlmostEqual(times[1] - times[0], stops, places=9)
        self.assertEqual(plan()["other_operators"]["host_values"], 0)  # all of them run on the NPU

    def test_operators_on_the_npu_cost_tasks_and_bytes(self):
        report = plan("--task-us", "1000", "--bandwidth-gbs", "1", "--clock-ghz", "10")
        part = report["other_operators_on_npu"]
        # 3 poolings, a change of scale, and 3 surfaces resized; every join is in place, convolutions do the sums.
        self.assertEqual(part["tasks"], 7)
        self.assertEqual((part["mac_cycles"], part["host_values"], part["estimated_host_ms"]), (0, 0, 0))
        self.assertAlmostEqual(part["estimated_npu_ms"], part["tasks"] + part["bytes"] * 1e-6, places=9)
        none = plan("--convolutions-only")["other_operators_on_npu"]
        self.assertEqual([none[key] for key in COST_KEYS], [0] * len(COST_KEYS))

    def test_convolutions_on_the_cpu(self):
        model = self.write("dilated.tflite", equal_scales_model(dilation=33))
        for gmacs in (1, 10):
            report = self.succeeds("plan", model, "--json", "--host-gmacs", str(gmacs)).json()
            layer, = report["layers"]
            self.assertEqual((layer["device"], layer["strategy"], layer["tasks"], layer["sets"]), ("cpu", None, 0, 0))
            self.assertIn("dilation", layer["reason"])
            self.assertNotIn("certificate", layer)
            self.assertAlmostEqual(layer["estimated_ms"], layer["macs"] / gmacs * 1e-6, places=12)
            self.assertEqual(report["total"]["estimated_ms"], layer["estimated_ms"])
        self.assertIn("dilation", self.succeeds("plan", model).out.decode())
        row, = csv.DictReader(io.StringIO(self.succeeds("plan", model, "--csv").out.decode()))
        self.assertEqual((row["device"], row["strategy"], row["values"]), ("cpu", "", ""))

    def test_the_work_does_not_depend_on_the_constants(self):
        first = plan(*self.FIXED)["layers"]
        other = plan(*self.FIXED, "--clock-ghz", "0.3", "--bandwidth-gbs", "2", "--task-us", "0", "--host-step-us", "0")["layers"]
        for a, b in zip(first, other):
            for key in ("strategy", "sets", *COST_KEYS[:4], "certificate", "expected_mismatch_percent"):
                self.assertEqual(a[key], b[key])


class Certificates(CliTest):
    def test_range_of_accumulators(self):
        """From the weights alone: what any int8 input can add up to."""
        for bias, weight in ((0, None), (200000, 5), (-200000, 5)):
            data = equal_scales_model(bias=bias, weight=weight)
            report = self.succeeds("plan", self.write("m.tflite", data), "--json").json()
            rng = np.random.default_rng(11)
            weights = rng.integers(-127, 128, (9, 3, 3, 3), dtype=np.int8) if weight is None else np.full((9, 3, 3, 3), weight)
            biases = rng.integers(-500, 500, 9, dtype=np.int32) + bias
            w = weights.reshape(9, -1).astype(int)
            up, down = np.maximum(w, 0).sum(1), np.minimum(w, 0).sum(1)
            low, high = up * (-128 + 3) + down * (127 + 3) + biases, up * (127 + 3) + down * (-128 + 3) + biases
            certificate = report["layers"][0]["certificate"]
            self.assertEqual((certificate["acc_min"], certificate["acc_max"]), (low.min(), high.max()))
            self.assertEqual(certificate["values"], (high - low + 1).sum())


class Budget(CliTest):
    def test_nothing_may_differ(self):
        report = plan("--max-mismatch", "0", "--image", PICTURE)
        for layer in report["layers"]:
            self.assertEqual(layer["certificate"]["differing"], 0)
            self.assertEqual((layer["strategy"], layer["isolated"]["differing"]), ("exact", 0))
        self.assertEqual(report["max_mismatch_percent"], 0)
        exact = plan("--accuracy", "exact")
        self.assertEqual(report["total"]["tasks"], exact["total"]["tasks"])

    def test_everything_may_differ(self):
        """The cheapest plan: nothing that `auto` could choose costs less."""
        report = plan("--max-mismatch", "100", "--convolutions-only")
        self.assertEqual(report["total"]["tasks"], report["pareto"][0]["tasks"])
        cheapest = min(point["estimated_ms"] for point in report["pareto"])
        self.assertAlmostEqual(report["total"]["estimated_ms"] - report["other_operators"]["estimated_ms"], cheapest, places=9)
        for layer in report["layers"]:
            self.assertLessEqual(layer["certificate"]["max"], 1)

    def test_a_smaller_budget_never_costs_less(self):
        totals = []
        for percent in ("100", "0.1", "0.05", "0.02", "0.01", "0.005", "0"):
            report = plan("--max-mismatch", percent, "--image", PICTURE)
            totals.append(report["total"])
            measured, largest = pooled(report)
            self.assertLessEqual(measured, float(percent))
            self.assertLessEqual(largest, 1)
            self.assertLessEqual(report["total"]["expected_mismatch_percent"], float(percent))
        for before, after in zip(totals, totals[1:]):
            self.assertLessEqual(before["estimated_ms"], after["estimated_ms"] + 1e-9)
            self.assertGreaterEqual(before["expected_mismatch_percent"], after["expected_mismatch_percent"])

    def test_compiled_files_keep_it(self):
        report = plan("--max-mismatch", "0.02")
        self.succeeds("compile", MODEL, "-o", "m.pax", "--max-mismatch", "0.02")
        other = self.succeeds("inspect", "m.pax", "--json").json()
        self.assertEqual([layer["strategy"] for layer in report["layers"]], [layer["strategy"] for layer in other["layers"]])
        for options in (("--max-mismatch", "0.02"), ("--calibrate", "none.npz")):
            self.fails(2, "run", "m.pax", "--image", PICTURE, *options, says=["m.pax is already compiled", options[0]])


class Calibration(CliTest):
    def setUp(self):
        super().setUp()
        self.succeeds("run", MODEL, "--device", "cpu", "--image", PICTURE, "--dump-tensors", "d.npz")
        self.x = np.load(self.dir / "d.npz")["t0"]
        np.savez(self.dir / "c.npz", i0_0=self.x)

    def test_expected_is_what_is_measured_on_the_same_input(self):
        for options in ((), ("--max-mismatch", "0.02"), ("--strategy", "exponent-classes"), ("--strategy", "max-scale")):
            report = self.succeeds("plan", MODEL, "--json", "--image", PICTURE, "--calibrate", "c.npz", *options).json()
            measured = pooled(report)[0]
            self.assertLess(abs(np.log(report["total"]["expected_mismatch_percent"] / measured)), np.log(1.4), options)

    def test_a_budget_costs_less(self):
        """Without calibration the planner must guess, and guesses high for this network."""
        budget = ("--max-mismatch", "0.02", "--image", PICTURE)
        report = self.succeeds("plan", MODEL, "--json", "--calibrate", "c.npz", *budget).json()
        self.assertLess(report["total"]["estimated_ms"], plan(*budget)["total"]["estimated_ms"])
        self.assertLessEqual(pooled(report)[0], 0.02)

    def test_sets_and_files_add_up(self):
        other = np.random.default_rng(1).integers(-128, 128, self.x.shape, dtype=np.int8)
        np.savez(self.dir / "r.npz", i0_0=other)
        np.savez(self.dir / "both.npz", i0_0=self.x, i1_0=other)
        outputs = {self.succeeds("plan", MODEL, "--json", *options, "--threads", threads).out for threads in ("1", "2")
                   for options in (("--calibrate", "c.npz", "--calibrate", "r.npz"), ("--calibrate", "r.npz", "--calibrate", "c.npz"),
                                   ("--calibrate", "both.npz"))}
        self.assertEqual(len(outputs), 1)
        self.assertNotIn(self.succeeds("plan", MODEL, "--json", "--calibrate", "c.npz").out, outputs)

    def test_every_command_that_plans_takes_it(self):
        options = ("--max-mismatch", "0.02", "--calibrate", "c.npz")
        tasks = self.succeeds("plan", MODEL, "--json", *options).json()["total"]["tasks"]
        self.assertEqual(self.succeeds("run", MODEL, "--device", "sim", "--json", "--image", PICTURE, *options).json()["npu"]["tasks"],
                         tasks)
        self.assertIn(f" {tasks} tasks", self.succeeds("compile", MODEL, "-o", "m.pax", *options).out.decode())
        self.assertEqual(self.succeeds("compare", MODEL, "--json", "--image", PICTURE, *options).json()["npu"]["tasks"], tasks)
        rows = self.succeeds("plan", MODEL, "--json", "--all-strategies", "--image", PICTURE, "--calibrate", "c.npz").json()
        self.assertEqual([row["isolated_max"] for row in rows["strategies"] if row["strategy"] == "exact"], [0])

    def test_files_that_do_not_fit(self):
        self.fails(1, "plan", MODEL, "--calibrate", "none.npz", says="none.npz")
        self.write("broken.npz", b"PK\x03\x04 rubbish")
        self.fails(1, "plan", MODEL, "--calibrate", "broken.npz", says="broken.npz")
        self.write("empty.npz", b"")
        self.fails(1, "plan", MODEL, "--calibrate", "empty.npz", says="empty.npz")
        self.write("cut.npz", (self.dir / "c.npz").read_bytes()[:5000])
        self.fails(1, "plan", MODEL, "--calibrate", "cut.npz", says="cut.npz")
        for name, arrays, says in (("other", {"weights": self.x}, "i<set>_"), ("tensors", {"t0": self.x}, "i<set>_"),
                                   ("second", {"i0_1": self.x}, "i0_1"), ("shape", {"i0_0": self.x[:, 1:]}, "[1,159,160,3]"),
                                   ("type", {"i0_0": self.x.astype(np.float32)}, "float32"),
                                   ("outputs", {"o0_0": np.zeros((1, 10, 10, 27), np.int8)}, "outputs.npz")):
            np.savez(self.dir / f"{name}.npz", **arrays)
            self.fails(1, "plan", MODEL, "--json", "--calibrate", f"{name}.npz", says=[f"{name}.npz", says])
        self.fails(2, "plan", MODEL, "--calibrate", "", says="--calibrate")
        self.fails(2, "plan", MODEL, "--calibrate", says="--calibrate")


class WrongUsage(CliTest):
    def test_contradictions(self):
        for options, says in ((("--strategy", "exact", "--max-mismatch", "1"), ["--max-mismatch", "--strategy exact"]),
                              (("--accuracy", "exact", "--max-mismatch", "1"), ["--max-mismatch", "--accuracy exact"]),
                              (("--all-strategies", "--strategy", "exact"), ["--all-strategies", "--strategy"]),
                              (("--all-strategies", "--accuracy", "exact"), ["--all-strategies", "--accuracy"]),
                              (("--all-strategies", "--max-mismatch", "1"), ["--all-strategies", "--max-mismatch"]),
                              (("--json", "--csv"), ["--json", "--csv"])):
            self.fails(2, "plan", MODEL, *options, says=says)
        for command in (("run", MODEL, "--image", PICTURE), ("compare", MODEL, "--image", PICTURE), ("compile", MODEL, "-o", "m")):
            self.fails(2, *command, "--strategy", "groups", "--max-mismatch", "1", says="--strategy groups")
            self.fails(2, *command, "--accuracy", "exact", "--max-mismatch", "1", says="--accuracy exact")

    def test_values(self):
        for option, values in (("--max-mismatch", ("-1", "-0.001", "101", "100.5", "abc", "nan", "inf", "-inf", "1e400", "5%", "")),
                               ("--clock-ghz", ("0", "-1", "nan", "abc", "inf")), ("--bandwidth-gbs", ("0", "-1", "nan", "abc", "inf")),
                               ("--task-us", ("-1", "nan", "abc", "inf")), ("--host-step-us", ("-1", "nan")),
                               ("--host-copy-ns", ("-1", "nan")), ("--host-requantize-ns", ("-1", "nan")),
                               ("--host-element-ns", ("-1", "nan")), ("--host-gmacs", ("0", "-1", "nan")),
                               ("--max-ratio", ("0.5", "nan", "abc")), ("--hybrid-ratio", ("0.5", "nan", "abc")),
                               ("--group-size", ("0", "-1", "nan", "1.5", "10000")), ("--threads", ("-1", "257", "nan", "x")),
                               ("--strategy", ("magic",)), ("--accuracy", ("perfect",)), ("--reference", ("mine",)),
                               ("--correction", ("maybe",))):
            for value in values:
                with self.subTest(option=option, value=value):
                    self.fails(2, "plan", MODEL, f"{option}={value}", says=option)

    def test_an_executable_has_its_plan(self):
        self.succeeds("compile", MODEL, "-o", "m.pax")
        self.fails(1, "plan", "m.pax", says=["m.pax", "executable"])
        for options in (("--max-mismatch", "1"), ("--calibrate", "c.npz"), ("--strategy", "exact"), ("--accuracy", "exact"),
                        ("--group-size", "32"), ("--correction", "off"), ("--vendor-factors",), ("--bias-rescale",),
                        ("--clock-ghz", "0.5"), ("--task-us", "0")):
            with self.subTest(options=options):
                self.fails(2, "run", "m.pax", "--device", "sim", "--image", PICTURE, *options, says=["m.pax", options[0]])

    def test_no_or_unknown_options(self):
        self.fails(2, "plan")
        self.fails(2, "plan", MODEL, "--output-dir", "x")
        self.fails(2, "plan", MODEL, MODEL)
        self.fails(2, "plan", MODEL, "--input", "0")
        self.fails(2, "plan", MODEL, "--input", "7=x.npy", says="7=x.npy")
        self.fails(2, "plan", MODEL, "--max-mismatch", "1", "--max-mismatch", "2", says="--max-mismatch")

    def test_help(self):
        text = self.succeeds("plan", "--help").out.decode()
        for option in ("--input", "--image", "--all-strategies", "--max-mismatch", "--calibrate", "--csv", "--json", "--clock-ghz",
                       "--bandwidth-gbs", "--task-us", "--host-gmacs", "--threads"):
            self.assertIn(option, text)
        self.assertIn("plan", self.succeeds("--help").out.decode())


class HostileFiles(CliTest):
    def test_files_that_are_no_models(self):
        self.fails(1, "plan", "none.tflite", says="none.tflite")
        self.fails(1, "plan", str(self.dir), says=str(self.dir))
        self.fails(1, "plan", "")
        os.mkfifo(self.dir / "pipe")
        self.fails(1, "plan", "pipe", says="pipe")
        for name, data in (("a.tflite", b""), ("b.tflite", png(np.zeros((2, 2, 3)))), ("c.tflite", os.urandom(5000))):
            self.write(name, data)
            for options in ((), ("--json",), ("--all-strategies", "--csv")):
                self.fails(1, "plan", name, *options, says=name)

    def test_inputs(self):
        self.fails(1, "plan", MODEL, "--image", "none.png", says="none.png")
        self.fails(1, "plan", MODEL, "--input", "0=none.npy", says="none.npy")
        self.save("shape.npy", np.zeros((1, 4, 4, 3), np.int8))
        self.fails(1, "plan", MODEL, "--input", "0=shape.npy", says="[1,4,4,3]")

    def test_damaged_models(self):
        """Cut off or with bits flipped: read, or refused with a sentence; never a crash and never half an answer."""
        data = conv_model()
        for size in (8, 40, len(data) // 3, len(data) // 2, len(data) - 1):
            self.fails(1, "plan", self.write("t.tflite", data[:size]), says="t.tflite")
        rng = np.random.default_rng(2)
        refused = 0
        for _ in range(60):
            damaged = bytearray(data)
            for at in rng.integers(0, len(data), rng.integers(1, 5)):
                damaged[at] ^= 1 << rng.integers(8)
            self.write("d.tflite", bytes(damaged))
            for options in (("--json",), ("--json", "--all-strategies")):
                outcome = self.peraxis("plan", "d.tflite", *options)
                if outcome.code == 0:
                    self.assertIn("estimate", outcome.json())
                    continue
                refused += 1
                self.assertEqual((outcome.code, outcome.out), (1, b""))
                self.assertRegex(outcome.err.decode(errors="replace"), r"^peraxis: error: \S+")
                self.assertNotIn(b"terminate", outcome.err)
        self.assertGreater(refused, 5)

    def test_stdout_that_is_full(self):
        if os.path.exists("/dev/full"):
            for options in (("--json",), ("--csv",), ()):
                with open("/dev/full", "wb") as full:
                    outcome = self.peraxis("plan", MODEL, *options, stdout=full)
                self.assertEqual(outcome.code, 1)
                self.assertIn(b"stdout", outcome.err)


if __name__ == "__main__":
    unittest.main()
