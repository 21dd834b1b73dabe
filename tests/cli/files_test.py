"""What people's files hold beside a plain graph: data behind the tables, several entries, operators that are not read.

Every file is made here, and what LiteRT's reference kernels make of it is what `run` must give.
"""
import unittest

import flatbuffers
import harness
import numpy as np
from harness import CliTest, ModelBuilder, schema

Builtin = schema.BuiltinOperator


def unpacked(data):
    return schema.ModelT.InitFromPackedBuf(data, 0)


def packed(model):
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def data_behind(data):
    """The same model with the data of all its buffers behind the tables, a little zip-like tail behind them."""
    model = unpacked(data)
    blobs = [None if b.data is None else bytes(b.data) for b in model.buffers]
    for buffer, blob in zip(model.buffers, blobs):
        if blob is not None:
            buffer.data, buffer.offset, buffer.size = None, 10**6, len(blob)
    end, tail = len(packed(model)), b""
    for buffer, blob in zip(model.buffers, blobs):
        if blob is not None:
            tail += bytes(-(end + len(tail)) % 16)
            buffer.offset = end + len(tail)
            tail += blob
    return packed(model) + tail + b"PK\3\4 and more"


def relu_entry(model, code, shape, key):
    """Adds a subgraph of one unary operator and a signature that names it."""
    m = ModelBuilder()
    a, b = m.tensor("a", shape, scale=[0.1]), m.tensor("b", shape, scale=[0.1])
    graph = m.graph
    graph.inputs, graph.outputs = [a], [b]
    model.operatorCodes = list(model.operatorCodes)
    m.model.operatorCodes = model.operatorCodes
    m.op(code, [a], [b], 0, None)
    model.subgraphs = [*model.subgraphs, graph]
    sign(model, key, len(model.subgraphs) - 1, [a], [b])


def sign(model, key, subgraph, inputs, outputs):
    entry = schema.SignatureDefT()
    entry.signatureKey, entry.subgraphIndex = key, subgraph
    entry.inputs, entry.outputs = [], []
    for kind, tensors in (("inputs", inputs), ("outputs", outputs)):
        for n, tensor in enumerate(tensors):
            entry_map = schema.TensorMapT()
            entry_map.name, entry_map.tensorIndex = f"{kind}_{n}", tensor
            getattr(entry, kind).append(entry_map)
    model.signatureDefs = [*(model.signatureDefs or []), entry]


class Files(CliTest):
    def expect_same(self, model, inputs, *options, outputs=None):
        """`run` on both devices gives LiteRT's bytes."""
        if outputs is None:
            outputs = harness.litert(model, inputs)
        path = self.write("model.tflite", model)
        given = [part for n, value in enumerate(inputs) for part in ("--input", f"{n}={self.save(f'in{n}.npy', value)}")]
        for device in ("cpu", "sim"):
            self.succeeds("run", path, *given, "--device", device, "--accuracy", "exact", "--output-dir", device, *options)
            for n, want in enumerate(outputs):
                got = np.load(self.dir / device / f"{n}.npy")
                self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
                self.assertEqual(got.tobytes(), want.tobytes(), device)

    def picture(self, shape=(1, 7, 10, 3)):
        return np.random.default_rng(3).integers(-128, 128, shape, dtype=np.int8)


class DataBehind(Files):
    def test_same_outputs(self):
        inside = harness.conv_model()
        behind = data_behind(inside)
        self.expect_same(behind, [self.picture()], outputs=harness.litert(inside, [self.picture()]))
        self.expect_same(behind, [self.picture()])

    def test_cut_off(self):
        path = self.write("cut.tflite", data_behind(harness.conv_model())[:-20])
        self.fails(1, "inspect", path, says=("buffer 4: 36 bytes at offset", "but the file has", "damaged or cut off"))


