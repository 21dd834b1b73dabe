"""Warnings: a line on stderr and an entry of "warnings" in the JSON of every command that reads a model."""
import unittest

import numpy as np
from harness import CliTest, ModelBuilder, schema

Builtin, Options = schema.BuiltinOperator, schema.BuiltinOptions
ROWS, COLUMNS = 4, 5


def joined(m, parts, name, shape, scale, zero_point, dtype=schema.TensorType.INT8, axis=3):
    out = m.tensor(name, shape, dtype, scale=[scale], zero_point=[zero_point])
    options = schema.ConcatenationOptionsT()
    options.axis = axis
    m.op(Builtin.CONCATENATION, parts, [out], Options.ConcatenationOptions, options)
    return out


def convolution(m, source, name, channels, scale, zero_point, seed, activation=0):
    rng = np.random.default_rng(seed)
    out = m.conv(source, name, rng.integers(-127, 128, (channels, 1, 1, 8), dtype=np.int8), [0.01] * channels,
                 np.zeros(channels, np.int32), (1, ROWS, COLUMNS, channels), scale, zero_point)
    m.graph.operators[-1].builtinOptions.fusedActivationFunction = activation
    return out


def detector(common_scale, copies=1):
    """Boxes and the LOGISTIC of class scores in one output, as exporters join them: through QUANTIZE, and copies on the way."""
    m = ModelBuilder()
    x = m.tensor("x", (1, ROWS, COLUMNS, 8), scale=[0.05])
    boxes = convolution(m, x, "boxes", 16, common_scale, -10, 1)
    logits = convolution(m, x, "logits", 3, 0.1, 0, 2)
    scores = m.tensor("scores", (1, ROWS, COLUMNS, 3), scale=[1 / 256], zero_point=[-128])
    m.op(Builtin.LOGISTIC, [logits], [scores], 0, None)
    last = scores
    for i in range(copies):
        shape = m.tensor(f"shape{i}", (4,), schema.TensorType.INT32, scale=(), zero_point=(),
                         data=np.array([1, ROWS, COLUMNS, 3], np.int32))
        copy = m.tensor(f"copy{i}", (1, ROWS, COLUMNS, 3), scale=[1 / 256], zero_point=[-128])
        m.op(Builtin.RESHAPE, [last, shape], [copy], Options.ReshapeOptions, schema.ReshapeOptionsT())
        last = copy
    same = m.tensor("same", (1, ROWS, COLUMNS, 3), scale=[common_scale], zero_point=[-10])
    m.op(Builtin.QUANTIZE, [last], [same], 0, None)
    out = joined(m, [boxes, same], "detections", (1, ROWS, COLUMNS, 19), common_scale, -10)
    return m.bytes([x], [out])


