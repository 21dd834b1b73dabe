"""peraxis run --image and --head: how a picture becomes the values of an input, and outputs that are read without a picture."""
import itertools
import unittest

import flatbuffers
import numpy as np
from harness import CliTest, ModelBuilder, conv_model, litert, png, schema
from labels_test import detection_model

Builtin, Options, Type = schema.BuiltinOperator, schema.BuiltinOptions, schema.TensorType
ROWS, COLUMNS = 5, 6
# Range of the real values -> (scale and zero point in int8, reals of all pixel values).
RANGES = {"0..1": (1 / 255, -128, lambda p: p / 255), "-1..1": (0.0078431377, -1, lambda p: p / 127.5 - 1),
          "0..255": (1.0, -128, lambda p: p), "-128..127": (1.0, 0, lambda p: p - 128.0)}


def quantizing(scale, zero_point, channels_first):
    """A float input, through a TRANSPOSE when its channels come first, to int8: the front of today's exports."""
    m = ModelBuilder()
    shape = (1, 3, ROWS, COLUMNS) if channels_first else (1, ROWS, COLUMNS, 3)
    x = last = m.tensor("x", shape, Type.FLOAT32, scale=(), zero_point=())
    if channels_first:
        order = m.tensor("order", (4,), Type.INT32, scale=(), zero_point=(), data=np.array([0, 2, 3, 1], np.int32))
        last = m.tensor("moved", (1, ROWS, COLUMNS, 3), Type.FLOAT32, scale=(), zero_point=())
        m.op(Builtin.TRANSPOSE, [x, order], [last], Options.TransposeOptions, schema.TransposeOptionsT())
    out = m.tensor("out", (1, ROWS, COLUMNS, 3), scale=[scale], zero_point=[zero_point])
    m.op(Builtin.QUANTIZE, [last], [out], 0, None)
    return m.bytes([x], [out])


def packed(model):
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


class Pictures(CliTest):
    def setUp(self):
        super().setUp()
        self.pixels = np.random.default_rng(3).integers(0, 256, (ROWS, COLUMNS, 3), dtype=np.uint8)
        self.write("p.png", png(self.pixels))

    def test_floats_get_the_range_that_the_model_quantizes(self):
        for (name, (scale, zero_point, real)), first in itertools.product(RANGES.items(), (False, True)):
            with self.subTest(range=name, channels_first=first):
                model = quantizing(scale, zero_point, first)
                values = real(self.pixels.astype(np.float64)).astype(np.float32)[None]
                values = np.ascontiguousarray(values.transpose(0, 3, 1, 2)) if first else values
                (expected,) = litert(model, [values])
                report = self.succeeds("run", self.write("m.tflite", model), "--image", "p.png", "--head", "none", "--output-dir", "o",
                                       "--json").json()
                np.testing.assert_array_equal(np.load(self.dir / "o" / "0.npy"), expected)
                self.assertEqual((report["picture"]["pixels"], report["picture"]["layout"]), (name, "nchw" if first else "nhwc"))

    def test_int8_with_channels_first(self):
        m = ModelBuilder()
        x = m.tensor("x", (1, 3, ROWS, COLUMNS), scale=[1 / 255], zero_point=[-128])
        out = m.tensor("out", (1, 3, ROWS, COLUMNS), scale=[1 / 255], zero_point=[-128])
        m.op(Builtin.RELU, [x], [out], 0, None)
        self.succeeds("run", self.write("m.tflite", m.bytes([x], [out])), "--image", "p.png", "--head", "none", "--output-dir", "o")
        np.testing.assert_array_equal(np.load(self.dir / "o" / "0.npy")[0].transpose(1, 2, 0), self.pixels.astype(np.int16) - 128)

    def test_what_is_assumed_is_said(self):
        m = ModelBuilder()
        x, out = (m.tensor(name, (1, ROWS, COLUMNS, 3), Type.FLOAT32, scale=(), zero_point=()) for name in ("x", "out"))
        m.op(Builtin.RELU, [x], [out], 0, None)
        outcome = self.succeeds("run", self.write("m.tflite", m.bytes([x], [out])), "--image", "p.png", "--head", "none")
        self.assertIn("pixels as 0..1 (assumed: the model does not say)", outcome.out.decode())

    def test_no_input_takes_a_picture(self):
        m = ModelBuilder()
        x, out = (m.tensor(name, (1, ROWS, COLUMNS, 2), scale=[0.1]) for name in ("x", "out"))
        m.op(Builtin.RELU, [x], [out], 0, None)
        model = self.write("m.tflite", m.bytes([x], [out]))
        shown = "input 0 'x' (int8 [1,5,6,2])"
        self.fails(2, "run", model, "--image", "p.png", says=["--image: 0 inputs", "[1,1 or 3,h,w]", shown])
        self.save("x.npy", np.zeros((1, ROWS, COLUMNS, 2), np.int8))
        self.fails(2, "run", model, "--input", "0=x.npy", "--head", "ssd", says=["--head", "without --image: 0 inputs", shown])


