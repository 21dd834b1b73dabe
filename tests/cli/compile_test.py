"""What `compile --json` and `plan --json` say of the executable: partitions, crossings, memory."""
import os
import pathlib
import unittest

import numpy as np
from harness import CliTest, ModelBuilder, conv_model, litert, schema

Builtin, Options = schema.BuiltinOperator, schema.BuiltinOptions
SHAPE = (1, 6, 5, 32)
SHARED = pathlib.Path(os.environ.get("PERAXIS_SHARED") or pathlib.Path(__file__).resolve().parents[3] / "shared")
REPORTED = SHARED / "models" / "reports" / "e07_cpu_chain_compiled_softmax20.tflite"


def convolution(m, source, name, seed):
    rng = np.random.default_rng(seed)
    return m.conv(source, name, rng.integers(-127, 128, (32, 1, 1, 32), dtype=np.int8), [0.01] * 32, np.zeros(32, np.int32), SHAPE,
                  0.5, 0)


def copied(m, source, name):
    """A GATHER of all channels: the CPU's."""
    indices = m.tensor(name + "/indices", (32,), schema.TensorType.INT32, scale=(), zero_point=(), data=np.arange(32, dtype=np.int32))
    out = m.tensor(name, SHAPE, scale=[0.5])
    options = schema.GatherOptionsT()
    options.axis = 3
    m.op(Builtin.GATHER, [source, indices], [out], Options.GatherOptions, options)
    return out


def alternating():
    """NPU: two convolutions, the halves of the second, their sum. CPU: a copy. NPU: a convolution. CPU: a copy."""
    m = ModelBuilder()
    x = m.tensor("x", SHAPE, scale=[0.5])
    b = convolution(m, convolution(m, x, "a", 1), "b", 2)
    axis = m.tensor("axis", (1,), schema.TensorType.INT32, scale=(), zero_point=(), data=np.array([3], np.int32))
    halves = [m.tensor(f"half{i}", (1, 6, 5, 16), scale=[0.5]) for i in range(2)]
    options = schema.SplitOptionsT()
    options.numSplits = 2
    m.op(Builtin.SPLIT, [axis, b], halves, Options.SplitOptions, options)
    options = schema.ConcatenationOptionsT()
    options.axis = 3
    joined = m.tensor("joined", SHAPE, scale=[0.5])
    m.op(Builtin.CONCATENATION, halves[::-1], [joined], Options.ConcatenationOptions, options)
    d = convolution(m, copied(m, joined, "copy"), "d", 3)
    return m.bytes([x], [copied(m, d, "end")])


def softmaxes(count):
    """Operators of the CPU one after the other, all there for the same reason."""
    m = ModelBuilder()
    maps = [m.tensor(f"t{i}", (1, 4), scale=[1 / 256], zero_point=[-128]) for i in range(count + 1)]
    for source, target in zip(maps, maps[1:]):
        options = schema.SoftmaxOptionsT()
        options.beta = 1.0
        m.op(Builtin.SOFTMAX, [source], [target], Options.SoftmaxOptions, options)
    return m.bytes([maps[0]], [maps[-1]])


class CompiledFiles(CliTest):
    def test_every_file_that_compile_writes_can_be_read(self):
        model = self.write("m.tflite", softmaxes(300))
        report = self.succeeds("compile", model, "-o", "m.pax", "--json").json()
        self.assertEqual(len(report["operators"]), 300)
        self.assertLess(len({o["reason"] for o in report["operators"]}), 3)
        self.assertEqual(self.succeeds("inspect", "m.pax", "--json").json()["kind"], "executable")
        x = np.array([[-128, -20, 7, 127]], np.int8)
        self.save("x.npy", x)
        self.succeeds("run", "m.pax", "--input", "0=x.npy", "--output-dir", "o")
        np.testing.assert_array_equal(np.load(self.dir / "o/0.npy"), litert(softmaxes(300), [x])[0])
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["m.pax", "m.tflite", "o", "x.npy"])

    def test_reported_chain(self):
        """A report's model, with LiteRT's outputs beside it."""
        if not REPORTED.exists():
            self.skipTest(f"no {REPORTED}")
        self.succeeds("compile", str(REPORTED), "-o", "m.pax", "--accuracy", "exact")
        golden = np.load(REPORTED.with_suffix(".npz"))
        self.save("x.npy", golden["i0_0"])
        self.succeeds("run", "m.pax", "--input", "0=x.npy", "--output-dir", "o")
        np.testing.assert_array_equal(np.load(self.dir / "o/0.npy"), golden["o0_0"])

    def test_a_file_that_cannot_be_written_leaves_nothing(self):
        model = self.write("m.tflite", softmaxes(3))
        self.fails(1, "compile", model, "-o", "none/m.pax", says=["none/m.pax"])
        self.assertEqual([p.name for p in self.dir.iterdir()], ["m.tflite"])