class Entries(Files):
    def model(self):
        model = unpacked(harness.conv_model())
        sign(model, "main", 0, [0], [6])
        relu_entry(model, Builtin.RELU, (1, 4), "small")
        relu_entry(model, Builtin.RELU6, (1, 5), "six")
        return packed(model)

    def small(self, n=4):
        return np.array([[-7, 3, 100, 5, -128]], np.int8)[:, :n]

    def test_the_first_is_the_default(self):
        self.expect_same(self.model(), [self.picture()])
        self.expect_same(self.model(), [self.picture()], "--signature", "main")

    def test_another_by_name(self):
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
        made = Interpreter(model_content=self.model(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        for key, size in (("small", 4), ("six", 5)):
            want = made.get_signature_runner(key)(inputs_0=self.small(size))["outputs_0"]
            self.expect_same(self.model(), [self.small(size)], "--signature", key, outputs=[want])

    def test_every_command_takes_it(self):
        path = self.write("m.tflite", self.model())
        report = self.succeeds("inspect", path, "--signature", "six", "--json").json()
        self.assertEqual([o["kind"] for o in report["operators"]], ["relu6"])
        self.assertEqual([s["key"] for s in report["signatures"]], ["main", "small", "six"])
        self.assertIn(b"signatures (--signature KEY): 'main' (subgraph 0) 'small' (subgraph 1)", self.succeeds("inspect", path).out)
        self.assertEqual(self.succeeds("ops", path, "--signature", "six", "--json").json()["operators"][0]["name"], "relu6")
        self.succeeds("plan", path, "--signature", "six")
        self.succeeds("compile", path, "--signature", "six", "-o", "six.pax")
        inputs = self.save("s.npy", self.small(5))
        self.succeeds("compare", path, "--signature", "six", "--input", f"0={inputs}")
        self.succeeds("run", "six.pax", "--input", f"0={inputs}")
        self.fails(2, "run", "six.pax", "--signature", "six", says="--signature is for models")
        self.fails(2, "ops", "--signature", "six", says="--signature is of a model")

    def test_a_key_that_is_not_there(self):
        path = self.write("m.tflite", self.model())
        self.fails(1, "run", path, "--signature", "big", says="no signature 'big'; its signatures are 'main', 'small', 'six'")
        plain = self.write("p.tflite", harness.conv_model())
        self.fails(1, "inspect", plain, "--signature", "x", says="no signature 'x'; it has none at all")

    def test_called_subgraphs_are_refused_by_the_operators_name(self):
        model = unpacked(self.model())
        code = schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode, code.version = Builtin.WHILE, Builtin.WHILE, 1
        model.operatorCodes.append(code)
        call = schema.OperatorT()
        call.opcodeIndex, call.inputs, call.outputs = len(model.operatorCodes) - 1, [0], [0]
        model.subgraphs[0].operators.append(call)
        path = self.write("m.tflite", packed(model))
        self.fails(1, "run", path, says="operator 2 is WHILE (code 119): it runs another subgraph")
        self.succeeds("inspect", path, "--signature", "six")


class Operators(Files):
    def model(self, *codes):
        """A chain of operators, each (builtin code or custom name, version)."""
        m = ModelBuilder()
        tensors = [m.tensor(f"t{n}", (1, 4)) for n in range(len(codes) + 1)]
        for n, (code, version) in enumerate(codes):
            m.op(Builtin.CUSTOM if isinstance(code, str) else code, [n], [n + 1], 0, None)
            m.model.operatorCodes[-1].version = version
            if isinstance(code, str):
                m.model.operatorCodes[-1].customCode = code
        return self.write("m.tflite", m.bytes([0], [tensors[-1]]))

    def test_all_that_are_not_read_are_listed(self):
        path = self.model((Builtin.RELU, 1), (Builtin.VAR_HANDLE, 1), (Builtin.RFFT2D, 1), ("Mine", 1), (Builtin.RFFT2D, 1),
                          (Builtin.RELU, 9))
        outcome = self.peraxis("ops", path, "--json")
        self.assertEqual(outcome.code, 1)
        rows = [(o["name"], o["count"], o["first"], o["version"], o["supported"]) for o in outcome.json()["operators"]]
        self.assertEqual(rows, [("RELU", 1, 0, 1, True), ("VAR_HANDLE", 1, 1, 1, False), ("RFFT2D", 2, 2, 1, False),
                                ("Mine", 1, 3, 1, False), ("RELU", 1, 5, 9, False)])
        outcome = self.peraxis("ops", path)
        self.assertEqual(outcome.code, 1)
        for text in (b"custom 'Mine'", b"2 RFFT2D: not supported", b"1 RELU: version 9, but LiteRT 2.3.0 knows 1 to 3"):
            self.assertIn(text, outcome.out)
        self.fails(1, "run", path, says=("operator 1 is VAR_HANDLE (code 142): it keeps state", "operator 2 and 1 more are RFFT2D "
                                         "(code 131), operator 3 is the custom operator 'Mine': not supported",
                                         "operator 5 is RELU (code 19): version 9"))

    def test_versions_as_litert(self):
        for code, version, good in ((Builtin.RELU, 3, True), (Builtin.RELU, 4, False), (Builtin.RELU, 0, False)):
            path = self.model((code, version))
            if good:
                self.succeeds("inspect", path)
            else:
                self.fails(1, "inspect", path, says=f"RELU (code 19): version {version}, but LiteRT 2.3.0 knows 1 to 3")

    def test_files_made_for_another_chip(self):
        for name, chip, tool in (("ethos-u", "Ethos-U", "Vela"), ("edgetpu-custom-op", "Edge TPU", "edgetpu_compiler"),
                                 ("NeutronGraph", "Neutron", "Neutron converter"), ("DISPATCH_OP", "Qualcomm", "LiteRT")):
            self.fails(1, "run", self.model((Builtin.RELU, 1), (name, 1)), "--device", "cpu",
                       says=(f"operator 1 is the custom operator '{name}': the file was compiled for", chip, tool,
                             "bring the TFLite file that was given to"))

    def test_select_operators(self):
        self.fails(1, "inspect", self.model(("FlexErf", 1)), says="it runs inside TensorFlow")


if __name__ == "__main__":
    unittest.main()
