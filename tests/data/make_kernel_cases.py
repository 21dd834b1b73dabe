#!/usr/bin/env python3
"""Writes kernel_cases.npz: single-operator models with the outputs of LiteRT's reference kernels.

Every case is a small random model, run by OpResolverType.BUILTIN_REF on random and on extreme inputs. The
C++ test replays them. A third of the scales are powers of two, so that values exactly half way occur.
Needs numpy, flatbuffers and ai_edge_litert (2.3.0 was used). Usage: make_kernel_cases.py [output]

The archive holds three arrays, so that hundreds of small blobs compress together:
  bytes  uint8, all blobs one after the other
  blobs  int64 [n, 4]: case, kind (0 model, 1 input, 2 output), offset, length; in order of use
  names  uint8, the case names, one a line
"""

import pathlib
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

TYPES = {"int8": schema.TensorType.INT8, "uint8": schema.TensorType.UINT8, "int32": schema.TensorType.INT32,
         "float32": schema.TensorType.FLOAT32, "int16": schema.TensorType.INT16, "int64": schema.TensorType.INT64,
         "bool": schema.TensorType.BOOL}
NONE, RELU, RELU_N1, RELU6 = 0, 1, 2, 3
SAME, VALID = 0, 1


class Tensor:
    def __init__(self, shape, dtype="int8", scale=None, zero=None, axis=0, data=None):
        self.shape, self.dtype, self.axis, self.data = list(shape), dtype, axis, data
        self.scale = None if scale is None else np.atleast_1d(np.asarray(scale, np.float32))
        if self.scale is not None:
            self.zero = np.broadcast_to(np.asarray(0 if zero is None else zero, np.int64), self.scale.shape)


def constant(values, dtype="int32"):
    values = np.asarray(values, dtype)
    return Tensor(values.shape, dtype, data=values)


