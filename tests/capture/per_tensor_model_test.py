"""The model that Mesa's delegate is compared with: what the tool makes of a model in int8 per axis."""
import pathlib
import sys

from harness import CliTest, conv_model, add_model, litert, np, unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "models"))
import per_tensor_uint8  # noqa: E402


class PerTensorModel(CliTest):
    def convert(self, model):
        self.write("in.tflite", model)
        sys.argv = ["per_tensor_uint8.py", str(self.dir / "in.tflite"), str(self.dir / "out.tflite")]
        per_tensor_uint8.main()
        return (self.dir / "out.tflite").read_bytes()

    def test_types_and_scales(self):
        self.convert(conv_model())
        graph = per_tensor_uint8.read(self.dir / "out.tflite").subgraphs[0]
        uint8, int32 = per_tensor_uint8.schema.TensorType.UINT8, per_tensor_uint8.schema.TensorType.INT32
        self.assertEqual({t.type for t in graph.tensors}, {uint8, int32})
        self.assertEqual({len(t.quantization.scale) for t in graph.tensors}, {1})
        for op in graph.operators:
            x, w, b = (graph.tensors[i].quantization for i in op.inputs)
            self.assertAlmostEqual(b.scale[0] / (x.scale[0] * w.scale[0]), 1, places=5)

    def test_computes_nearly_the_same(self):
        model = conv_model(channels=(3, 8, 5))
        x = np.random.default_rng(2).integers(-128, 128, (1, 7, 10, 3), dtype=np.int8)
        before = litert(model, [x])[0].astype(int) + 128
        after = litert(self.convert(model), [(x.astype(int) + 128).astype(np.uint8)])[0].astype(int)
        self.assertGreater(np.corrcoef(before.ravel(), after.ravel())[0, 1], 0.93)

    def test_the_shortcut_of_an_addition_is_second(self):
        self.convert(conv_model())
        model = per_tensor_uint8.read(self.dir / "out.tflite")
        graph, add = model.subgraphs[0], per_tensor_uint8.read(self.write("add.tflite", add_model()))
        op = add.subgraphs[0].operators[0]
        op.opcodeIndex = len(model.operatorCodes)
        model.operatorCodes.append(add.operatorCodes[0])
        early, late = graph.operators[0].outputs[0], graph.operators[1].outputs[0]
        for order in ([early, late], [late, early]):
            op.inputs, op.outputs = list(order), [graph.operators[1].outputs[0] + 1]
            graph.operators = graph.operators[:2] + [op]
            per_tensor_uint8.shortcuts_second(model, graph)
            self.assertEqual(list(op.inputs), [late, early])


if __name__ == "__main__":
    unittest.main()
