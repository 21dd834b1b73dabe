"""peraxis ops: the list of operators, and a model's operators by where they run."""
import collections
import unittest

import harness
import numpy as np
from harness import CliTest, ModelBuilder, schema


def mixed_model():
    """Convolution, its sum with itself on the NPU, and a TRANSPOSE on the CPU."""
    rng = np.random.default_rng(5)
    m = ModelBuilder()
    x = m.tensor("x", (1, 6, 6, 16), scale=[0.1])
    y = m.conv(x, "y", rng.integers(-127, 128, (16, 1, 1, 16), dtype=np.int8), [0.01] * 16, np.zeros(16, np.int32),
               (1, 6, 6, 16), 0.1, 0)
    z = m.add(y, y, "z", (1, 6, 6, 16), 0.2, 0)
    t = m.tensor("t", (1, 6, 6, 16), scale=[0.2])
    order = m.tensor("order", (4,), schema.TensorType.INT32, scale=(), zero_point=(), data=np.array([0, 2, 1, 3], np.int32))
    m.op(schema.BuiltinOperator.TRANSPOSE, [z, order], [t], schema.BuiltinOptions.TransposeOptions, schema.TransposeOptionsT())
    return m.bytes([x], [t])


class Ops(CliTest):
    def test_all(self):
        facts = self.succeeds("ops", "--json").json()
        by_name = {o["name"]: o for o in facts["operators"]}
        (way,) = by_name["max_pool_2d"]["npu"]
        self.assertEqual(way["accuracy"], "equal")
        self.assertIn("up to 16", way["conditions"])
        self.assertEqual(by_name["gather"]["npu"], [])
        self.assertEqual(len(by_name["relu"]["npu"]), 2)  # by arithmetic and by a table
        self.assertEqual(by_name["hard_swish"]["cpu"]["types"], ["float32", "int8", "uint8"])
        self.assertTrue(by_name["conv_2d"]["convolution"])
        self.assertIn({"sentence": "kernel NxN exceeds 31", "limit": 31, "field": "CNA.WEIGHT_SIZE2.WEIGHT_WIDTH"},
                      facts["conditions"]["convolution_refusals"])
        text = self.succeeds("ops").out.decode()
        for part in ("max_pool_2d", "windows and strides up to 16", "kernel NxN exceeds 31", "float32, int8, uint8"):
            self.assertIn(part, text)

    def test_model(self):
        path = self.write("m.tflite", mixed_model())
        facts = self.succeeds("ops", path, "--json").json()
        counts = {o["name"]: (o["count"], o["on_npu"], o["on_cpu"]) for o in facts["operators"]}
        self.assertEqual(counts, {"conv_2d": (1, 1, 0), "add": (1, 1, 0), "transpose": (1, 0, 1)})
        found = next(o for o in facts["operators"] if o["name"] == "transpose")
        self.assertEqual(found["reasons"], [{"reason": "transpose has no form on the NPU in this version", "count": 1}])
        text = self.succeeds("ops", path).out.decode()
        self.assertIn("1 transpose on cpu: transpose has no form", text)
        # What `plan` says of every operator, counted.
        plan = self.succeeds("plan", path, "--json", "--convolutions-only").json()
        devices = collections.Counter((o["kind"], o["device"]) for o in plan["layers"] + plan["operators"])
        for o in self.succeeds("ops", path, "--json", "--convolutions-only").json()["operators"]:
            self.assertEqual((o["on_npu"], o["on_cpu"]), (devices[o["name"], "npu"], devices[o["name"], "cpu"]))

    def test_wrong_usage(self):
        self.fails(2, "ops", "--accuracy", "exact", says="give a model")
        self.fails(2, "ops", "", says="an empty name")
        self.fails(1, "ops", "nowhere.tflite", says="nowhere.tflite")
        self.fails(1, "ops", self.write("x.tflite", b"{}"), says="neither a TFLite model")


if __name__ == "__main__":
    unittest.main()