class Warnings(CliTest):
    def warned(self, model):
        """What `inspect` says of a model, the same both ways."""
        outcome = self.succeeds("inspect", self.write("w.tflite", model), "--json")
        warnings = outcome.json()["warnings"]
        self.assertEqual(outcome.err.decode(), "".join(f"warning: {text}\n" for text in warnings))
        return warnings

    def test_scores_beside_boxes(self):
        (text,) = self.warned(detector(2.5))
        self.assertRegex(text, r"^concatenation \d+ 'detections': input 1 \('same', values 0 to 0\.996\d?\) has 1 of 256 levels in the "
                               r"common scale 2\.5; this is the model's own loss: give the values of logistic 2 'scores' an output")

    def test_the_limit_is_8_levels(self):
        for scale, count in ((1 / 6.4, 1), (1 / 7, 0)):  # 7 levels, 8 levels
            with self.subTest(scale=scale):
                self.assertEqual(len(self.warned(detector(scale))), count)
        self.assertIn("has 7 of 256 levels", self.warned(detector(1 / 6.4))[0])

    def test_the_levels_are_those_the_reference_kernels_give(self):
        """Every logit there is, through LiteRT: so many values come out."""
        from harness import litert
        for scale in (2.5, 1 / 3, 1 / 6.4):
            m = ModelBuilder()
            x = m.tensor("x", (1, 16, 16, 1), scale=[0.1])
            scores = m.tensor("scores", (1, 16, 16, 1), scale=[1 / 256], zero_point=[-128])
            m.op(Builtin.LOGISTIC, [x], [scores], 0, None)
            same = m.tensor("same", (1, 16, 16, 1), scale=[scale], zero_point=[-10])
            m.op(Builtin.QUANTIZE, [scores], [same], 0, None)
            other = m.tensor("other", (1, 16, 16, 1), scale=[scale], zero_point=[-10])
            out = joined(m, [other, same], "out", (1, 16, 16, 2), scale, -10)
            model = m.bytes([x, other], [out])
            every = np.arange(-128, 128, dtype=np.int8).reshape(1, 16, 16, 1)
            levels = len(np.unique(litert(model, [every, every])[0][..., 1]))
            self.assertIn(f"has {levels} of 256 levels", self.warned(model)[0])

    def test_a_fused_activation_bounds_the_values(self):
        for activation, count in ((3, 1), (0, 0)):  # RELU6
            m = ModelBuilder()
            x = m.tensor("x", (1, ROWS, COLUMNS, 8), scale=[0.05])
            boxes = convolution(m, x, "boxes", 16, 2.5, -10, 1)
            bounded = convolution(m, x, "bounded", 3, 2.5, -10, 2, activation)
            model = m.bytes([x], [joined(m, [boxes, bounded], "out", (1, ROWS, COLUMNS, 19), 2.5, -10)])
            warnings = self.warned(model)
            self.assertEqual(len(warnings), count)
            if count:
                self.assertIn("values 0 to 6) has 3 of 256 levels", warnings[0])
                self.assertIn("conv_2d 1 'bounded'", warnings[0])

    def test_uint8_inputs_have_scales_of_their_own(self):
        m = ModelBuilder()
        u8 = schema.TensorType.UINT8
        wide = m.tensor("wide", (1, 2, 2, 4), u8, scale=[2.0], zero_point=[10])
        narrow = m.tensor("narrow", (1, 2, 2, 4), u8, scale=[0.01], zero_point=[0])
        constant = m.tensor("constant", (1, 2, 2, 1), u8, scale=[0.01], zero_point=[0], data=np.arange(4, dtype=np.uint8))
        out = joined(m, [wide, narrow, constant], "out", (1, 2, 2, 9), 2.0, 10, u8)
        (text,) = self.warned(m.bytes([wide, narrow], [out]))
        self.assertIn("input 1 ('narrow', values 0 to 2.55) has 2 of 256 levels", text)
        self.assertIn("the values of the model's input", text)

    def test_every_command_reports_them(self):
        model = self.write("d.tflite", detector(2.5, copies=2))
        (text,) = self.succeeds("inspect", model, "--json").json()["warnings"]
        self.save("x.npy", np.zeros((1, ROWS, COLUMNS, 8), np.int8))
        for command in (["inspect", model], ["plan", model], ["compile", model, "-o", "d.pax"], ["inspect", "d.pax"], ["ops", model],
                        ["run", model, "--device", "sim", "--input", "0=x.npy"], ["run", model, "--device", "cpu", "--input", "0=x.npy"],
                        ["run", "d.pax", "--device", "sim", "--input", "0=x.npy"], ["compare", model, "--input", "0=x.npy"],
                        ["plan", model, "--all-strategies", "--input", "0=x.npy"]):
            with self.subTest(command=command):
                outcome = self.succeeds(*command, "--json")
                warnings = outcome.json()["warnings"]
                self.assertIn(text, warnings)
                for warning in warnings:
                    self.assertIn(f"warning: {warning}\n", outcome.err.decode())
                plain = self.succeeds(*command)
                self.assertIn(f"warning: {text}\n", plain.err.decode())
                self.assertNotIn(b"warning: ", plain.out)

    def test_a_strategy_that_does_not_fit_is_a_warning_everywhere(self):
        m = ModelBuilder()
        x = m.tensor("x", (1, ROWS, COLUMNS, 8), scale=[0.05])
        rng = np.random.default_rng(3)
        y = m.conv(x, "y", rng.integers(-127, 128, (4, 1, 1, 8), dtype=np.int8), [0.001, 0.5, 0.002, 0.01], np.zeros(4, np.int32),
                   (1, ROWS, COLUMNS, 4), 0.3, 0)
        model = self.write("s.tflite", m.bytes([x], [y]))
        self.save("x.npy", np.zeros((1, ROWS, COLUMNS, 8), np.int8))
        way = ["--strategy", "two-scalar"]
        texts = set()
        for command in (["plan", model], ["compile", model, "-o", "s.pax"], ["ops", model], ["compare", model, "--input", "0=x.npy"],
                        ["run", model, "--device", "sim", "--input", "0=x.npy"]):
            outcome = self.succeeds(*command, *way, "--json")
            (text,) = outcome.json()["warnings"]
            self.assertIn(f"warning: {text}\n", outcome.err.decode())
            texts.add(text)
        self.assertEqual(len(texts), 1)
        self.assertRegex(texts.pop(), "^conv_2d 0 'y' runs by exact: two-scalar cannot express it")


if __name__ == "__main__":
    unittest.main()
