"""Where convolutions run, and why: inspect, compile and the progress display."""
import os
import pty
import subprocess
import unittest

from harness import BINARY, CliTest, ModelBuilder, conv_model, np


def dilated_model():
    """Two 3x3 convolutions; the second has a dilation that the NPU does not take."""
    rng = np.random.default_rng(5)
    m = ModelBuilder()
    x = m.tensor("x", (1, 7, 10, 3), scale=[1 / 255], zero_point=[-128])
    for name, depth, count in (("first", 3, 17), ("second", 17, 9)):
        weights = rng.integers(-127, 128, (count, 3, 3, depth), dtype=np.int8)
        x = m.conv(x, name, weights, [0.01] * count, np.zeros(count, np.int32), (1, 7, 10, count), 0.5, 3)
    options = m.graph.operators[-1].builtinOptions
    options.dilationHFactor, options.dilationWFactor = 1, 33
    return m.bytes([0], [x])


class Devices(CliTest):
    REASON = "dilation 1x33 exceeds 32 columns"

    def test_inspect_says_where_and_why(self):
        model = self.write("m.tflite", dilated_model())
        operators = self.succeeds("inspect", model, "--json").json()["operators"]
        self.assertEqual([(o["device"], o["reason"]) for o in operators], [("npu", None), ("cpu", self.REASON)])
        text = self.succeeds("inspect", model).out.decode()
        self.assertRegex(text, rf"conv_2d 1 'second' on cpu: {self.REASON}")

    def test_inspect_of_a_model_all_on_the_npu(self):
        text = self.succeeds("inspect", self.write("m.tflite", conv_model())).out.decode()
        self.assertNotIn("on cpu", text)

    def test_compile_lists_the_cpu(self):
        model = self.write("m.tflite", dilated_model())
        text = self.succeeds("compile", model, "-o", "m.pax").out.decode()
        self.assertIn("1 of 2 convolutions run on the CPU", text)
        self.assertIn(self.REASON, text)
        self.fails(1, "compile", model, "-o", "m.pax", "--no-fallback", says=self.REASON)

    def test_steps_of_an_executable(self):
        """A convolution on the NPU, then one on the CPU, whose kernel takes a dense array."""
        self.succeeds("compile", self.write("m.tflite", dilated_model()), "-o", "m.pax")
        report = self.succeeds("inspect", "m.pax", "--json").json()
        steps = report["step_list"]
        self.assertEqual(len(steps), report["steps"])
        self.assertEqual([(s["kind"], s["op"], s["after"]) for s in steps],
                         [("upload", None, []), ("job", None, [0]), ("download", None, [1]), ("cpu", 1, [2])])
        self.assertEqual((steps[1]["first_task"], steps[1]["tasks"]), (0, len(report["tasks"])))
        self.assertEqual(steps[1]["completes"][0]["task"], len(report["tasks"]) - 1)
        self.assertEqual(steps[0]["frees"], [0], "the input's array ends with its upload")
        text = self.succeeds("inspect", "m.pax").out.decode()
        self.assertRegex(text, r"waits for +completes +frees")
        self.assertRegex(text, r" 3 +cpu +conv_2d 1 +2 ")

    def test_dump_of_a_device_run(self):
        model = self.write("m.tflite", dilated_model())
        self.save("x.npy", np.arange(210, dtype=np.uint8).view(np.int8).reshape(1, 7, 10, 3))
        for threads in ("1", "3"):
            self.succeeds("run", model, "--device", "sim", "--accuracy", "exact", "--input", "0=x.npy", "--threads",
                          threads, "--dump-tensors", "d.npz")
            dump = np.load(self.dir / "d.npz")
            self.assertEqual(set(dump.files), {"t0", "t3", "t6", "removed"})
            self.assertEqual(dump["removed"].size, 0)
            report = self.succeeds("compare", model, "--dump", "d.npz", "--json").json()
            self.assertEqual([layer["accumulated"]["differing"] for layer in report["layers"]], [0, 0])


class ProgressDisplay(CliTest):
    def test_only_on_a_terminal(self):
        model = self.write("m.tflite", conv_model())
        self.assertEqual(self.succeeds("compile", model, "-o", "m.pax").err, b"")
        master, slave = pty.openpty()
        done = subprocess.run([BINARY, "compile", model, "-o", "m.pax"], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=slave, check=True, timeout=60)
        os.close(slave)
        shown = os.read(master, 4096)
        os.close(master)
        self.assertIn(b"compiling operators 0/2", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "the line is erased at the end")
        self.assertNotIn(b"compiling operators", done.stdout)


if __name__ == "__main__":
    unittest.main()