class HeadsOfArrays(CliTest):
    def test_boxes_without_a_picture_are_those_of_a_picture_of_the_input_size(self):
        model = self.write("m.tflite", detection_model())
        pixels = np.random.default_rng(1).integers(0, 256, (4, 4, 3), dtype=np.uint8)
        self.write("p.png", png(pixels))
        self.save("x.npy", (pixels[None] / 255).astype(np.float32))
        self.save("codes.npy", np.zeros((1, 1, 4), np.float32))
        self.save("scores.npy", np.array([[[0.1, 0.2, 0.8]]], np.float32))
        rest = ["--input", "codes=codes.npy", "--input", "scores=scores.npy", "--head", "ssd-postprocess", "--json", "--device", "cpu"]
        picture = self.succeeds("run", model, "--image", "p.png", *rest).json()
        array = self.succeeds("run", model, "--input", "x=x.npy", *rest).json()
        self.assertEqual(array["detections"], picture["detections"])
        self.assertEqual([d["box"] for d in array["detections"]], [[0, 0, 4, 4]])
        self.assertNotIn("picture", array)

    def test_labels_that_are_too_few_do_not_take_the_boxes(self):
        model = self.write("m.tflite", detection_model())
        self.write("p.png", png(np.zeros((4, 4, 3), np.uint8)))
        self.save("codes.npy", np.zeros((1, 1, 4), np.float32))
        self.save("scores.npy", np.array([[[0.1, 0.2, 0.8]]], np.float32))
        self.write("labels.txt", b"a\nb\nc\nd\ne\n")
        report = self.succeeds("run", model, "--image", "p.png", "--input", "codes=codes.npy", "--input", "scores=scores.npy",
                               "--head", "ssd-postprocess", "--labels", "labels.txt", "--json", "--device", "cpu").json()
        self.assertEqual([d["label"] for d in report["detections"]], [None])
        self.assertTrue(any("no label is used: 5 labels" in text for text in report["assumed"]), report["assumed"])


class Usage(CliTest):
    def setUp(self):
        super().setUp()
        self.write("m.tflite", conv_model())

    def test_options_that_contradict(self):
        self.fails(2, "run", "m.tflite", "--strategy", "hw-multiply", "--accuracy", "exact", says=["--strategy hw-multiply", "--accuracy exact"])
        for option in (("--strategy", "max-scale"), ("--no-tables",), ("--task-us", "1")):
            self.fails(2, "run", "m.tflite", "--device", "cpu", *option, says=[option[0], "--device cpu"])

    def test_names_that_do_not_exist(self):
        self.fails(2, "runn", "m.tflite", says=["no command 'runn'", "did you mean 'run'", "compile"])
        self.fails(2, "nonsense", says=["no command 'nonsense'; the commands are run, compile"])
        self.fails(2, "run", "m.tflite", "--imag=x.png", says=["run has no option '--imag'; did you mean '--image'"])
        self.fails(2, "run", "m.tflite", "other.tflite", says=["run does not take 'other.tflite'"])

    def test_a_size_that_the_file_leaves_open(self):
        model = schema.ModelT.InitFromPackedBuf(conv_model(), 0)
        graph = model.subgraphs[0]
        tensor = graph.tensors[graph.inputs[0]]
        tensor.shapeSignature = np.array([-1, *tensor.shape[1:]], np.int32)
        quiet = self.succeeds("inspect", self.write("batch.tflite", packed(model)), "--json").json()
        self.assertEqual(quiet["warnings"], [])
        tensor.shapeSignature = np.array([1, -1, -1, 3], np.int32)
        path = self.write("open.tflite", packed(model))
        (text,) = self.succeeds("inspect", path, "--json").json()["warnings"]
        self.assertRegex(text, r"input 0 'x' is declared \[1,7,10,3\] and takes other sizes too \(\[1,-1,-1,3\]")
        self.assertEqual(self.succeeds("inspect", path, "--json", "--shape", "0=1x8x8x3").json()["warnings"], [])


if __name__ == "__main__":
    unittest.main()