class PlacedProgram(CliTest):
    def test_it_is_printed_with_or_without_a_file(self):
        model = self.write("m.tflite", alternating())
        text = self.succeeds("compile", model, "--print-program").out.decode()
        self.assertTrue(text.startswith('program "'), text[:40])
        report = self.succeeds("compile", model, "-o", "m.pax", "--json").json()
        for word, count in (("task", report["tasks"]), ("step", report["steps"])):
            self.assertEqual(sum(line.startswith(word + " ") for line in text.splitlines()), count, word)
        operators = [line for line in text.splitlines() if line.startswith("operator ")]
        self.assertEqual(sum("variant(cpu)" in line for line in operators),
                         sum(o["device"] == "cpu" for o in report["layers"] + report["operators"]))
        self.assertEqual(self.succeeds("compile", model, "-o", "n.pax", "--print-program").out.decode(), text)
        self.assertEqual((self.dir / "n.pax").read_bytes(), (self.dir / "m.pax").read_bytes())

    def test_one_of_both_is_wanted(self):
        model = self.write("m.tflite", alternating())
        self.fails(2, "compile", model, says=["--output is required, or --print-program"])
        self.fails(2, "compile", model, "--print-program", "--json")


class CompileReport(CliTest):
    def test_partitions_and_crossings(self):
        model = self.write("m.tflite", alternating())
        for options, partitions in (([], 2), (["--accuracy", "exact"], 2), (["--convolutions-only"], 2)):
            report = self.succeeds("compile", model, *options, "-o", "m.pax", "--json").json()
            devices = {o["op"]: o["device"] for o in report["layers"] + report["operators"]}
            order = ["cpu", *(devices[op] for op in sorted(devices)), "cpu"]
            crossings = sum(a != b for a, b in zip(order, order[1:]))
            self.assertEqual((report["partitions"], report["crossings"]), (partitions, crossings), options)
            self.assertEqual(crossings, 2 * partitions)
            self.assertEqual([devices[op] for op in sorted(devices)],
                             ["npu", "npu", *["cpu" if "--convolutions-only" in options else "npu"] * 2, "cpu", "npu", "cpu"])

    def test_the_file_is_what_the_report_says(self):
        for data in (alternating(), conv_model(channels=(16, 70, 40), size=(40, 30))):
            model = self.write("m.tflite", data)
            for options in ([], ["--accuracy", "exact"], ["--strategy", "groups"]):
                report = self.succeeds("compile", model, *options, "-o", "m.pax", "--json").json()
                plan = self.succeeds("plan", model, *options, "--json").json()
                for key in ("partitions", "crossings", "memory"):
                    self.assertEqual(report[key], plan[key])
                inspected = self.succeeds("inspect", "m.pax", "--json").json()
                self.assertEqual(report["bytes"], (self.dir / "m.pax").stat().st_size)
                self.assertEqual(report["tasks"], len(inspected["tasks"]))
                self.assertEqual(report["steps"], inspected["steps"])
                self.assertEqual(report["command_words"], sum(task["words"] for task in inspected["tasks"]))
                self.assertEqual({b["name"]: b["bytes"] for b in report["buffers"]},
                                 {b["name"]: b["bytes"] for b in inspected["buffers"]})
                self.assertEqual(report["memory"]["activation_bytes"],
                                 sum(b["bytes"] for b in inspected["buffers"] if b["kind"] == "activations"))
                self.assertEqual(report["layers"], inspected["layers"])
                self.assertEqual(report["operators"], inspected["operators"])

    def test_uploads(self):
        """A picture of 3 channels is uploaded as it lies, rows of a multiple of 16 pixels; the switch makes a cube of it."""
        model = self.write("m.tflite", conv_model(channels=(3, 8, 5), size=(9, 20)))
        for options, form, size, version in (([], "packed", 9 * 32 * 3, 2), (["--no-packed-input"], "cube", 9 * 20 * 16, 1)):
            want = [{"tensor": 0, "name": "x", "form": form, "bytes": size}]
            report = self.succeeds("compile", model, *options, "-o", "m.pax", "--json").json()
            self.assertEqual(report["uploads"], want)
            self.assertEqual(self.succeeds("plan", model, *options, "--json").json()["uploads"], want)
            inspected = self.succeeds("inspect", "m.pax", "--json").json()
            self.assertEqual((inspected["uploads"], inspected["format_version"]), (want, version))
            for command in (["plan", model, *options], ["compile", model, *options, "-o", "m.pax"], ["inspect", "m.pax"]):
                self.assertIn(f"uploads: 'x' {form}, {size:,} bytes\n", self.succeeds(*command).out.decode())

    def test_a_picture_costs_its_own_bytes(self):
        model = self.write("m.tflite", conv_model(channels=(3, 8, 5), size=(40, 64)))
        packed, cube = (self.succeeds("plan", model, *options, "--json").json()["layers"][0]["bytes"]
                        for options in ([], ["--no-packed-input"]))
        self.assertEqual(cube - packed, 40 * 64 * (16 - 3))
    def test_conversions_are_those_of_the_file(self):
        """Operators of the CPU take cubes: what is left are the model's input and output. With `--dense-cpu` none does."""
        model = self.write("m.tflite", alternating())
        for options in ([], ["--convolutions-only"], ["--accuracy", "exact", "--convolutions-only"]):
            found = {}
            for dense in (False, True):
                flags = [*options, "--dense-cpu"] if dense else options
                report = self.succeeds("compile", model, *flags, "-o", f"{dense}.pax", "--json").json()
                self.assertEqual(report["conversions"], self.succeeds("plan", model, *flags, "--json").json()["conversions"])
                found[dense] = report["conversions"]
                inspected = self.succeeds("inspect", f"{dense}.pax", "--json").json()
                kinds = inspected["steps_by_kind"]
                self.assertEqual(inspected["format_version"], 1 if dense else 2)
                self.assertEqual(found[dense]["uploads"], kinds.get("upload", 0))
                self.assertEqual(found[dense]["downloads"], kinds.get("download", 0))
                self.assertEqual(found[dense]["cpu_operators_on_cubes"] + found[dense]["cpu_operators_dense"], kinds["cpu"])
                self.assertEqual(report["memory"]["device_bytes"], sum(b["bytes"] for b in report["buffers"]))
            self.assertEqual(found[True]["cpu_operators_on_cubes"], 0)
            self.assertGreater(found[False]["cpu_operators_on_cubes"], 0)
            self.assertLessEqual(found[False]["uploads"] + found[False]["downloads"], 2)
            self.assertGreaterEqual(found[True]["uploads"] + found[True]["downloads"], 4)

    def test_the_largest_live_set_is_a_floor(self):
        """A task's input and output are alive at once: channels in 16s, a byte each; `exact` makes int32 sums first."""
        model = self.write("m.tflite", conv_model(channels=(16, 64, 32), size=(40, 30)))
        for accuracy, output_bytes in (("fast", 1), ("exact", 4)):
            memory = self.succeeds("compile", model, "--accuracy", accuracy, "-o", "m.pax", "--json").json()["memory"]
            self.assertGreaterEqual(memory["largest_live_bytes"], 40 * 30 * (16 + 64 * output_bytes))
            self.assertLessEqual(memory["largest_live_bytes"], memory["activation_bytes"])
            self.assertLess(memory["largest_live_bytes"], 40 * 30 * 2 * (16 + 64 + 64 * output_bytes))

    def test_text(self):
        model = self.write("m.tflite", alternating())
        for command in (["plan", model], ["compile", model, "-o", "m.pax"]):
            self.assertRegex(self.succeeds(*command).out.decode(),
                             r"2 partitions on the NPU, 4 crossings, \d+ uploads?, \d+ downloads?\n"
                             r"memory of the device: [\d,]+ bytes, of it [\d,]+ for activations \(at most [\d,]+ of them alive "
                             r"at once\)\n\d+ operators? on the CPU, \d+ of them on the NPU's layout\n")


if __name__ == "__main__":
    unittest.main()
