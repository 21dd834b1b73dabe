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
        self.fails(2, "run", "six.pax", "--signature", "six", says="--signature and --shape are for models")
        self.fails(2, "ops", "--signature", "six", says="--signature and --shape are of a model")

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


class Shapes(Files):
    def without_shape(self, tensor):
        model = unpacked(harness.conv_model())
        model.subgraphs[0].tensors[tensor].shape = None
        return packed(model)

    def dynamic(self):
        """Rows and columns are free, the declared ones are 1, also of what is computed."""
        model = unpacked(harness.conv_model())
        for tensor in (0, 3, 6):
            made = model.subgraphs[0].tensors[tensor]
            made.shapeSignature = [1, -1, -1, made.shape[3]]
            made.shape = [1, 1, 1, made.shape[3]]
        return packed(model)

    def test_not_declared(self):
        for tensor in (3, 6):
            self.expect_same(self.without_shape(tensor), [self.picture()])

    def test_an_output_declared_dynamic(self):
        model = unpacked(harness.conv_model())
        made = model.subgraphs[0].tensors[6]
        made.shape, made.shapeSignature = [1, 1, 1, 9], [-1, -1, -1, 9]
        self.expect_same(packed(model), [self.picture()])

    def test_declared_sizes_of_a_dynamic_input(self):
        self.expect_same(self.dynamic(), [self.picture((1, 1, 1, 3))])

    def test_given_sizes(self):
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
        picture = self.picture((1, 12, 5, 3))
        made = Interpreter(model_content=self.dynamic(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        made.resize_tensor_input(0, picture.shape)
        made.allocate_tensors()
        made.set_tensor(0, picture)
        made.invoke()
        want = [made.get_tensor(d["index"]) for d in made.get_output_details()]
        for name in ("x", "0"):
            self.expect_same(self.dynamic(), [picture], "--shape", f"{name}=1x12x5x3", outputs=want)
        path = self.write("d.tflite", self.dynamic())
        self.assertEqual(self.succeeds("inspect", path, "--shape", "x=1x12x5x3", "--json").json()["outputs"][0]["shape"], [1, 12, 5, 9])
        for command, *more in (("plan",), ("ops",), ("compare", "--input", f"0={self.save('p.npy', picture)}")):
            self.succeeds(command, path, "--shape", "x=1x12x5x3", *more)
        self.succeeds("compile", path, "--shape", "x=1x12x5x3", "-o", "d.pax")
        self.succeeds("run", "d.pax", "--input", f"0={self.save('p.npy', picture)}")
        self.fails(2, "run", "d.pax", "--shape", "x=1x12x5x3", says="are for models")
        self.fails(2, "run", path, "--shape", "x=1x12x", says="'x=1x12x' is not INPUT=SIZES")
        self.fails(2, "run", path, "--shape", "1x12", says="is not INPUT=SIZES")
        self.fails(1, "run", path, "--shape", "y=1x12x5x3", says="a shape is given for 'y', but the inputs are 0 'x'")
        self.fails(1, "run", path, "--shape", "x=1x12x5x4", says="which does not divide the input's 4 channels")

    def computed(self, declared):
        """Twice the rows and columns, computed from SHAPE, for a resize and a transposed convolution."""
        rng = np.random.default_rng(8)
        m, ints, none = ModelBuilder(), schema.TensorType.INT32, {"scale": (), "zero_point": ()}

        def constant(values):
            values = np.array(values, np.int32)
            return m.tensor("c", values.shape, ints, data=values, **none)

        def number(shape):
            return m.tensor("n", shape if declared else (), ints, **none)

        x = m.tensor("x", (1, 5, 4, 6), scale=[0.05], zero_point=[-3])
        shape = number((4,))
        m.op(Builtin.SHAPE, [x], [shape], schema.BuiltinOptions.ShapeOptions, schema.ShapeOptionsT())
        m.graph.operators[-1].builtinOptions.outType = ints
        middle, double = number((2,)), number((2,))
        m.op(Builtin.STRIDED_SLICE, [shape, constant([1]), constant([3]), constant([1])], [middle],
             schema.BuiltinOptions.StridedSliceOptions, schema.StridedSliceOptionsT())
        m.op(Builtin.MUL, [middle, constant([2, 2])], [double], schema.BuiltinOptions.MulOptions, schema.MulOptionsT())
        big = m.tensor("big", (1, 10, 8, 6), scale=[0.05], zero_point=[-3])
        m.op(Builtin.RESIZE_BILINEAR, [x, double], [big], schema.BuiltinOptions.ResizeBilinearOptions, schema.ResizeBilinearOptionsT())
        batch, whole = number(()), number((4,))
        options = schema.StridedSliceOptionsT()
        options.shrinkAxisMask = 1
        m.op(Builtin.STRIDED_SLICE, [shape, constant([0]), constant([1]), constant([1])], [batch],
             schema.BuiltinOptions.StridedSliceOptions, options)
        options = schema.PackOptionsT()
        options.valuesCount = 4
        m.op(Builtin.PACK, [batch, constant(20), constant(16), constant(7)], [whole], schema.BuiltinOptions.PackOptions, options)
        weights = rng.integers(-127, 128, (7, 3, 3, 6), dtype=np.int8)
        w = m.tensor("w", weights.shape, scale=[0.01] * 7, zero_point=[0] * 7, data=weights)
        out = m.tensor("out", (1, 20, 16, 7), scale=[0.2], zero_point=[4])
        options = schema.TransposeConvOptionsT()
        options.padding, options.strideH, options.strideW = schema.Padding.SAME, 2, 2
        m.op(Builtin.TRANSPOSE_CONV, [whole, w, big], [out], schema.BuiltinOptions.TransposeConvOptions, options)
        return m.bytes([x], [out, big])

    def test_computed_from_fixed_shapes(self):
        for declared in (True, False):
            self.expect_same(self.computed(declared), [self.picture((1, 5, 4, 6))])
        path = self.write("m.tflite", self.computed(True))
        report = self.succeeds("compile", path, "-o", "m.pax", "--json").json()
        self.assertEqual(report["passes"][0], {"pass": "resolve_shapes", "what": "operators of constants computed for shapes and weights",
                                              "count": 5})

    def moved(self, code, options, dtype, amounts, shape, new_shape=None):
        m = ModelBuilder()
        x = m.tensor("x", (1, 6, 8))
        amounts = np.array(amounts, dtype)
        kind = {np.int64: "INT64", np.int32: "INT32", np.int16: "INT16", np.int8: "INT8"}[dtype]
        by = m.tensor("by", amounts.shape, getattr(schema.TensorType, kind), (), (), data=amounts)
        inputs = [x, by]
        if code == Builtin.PADV2:
            inputs.append(m.tensor("v", (), data=np.int8(7)))
        y = m.tensor("y", shape)
        made = getattr(schema, options + "T")()
        if new_shape:
            made.newShape = new_shape
        m.op(code, inputs, [y], getattr(schema.BuiltinOptions, options), made)
        return m.bytes([x], [y])

    def test_amounts_of_other_types(self):
        x = [self.picture((1, 6, 8))]
        pads, padded = [[0, 0], [1, 2], [3, 0]], (1, 9, 11)
        for dtype in (np.int32, np.int64, np.int16, np.int8):
            self.expect_same(self.moved(Builtin.PAD, "PadOptions", dtype, pads, padded), x)
            self.expect_same(self.moved(Builtin.PADV2, "PadV2Options", dtype, pads, padded), x)
        self.expect_same(self.moved(Builtin.MIRROR_PAD, "MirrorPadOptions", np.int64, pads, padded), x)
        # LiteRT takes the shape from the options when the operand is no int32 vector, whatever it says.
        self.expect_same(self.moved(Builtin.RESHAPE, "ReshapeOptions", np.int64, [6, 8], (6, 8), [-1, 8]), x)
        self.expect_same(self.moved(Builtin.RESHAPE, "ReshapeOptions", np.int64, [4, 12], (6, 8), [-1, 8]), x)
        path = self.write("m.tflite", self.moved(Builtin.RESHAPE, "ReshapeOptions", np.int64, [6, 8], (6, 8)))
        self.fails(1, "run", path, says="the shape input (tensor 1 'by') is int64; only int32 is supported")


def packed_bits(values, bits):
    """Two's complement numbers of few bits, the first one in the low bits."""
    values = values.ravel().astype(np.int64) & ((1 << bits) - 1)
    per = 8 // bits
    values = np.concatenate([values, np.zeros(-len(values) % per, np.int64)]).reshape(-1, per)
    return sum(values[:, i] << (bits * i) for i in range(per)).astype(np.uint8)


class Weights(Files):
    def layer(self, kind, bits):
        """One layer with an odd number of weights of `bits` bits."""
        rng = np.random.default_rng(4)
        m, types = ModelBuilder(), schema.TensorType
        x = m.tensor("x", (1, 5, 4, 3), scale=[0.05], zero_point=[-3])
        shape, axis, out = {"conv": ((5, 3, 3, 3), 0, (1, 5, 4, 5)), "depthwise": ((1, 3, 3, 3), 3, (1, 5, 4, 3)),
                            "fully_connected": ((5, 3), 0, (20, 5))}[kind]
        n = shape[axis]
        values = rng.integers(-(1 << bits - 1), 1 << bits - 1, shape)
        w = m.tensor("w", shape, {4: types.INT4, 2: types.INT2}[bits], rng.uniform(0.01, 0.03, n).tolist(), [0] * n, axis,
                     data=packed_bits(values, bits))
        b = m.tensor("b", (n,), types.INT32, [0.001] * n, [0] * n, data=rng.integers(-200, 200, n).astype(np.int32))
        y = m.tensor("y", out, scale=[0.1], zero_point=[4])
        name, code, version = {"conv": ("Conv2DOptions", Builtin.CONV_2D, 7), "fully_connected": ("FullyConnectedOptions", Builtin.FULLY_CONNECTED, 14),
                               "depthwise": ("DepthwiseConv2DOptions", Builtin.DEPTHWISE_CONV_2D, 6)}[kind]
        options = getattr(schema, name + "T")()
        if kind != "fully_connected":
            options.padding, options.depthMultiplier = schema.Padding.SAME, 1
            options.strideH = options.strideW = options.dilationHFactor = options.dilationWFactor = 1
        m.op(code, [x, w, b], [y], getattr(schema.BuiltinOptions, name), options)
        m.model.operatorCodes[-1].version = version
        return m.bytes([x], [y])

    def test_few_bits(self):
        for kind, bits in (("conv", 4), ("depthwise", 4), ("fully_connected", 4), ("fully_connected", 2)):
            self.expect_same(self.layer(kind, bits), [self.picture((1, 5, 4, 3))])

    def dequantized(self, kind, data, scale, zero_point, shape=(4, 2, 3, 2)):
        """A float convolution with weights behind DEQUANTIZE."""
        m, none = ModelBuilder(), {"scale": (), "zero_point": ()}
        real = schema.TensorType.FLOAT32
        x = m.tensor("x", (1, 5, 6, 2), real, **none)
        stored = m.tensor("stored", shape, kind, scale, zero_point, data=data)
        w = m.tensor("w", shape, real, **none)
        m.op(Builtin.DEQUANTIZE, [stored], [w], schema.BuiltinOptions.DequantizeOptions, schema.DequantizeOptionsT())
        m.model.operatorCodes[-1].version = 3
        b = m.tensor("b", (4,), real, data=np.array([0.5, -1, 2, 0], np.float32), **none)
        y = m.tensor("y", (1, 5, 6, 4), real, **none)
        options = schema.Conv2DOptionsT()
        options.strideH = options.strideW = options.dilationHFactor = options.dilationWFactor = 1
        m.op(Builtin.CONV_2D, [x, w, b], [y], schema.BuiltinOptions.Conv2DOptions, options)
        return m.bytes([x], [y])

    def test_constants_behind_dequantize(self):
        rng, types = np.random.default_rng(6), schema.TensorType
        x = [rng.normal(0, 1, (1, 5, 6, 2)).astype(np.float32)]
        for kind, data, scale, zero_point in (
                (types.FLOAT16, rng.normal(0, 1, 48).astype(np.float16), (), ()),
                (types.INT8, rng.integers(-128, 128, 48).astype(np.int8), [0.01, 0.02, 0.03, 0.04], [0] * 4),
                (types.UINT8, rng.integers(0, 256, 48).astype(np.uint8), [0.01], [131]),
                (types.INT4, packed_bits(rng.integers(-8, 8, 48), 4), [0.1], [-2]),
                (types.UINT4, packed_bits(rng.integers(0, 16, 48), 4), [0.1], [8])):
            self.expect_same(self.dequantized(kind, data, scale, zero_point), x)

    def sparse(self, kind, dtype, blocks):
        """A fully connected layer behind DENSIFY: rows of columns, or of blocks of 1x4."""
        rng = np.random.default_rng(9)
        dense = rng.integers(-127, 128, (6, 8)).astype(dtype)
        size = 4 if blocks else 1
        kept = rng.random((6, 8 // size)) < 0.4
        dense *= np.repeat(kept, size, axis=1).astype(dtype)
        m = ModelBuilder()
        real = kind == schema.TensorType.FLOAT32
        quant = {"scale": (), "zero_point": ()} if real else {"scale": [0.01]}
        x = m.tensor("x", (3, 8), kind, **quant)
        stored = m.tensor("stored", (6, 8), kind, data=np.concatenate([dense[r].reshape(-1, size)[kept[r]].ravel() for r in range(6)]), **quant)
        order = schema.SparsityParametersT()
        order.traversalOrder, order.blockMap = ([0, 1, 2], [1]) if blocks else ([0, 1], [])

        def level(dense_size=0, segments=None, indices=None):
            made = schema.DimensionMetadataT()
            made.denseSize = dense_size
            if segments is not None:
                made.format = schema.DimensionType.SPARSE_CSR
                made.arraySegmentsType, made.arrayIndicesType = schema.SparseIndexVector.Int32Vector, schema.SparseIndexVector.Uint8Vector
                made.arraySegments, made.arrayIndices = schema.Int32VectorT(), schema.Uint8VectorT()
                made.arraySegments.values, made.arrayIndices.values = segments, indices
            return made

        segments = np.concatenate([[0], np.cumsum(kept.sum(1))]).tolist()
        order.dimMetadata = [level(6), level(0, segments, np.nonzero(kept)[1].tolist()), *([level(4)] if blocks else [])]
        m.graph.tensors[stored].sparsity = order
        w = m.tensor("w", (6, 8), kind, **quant)
        m.op(Builtin.DENSIFY, [stored], [w], schema.BuiltinOptions.DensifyOptions, schema.DensifyOptionsT())
        b = m.tensor("b", (6,), schema.TensorType.FLOAT32 if real else schema.TensorType.INT32, (), (),
                     data=np.arange(6).astype(np.float32 if real else np.int32))
        if not real:
            m.graph.tensors[b].quantization.scale, m.graph.tensors[b].quantization.zeroPoint = [1e-4], [0]
        y = m.tensor("y", (3, 6), kind, **quant)
        m.op(Builtin.FULLY_CONNECTED, [x, w, b], [y], schema.BuiltinOptions.FullyConnectedOptions, schema.FullyConnectedOptionsT())
        return m.bytes([x], [y])

    def test_densify(self):
        for kind, dtype in ((schema.TensorType.INT8, np.int8), (schema.TensorType.FLOAT32, np.float32)):
            for blocks in (False, True):
                self.expect_same(self.sparse(kind, dtype, blocks), [self.picture((3, 8)).astype(dtype)])

    def test_dynamic_range_is_named(self):
        model = unpacked(self.dequantized(schema.TensorType.INT8, np.zeros(48, np.int8), [0.1], [0]))
        model.subgraphs[0].operators.pop(0)
        model.subgraphs[0].operators[0].inputs = [0, 1, 3]
        self.fails(1, "run", self.write("m.tflite", packed(model)),
                   says=("int8 beside a float32 input", "quantized dynamically (hybrid)", "static_wi8_ai8", "representative_dataset"))

    def test_blockwise_is_named(self):
        model = unpacked(harness.conv_model())
        quant = model.subgraphs[0].tensors[1].quantization
        quant.detailsType, quant.details = schema.QuantizationDetails.BlockwiseQuantization, schema.BlockwiseQuantizationT()
        self.fails(1, "run", self.write("m.tflite", packed(model)), says=("its quantization is blockwise", "CHANNELWISE"))


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