def build(code, options_type, options, inputs, outputs, custom=None):
    """The bytes of a model with one operator; `inputs` may hold None for an absent one. `custom`: name and options."""
    model = schema.ModelT()
    model.version = 3
    operator_code = schema.OperatorCodeT()
    operator_code.builtinCode, operator_code.deprecatedBuiltinCode, operator_code.version = code, min(code, 127), 1
    if code in (schema.BuiltinOperator.LEAKY_RELU, schema.BuiltinOperator.CONV_2D, schema.BuiltinOperator.BROADCAST_TO):
        operator_code.version = 2
    model.operatorCodes = [operator_code]
    model.buffers = [schema.BufferT()]
    graph = schema.SubGraphT()
    graph.name, graph.tensors, graph.inputs, graph.outputs = "case", [], [], []

    def add(tensor):
        if tensor is None:
            return -1
        t = schema.TensorT()
        t.name, t.shape, t.type, t.buffer = "t%d" % len(graph.tensors), tensor.shape, TYPES[tensor.dtype], 0
        if tensor.scale is not None:
            t.quantization = schema.QuantizationParametersT()
            t.quantization.scale, t.quantization.zeroPoint = tensor.scale.tolist(), tensor.zero.tolist()
            t.quantization.quantizedDimension = tensor.axis
        if tensor.data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(tensor.data).tobytes(), np.uint8)
            t.buffer = len(model.buffers)
            model.buffers.append(buffer)
        graph.tensors.append(t)
        return len(graph.tensors) - 1

    op = schema.OperatorT()
    op.opcodeIndex = 0
    op.inputs = [add(t) for t in inputs]
    op.outputs = [add(t) for t in outputs]
    op.builtinOptionsType, op.builtinOptions = options_type, options
    if custom:
        operator_code.customCode, op.customOptions = custom[0], np.frombuffer(custom[1], np.uint8)
    graph.inputs = [i for i, t in zip(op.inputs, inputs) if t is not None and t.data is None]
    graph.outputs = list(op.outputs)
    graph.operators = [op]
    model.subgraphs = [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


class Cases:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.names, self.rows, self.blob = [], [], bytearray()

    def store(self, kind, data):
        self.rows.append((len(self.names) - 1, kind, len(self.blob), len(data)))
        self.blob += data

    def scale(self, low=0.002, high=0.2):
        value = float(np.exp(self.rng.uniform(np.log(low), np.log(high))))
        return np.float32(2.0 ** round(np.log2(value)) if self.rng.integers(3) == 0 else value)

    def zero(self, dtype):
        if dtype == "int16":
            return 0
        if self.rng.integers(4) == 0:
            return int(self.rng.choice([-128, 127] if dtype == "int8" else [0, 255]))
        return int(self.rng.integers(-128, 128)) + (0 if dtype == "int8" else 128)

    def activation(self, shape, dtype, **kwargs):
        if dtype not in ("int8", "uint8", "int16"):
            return Tensor(shape, dtype)
        if dtype == "int16":
            return Tensor(shape, dtype, np.float32(self.scale(**kwargs) / 256), 0)
        return Tensor(shape, dtype, self.scale(**kwargs), self.zero(dtype))

    def choice(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def values(self, tensor, extreme):
        if tensor.dtype == "float32":
            steps = self.rng.integers(-300, 300, tensor.shape).astype(np.float32)
            return ((steps + self.choice(0, 0.5, 0.25)) * np.float32(0.05)).astype(np.float32)
        info = np.iinfo(tensor.dtype)
        if extreme:
            return self.rng.choice([info.min, info.max], tensor.shape).astype(tensor.dtype)
        return self.rng.integers(info.min, info.max + 1, tensor.shape).astype(tensor.dtype)

    def add(self, name, code, options, inputs, outputs, feeds=None, custom=None, resolver=OpResolverType.BUILTIN_REF):
        """Builds, runs and stores a model; `feeds` replaces the random input sets."""
        kind = type(options).__name__[:-1] if options is not None else "NONE"
        options_type = getattr(schema.BuiltinOptions, kind)
        model = build(code, options_type, options, inputs, outputs, custom)
        live = [t for t in inputs if t is not None and t.data is None]
        interpreter = Interpreter(model_content=model, experimental_op_resolver_type=resolver,
                                  num_threads=1)
        interpreter.allocate_tensors()
        if feeds is None:
            feeds = [[self.values(t, extreme) for t in live] for extreme in (False, True)]
        self.names.append(name)
        self.store(0, model)
        for feed in feeds:
            for details, values in zip(interpreter.get_input_details(), feed):
                interpreter.set_tensor(details["index"], values)
            interpreter.invoke()
            for values in feed:
                self.store(1, np.ascontiguousarray(values).tobytes())
            outputs = [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]
            for values in outputs:
                self.store(2, np.ascontiguousarray(values).tobytes())
            self.ran(feed, outputs)

    def ran(self, feed, outputs):
        """For those who want the arrays."""

    def write(self, path):
        np.savez_compressed(path, bytes=np.frombuffer(bytes(self.blob), np.uint8),
                            blobs=np.array(self.rows, np.int64),
                            names=np.frombuffer("\n".join(self.names).encode(), np.uint8))


def options(name, **fields):
    result = getattr(schema, name + "T")()
    for key, value in fields.items():
        assert hasattr(result, key), key
        setattr(result, key, value)
    return result


def spatial(size, kernel, stride, dilation, padding):
    extent = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else -(-(size - extent + 1) // stride)


def bias_for(cases, channels, terms, x_scale, w_scales):
    spread = max(200, int(1200 * np.sqrt(terms)))
    data = cases.rng.integers(-spread, spread, channels).astype(np.int32)
    scale = np.asarray(x_scale * np.asarray(w_scales, np.float32), np.float32)
    return Tensor([channels], "int32", scale, 0, 0, data)


def weights_for(cases, shape, dtype, channels, axis, per_axis):
    info = np.iinfo(dtype)
    data = cases.rng.integers(max(info.min, -127), info.max + 1, shape).astype(dtype)
    if not per_axis:
        zero = cases.zero(dtype) if dtype == "uint8" else 0
        return Tensor(shape, dtype, cases.scale(0.001, 0.02), zero, 0, data)
    scales = np.array([cases.scale(0.0004, 0.03) for _ in range(channels)], np.float32)
    if channels > 3 and cases.rng.integers(2) == 0:  # a dead channel
        index = [slice(None)] * len(shape)
        index[axis] = 1
        data[tuple(index)] = 0
        scales[1] = np.float32(1e-10)
    return Tensor(shape, dtype, scales, 0, axis, data)


def convolutions(cases, count):
    for i in range(count):
        dtype = cases.choice("int8", "int8", "int8", "uint8")
        depthwise = bool(i % 3 == 2)
        h, w = (int(v) for v in cases.rng.integers(3, 10, 2))
        n = cases.choice(1, 1, 1, 2)
        kh, kw = cases.choice((1, 1), (3, 3), (3, 3), (2, 3), (5, 2), (1, 3))
        stride = cases.choice((1, 1), (1, 1), (2, 2), (2, 1), (3, 2))
        dilation = cases.choice((1, 1), (1, 1), (1, 1), (2, 1), (2, 2)) if stride == (1, 1) else (1, 1)
        padding = cases.choice(SAME, SAME, VALID)
        oh, ow = spatial(h, kh, stride[0], dilation[0], padding), spatial(w, kw, stride[1], dilation[1], padding)
        if oh < 1 or ow < 1:
            padding = SAME
            oh, ow = spatial(h, kh, stride[0], dilation[0], SAME), spatial(w, kw, stride[1], dilation[1], SAME)
        activation = cases.choice(NONE, NONE, RELU, RELU6, RELU_N1)
        if depthwise:
            c, multiplier = cases.choice(1, 3, 7, 17, 33), cases.choice(1, 1, 2, 3)
            out_c, terms = c * multiplier, kh * kw
            weights = weights_for(cases, [1, kh, kw, out_c], dtype, out_c, 3, dtype == "int8" and i % 4 != 0)
        else:
            groups = cases.choice(1, 1, 1, 2, 3) if dtype == "int8" else 1
            depth, out_c = cases.choice(1, 2, 3, 5, 16, 17), groups * cases.choice(1, 3, 15, 17)
            c, terms = depth * groups, kh * kw * depth
            weights = weights_for(cases, [out_c, kh, kw, depth], dtype, out_c, 0, dtype == "int8" and i % 4 != 0)
        x = cases.activation([n, h, w, c], dtype)
        bias = bias_for(cases, out_c, terms, x.scale, weights.scale)
        reach = float(np.max(weights.scale)) * float(x.scale[0]) * 100 * np.sqrt(terms)
        y = Tensor([n, oh, ow, out_c], dtype, cases.scale(reach / 2, reach * 2), cases.zero(dtype))
        common = dict(padding=padding, strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
                      dilationWFactor=dilation[1], fusedActivationFunction=activation)
        if depthwise:
            inputs = [x, weights] if i % 5 == 0 else [x, weights, bias]
            cases.add("depthwise_%d" % i, schema.BuiltinOperator.DEPTHWISE_CONV_2D,
                      options("DepthwiseConv2DOptions", depthMultiplier=out_c // c, **common), inputs, [y])
        else:
            cases.add("conv_%d" % i, schema.BuiltinOperator.CONV_2D, options("Conv2DOptions", **common),
                      [x, weights, bias], [y])


def fully_connected(cases, count):
    for i in range(count):
        dtype = cases.choice("int8", "int8", "uint8")
        batch, depth, units = cases.choice(1, 1, 3), cases.choice(1, 7, 33, 130), cases.choice(1, 5, 17)
        x = cases.activation([batch, depth], dtype)
        weights = weights_for(cases, [units, depth], dtype, units, 0, dtype == "int8" and i % 2 == 0)
        bias = bias_for(cases, units, depth, x.scale, weights.scale)
        reach = float(np.max(weights.scale)) * float(x.scale[0]) * 100 * np.sqrt(depth)
        y = Tensor([batch, units], dtype, cases.scale(reach / 2, reach * 2), cases.zero(dtype))
        cases.add("fully_connected_%d" % i, schema.BuiltinOperator.FULLY_CONNECTED,
                  options("FullyConnectedOptions", fusedActivationFunction=cases.choice(NONE, RELU, RELU6)),
                  [x, weights, bias if i % 4 else None], [y])


def elementwise(cases, count):
    shapes = [([1, 3, 5, 7], [1, 3, 5, 7]), ([1, 4, 3, 17], [17]), ([2, 3, 1, 5], [1, 4, 1]), ([1, 2, 3, 4], []),
              ([1, 1, 1, 5], [2, 3, 4, 1])]
    codes = {"add": (schema.BuiltinOperator.ADD, "AddOptions"), "sub": (schema.BuiltinOperator.SUB, "SubOptions"),
             "mul": (schema.BuiltinOperator.MUL, "MulOptions")}
    for name, (code, kind) in codes.items():
        for i in range(count):
            dtype = cases.choice("int8", "uint8")
            a, b = shapes[i % len(shapes)]
            x = cases.activation(a, dtype)
            z = cases.activation(b, dtype)
            if cases.rng.integers(3) == 0:
                z.data = cases.values(z, False)
            shape = np.broadcast_shapes(tuple(a), tuple(b))
            low, high = (0.0005, 0.02) if name == "mul" else (0.01, 0.4)
            y = cases.activation(shape, dtype, low=low, high=high)
            cases.add("%s_%d" % (name, i), code,
                      options(kind, fusedActivationFunction=cases.choice(NONE, NONE, RELU, RELU6, RELU_N1)),
                      [x, z], [y])


def pools(cases, count):
    for i in range(count):
        dtype = cases.choice("int8", "uint8")
        h, w = (int(v) for v in cases.rng.integers(4, 11, 2))
        fh, fw = cases.choice((2, 2), (3, 3), (3, 2), (4, 1))
        sh, sw = cases.choice((1, 1), (2, 2), (1, 3))
        padding = cases.choice(SAME, VALID)
        c = cases.choice(1, 5, 17)
        x = cases.activation([cases.choice(1, 2), h, w, c], dtype)
        y = Tensor([x.shape[0], spatial(h, fh, sh, 1, padding), spatial(w, fw, sw, 1, padding), c], dtype, x.scale,
                   x.zero)
        pool = options("Pool2DOptions", padding=padding, strideH=sh, strideW=sw, filterHeight=fh, filterWidth=fw,
                       fusedActivationFunction=cases.choice(NONE, NONE, RELU, RELU6))
        average = i % 2 == 0
        code = schema.BuiltinOperator.AVERAGE_POOL_2D if average else schema.BuiltinOperator.MAX_POOL_2D
        cases.add("%s_pool_%d" % ("average" if average else "max", i), code, pool, [x], [y])


def all_values(dtype):
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1).astype(dtype).reshape(1, 2, 4, 32)


def unary(cases, count):
    for i in range(count):
        dtype = cases.choice("int8", "uint8")
        x = cases.activation([1, 2, 4, 32], dtype)
        feeds = [[all_values(dtype)]]
        y = Tensor(x.shape, dtype, 1.0 / 256, -128 if dtype == "int8" else 0)
        if i % 3 == 2:
            y.zero = np.array([cases.zero(dtype)])
        cases.add("logistic_%d" % i, schema.BuiltinOperator.LOGISTIC, None, [x], [y], feeds)
        y = cases.activation(x.shape, dtype)
        cases.add("leaky_relu_%d" % i, schema.BuiltinOperator.LEAKY_RELU,
                  options("LeakyReluOptions", alpha=cases.choice(0.1, 0.01, 0.25, -0.3, 0.0)), [x], [y], feeds)
        other = cases.choice("int8", "uint8")
        y = cases.activation(x.shape, other)
        cases.add("quantize_%d" % i, schema.BuiltinOperator.QUANTIZE, options("QuantizeOptions"), [x], [y], feeds)
        source = Tensor([1, 3, 5, 40], "float32")
        values = cases.values(source, False)
        values.flat[:5] = [np.inf, -np.inf, 3e9, -3e9, np.nan]
        cases.add("quantize_float_%d" % i, schema.BuiltinOperator.QUANTIZE, options("QuantizeOptions"), [source],
                  [cases.activation(source.shape, dtype)], [[values]])
        depth = cases.choice(1, 2, 10, 85)
        x = cases.activation([3, depth], dtype, low=0.01, high=0.9)
        y = Tensor([3, depth], dtype, 1.0 / 256, -128 if dtype == "int8" else 0)
        cases.add("softmax_%d" % i, schema.BuiltinOperator.SOFTMAX,
                  options("SoftmaxOptions", beta=cases.choice(1.0, 1.0, 0.5)), [x], [y])


def means(cases, count):
    for i in range(count):
        dtype = cases.choice("int8", "uint8")
        shape = [cases.choice(1, 2), *(int(v) for v in cases.rng.integers(2, 8, 2)), cases.choice(3, 17)]
        axes = cases.choice([1, 2], [2, 1], [-2, -3], [3], [1, 2, 3], [1], [2, 2])
        keep = bool(cases.rng.integers(2))
        reduced = {a % 4 for a in axes}
        out = [1 if d in reduced else s for d, s in enumerate(shape) if keep or d not in reduced]
        x = cases.activation(shape, dtype)
        y = Tensor(out, dtype, np.float32(x.scale[0] * cases.choice(1.0, 0.3, 1.7, 0.5)), cases.zero(dtype))
        cases.add("mean_%d" % i, schema.BuiltinOperator.MEAN, options("ReducerOptions", keepDims=keep),
                  [x, constant(axes)], [y])


def movement(cases, count):
    for i in range(count):
        dtype = cases.choice("int8", "uint8")
        h, w = (int(v) for v in cases.rng.integers(2, 7, 2))
        c = cases.choice(1, 3, 6)
        x = cases.activation([2, h, w, c], dtype)

        def like(shape):
            return Tensor(shape, dtype, x.scale, x.zero)

        pads = cases.rng.integers(0, 3, (4, 2))
        cases.add("pad_%d" % i, schema.BuiltinOperator.PAD, options("PadOptions"), [x, constant(pads)],
                  [cases.activation((np.array(x.shape) + pads.sum(1)).tolist(), dtype)])
        order = cases.rng.permutation(4)
        cases.add("transpose_%d" % i, schema.BuiltinOperator.TRANSPOSE, options("TransposeOptions"),
                  [x, constant(order)], [like([x.shape[a] for a in order])])
        cases.add("reshape_%d" % i, schema.BuiltinOperator.RESHAPE,
                  options("ReshapeOptions", newShape=[2, h * w * c]), [x, constant([2, h * w * c])],
                  [like([2, h * w * c])])
        align, half = cases.choice((False, False), (True, False), (False, True))
        oh, ow = (int(v) for v in cases.rng.integers(1, 12, 2))
        cases.add("resize_%d" % i, schema.BuiltinOperator.RESIZE_NEAREST_NEIGHBOR,
                  options("ResizeNearestNeighborOptions", alignCorners=align, halfPixelCenters=half),
                  [x, constant([oh, ow])], [like([2, oh, ow, c])])
        axis = int(cases.rng.integers(-4, 4))
        part = list(x.shape)
        parts = cases.choice(1, 2, 3)
        whole = list(x.shape)
        whole[axis] *= parts
        cases.add("split_%d" % i, schema.BuiltinOperator.SPLIT, options("SplitOptions", numSplits=parts),
                  [Tensor([], "int32", data=np.array(axis, np.int32)), like(whole)], [like(part) for _ in range(parts)])
        joined = []
        for _ in range(cases.choice(2, 3)):
            shape = list(x.shape)
            shape[axis] = int(cases.rng.integers(1, 5))
            same = dtype == "int8" or cases.rng.integers(2) == 0
            joined.append(like(shape) if same else cases.activation(shape, dtype))
        out = list(x.shape)
        out[axis] = sum(t.shape[axis] for t in joined)
        cases.add("concatenation_%d" % i, schema.BuiltinOperator.CONCATENATION,
                  options("ConcatenationOptions", axis=axis), joined, [like(out)])


def slices(cases):
    # begin, end, strides, begin_mask, end_mask, shrink_axis_mask on [2, 5, 6, 3]
    rows = [([0, 1, 2, 0], [2, 4, 6, 3], [1, 2, 1, 1], 0, 0, 0), ([0, 0, 0, 0], [0, 0, 3, 0], [1, 1, 2, 1], 11, 11, 0),
            ([0, -1, 5, 0], [2, 0, 0, 3], [1, -1, -2, 1], 0, 0, 0), ([0, 4, 0, 1], [2, -6, 6, 2], [1, -2, 1, 1], 0, 0, 8),
            ([1, 0, 0, 0], [2, 5, 6, 3], [1, 1, 1, 1], 0, 0, 1), ([0, -3], [2, 100], [1, 1], 0, 0, 0),
            ([0, 0, -100, -2], [0, 0, 100, -1], [1, -1, 1, 1], 3, 3, 0)]
    for i, (begin, end, strides, begin_mask, end_mask, shrink) in enumerate(rows):
        dtype = cases.choice("int8", "uint8")
        x = cases.activation([2, 5, 6, 3], dtype)
        index = []
        for d in range(len(begin)):
            bit = 1 << d
            if shrink & bit:
                index.append(begin[d])
            else:
                index.append(slice(None if begin_mask & bit else begin[d], None if end_mask & bit else end[d], strides[d]))
        shape = np.zeros(x.shape)[tuple(index)].shape
        cases.add("strided_slice_%d" % i, schema.BuiltinOperator.STRIDED_SLICE,
                  options("StridedSliceOptions", beginMask=begin_mask, endMask=end_mask, shrinkAxisMask=shrink),
                  [x, constant(begin), constant(end), constant(strides)],
                  [Tensor(shape, dtype, x.scale, x.zero)])


def quantize_multiplier(x):
    fraction, exponent = np.frexp(float(x))
    mantissa = int(np.floor(fraction * 2.0**31 + 0.5))
    return (mantissa >> 1, exponent + 1) if mantissa == 1 << 31 else (mantissa, int(exponent))


def scaled(x, multiplier):
    """Two roundings, for finding inputs that tell a right multiplier from a wrong one."""
    mantissa, exponent = quantize_multiplier(multiplier)
    x = np.asarray(x, np.int64) << max(exponent, 0)
    high = (x * mantissa + (1 << 30)) >> 31
    right = max(-exponent, 0)
    return np.sign(high) * ((np.abs(high) + ((1 << right) >> 1)) >> right)


def directed(cases, count, tries):
    """Inputs on which float32 and double multipliers give different outputs: random ones almost never do."""
    q = np.arange(-128, 128)
    products = np.unique(np.outer(q, q))
    made = dict(mul=0, leaky=0, conv_int8=0, conv_uint8=0, concat=0)
    for _ in range(tries):
        if min(made.values()) >= count:
            break
        # Ratios of small integers: products near a tie, which float32 rounds onto it or off it.
        a, b, y = (np.float32(cases.rng.integers(1, 32) / cases.rng.integers(1, 32) / 16) for _ in range(3))
        wide = float(a) * float(b) / float(y)
        differ = products[scaled(products, np.float32(a * b) / y) != scaled(products, wide)]
        differ = differ[np.abs(scaled(differ, wide)) < 127]
        if len(differ) and made["mul"] < count:
            made["mul"] += 1
            pairs = [next((i, d // i) for i in q if i and d % i == 0 and -128 <= d // i < 128) for d in differ[:40]]
            x = Tensor([len(pairs)], "int8", a, 0)
            cases.add("mul_directed_%d" % made["mul"], schema.BuiltinOperator.MUL, options("MulOptions"),
                      [x, Tensor(x.shape, "int8", b, 0)], [Tensor(x.shape, "int8", y, 0)],
                      [[np.array([p[k] for p in pairs], np.int8) for k in (0, 1)]])
        alpha = np.float32(cases.rng.integers(1, 10) / 10)
        narrow, wide = np.float32(a * alpha) / y, float(a) * float(alpha) / float(y)
        if (scaled(q[:128], narrow) != scaled(q[:128], wide)).any() and made["leaky"] < count:
            made["leaky"] += 1
            x = Tensor([1, 2, 4, 32], "int8", a, 0)
            cases.add("leaky_directed_%d" % made["leaky"], schema.BuiltinOperator.LEAKY_RELU,
                      options("LeakyReluOptions", alpha=float(alpha)), [x], [Tensor(x.shape, "int8", y, 0)],
                      [[all_values("int8")]])
        w = np.float32(y * 1e-7 / a)  # so fine that accumulators exist between the two ties
        ties = (np.arange(-100, 100) + 0.5) / (float(a) * float(w) / float(y))
        accumulators = (np.round(ties)[:, None] + np.arange(-40, 40)).astype(np.int64).ravel()
        narrow, wide = float(np.float32(a * w)) / float(y), float(a) * float(w) / float(y)
        differ = accumulators[scaled(accumulators, narrow) != scaled(accumulators, wide)]
        differ = differ[:: max(1, len(differ) // 40)]
        for dtype in ("int8", "uint8"):
            if len(differ) < 4 or made["conv_" + dtype] >= count:
                continue
            made["conv_" + dtype] += 1
            zero = 0 if dtype == "int8" else 128
            bias = Tensor([len(differ)], "int32", np.float32(a * w), 0, 0, differ.astype(np.int32))
            cases.add("conv_directed_%s_%d" % (dtype, made["conv_" + dtype]), schema.BuiltinOperator.CONV_2D,
                      options("Conv2DOptions", strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1),
                      [Tensor([1, 1, 1, 1], dtype, a, zero),
                       Tensor([len(differ), 1, 1, 1], dtype, w, zero, 0, np.ones((len(differ), 1, 1, 1), dtype)), bias],
                      [Tensor([1, 1, 1, len(differ)], dtype, y, zero)], [[np.full((1, 1, 1, 1), zero, dtype)]])
        zi = int(cases.rng.integers(0, 256))
        a, y = (np.float32(2.0 ** cases.rng.integers(-6, -2) * cases.rng.integers(1, 12)) for _ in range(2))
        stored = np.arange(256)
        factor = np.float32(a * (np.float32(1) / y))
        narrow = np.float32(stored.astype(np.float32) * factor) + np.float32(np.float32(-zi) * factor)
        wide = (stored - zi) * float(a) / float(y)
        away = lambda v: np.sign(v) * np.floor(np.abs(v) + 0.5)
        inside = np.abs(wide) < 100
        if ((away(narrow) != away(wide)) & inside).any() and made["concat"] < count:
            made["concat"] += 1
            x = Tensor([256], "uint8", a, zi)
            cases.add("concat_directed_%d" % made["concat"], schema.BuiltinOperator.CONCATENATION,
                      options("ConcatenationOptions", axis=0), [x, Tensor([1], "uint8", y, 128)],
                      [Tensor([257], "uint8", y, 128)], [[stored.astype(np.uint8), np.zeros(1, np.uint8)]])


    print(made)


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("kernel_cases.npz"))
    cases = Cases(20240607)
    convolutions(cases, 60)
    fully_connected(cases, 16)
    elementwise(cases, 10)
    pools(cases, 16)
    unary(cases, 6)
    means(cases, 14)
    movement(cases, 6)
    slices(cases)
    directed(cases, 3, 1500)
    cases.write(path)
    print(len(cases.names), "cases,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
