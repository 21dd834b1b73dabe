"""TFLite models from random numbers, packed with the schema classes that ai-edge-litert ships.

Nothing of peraxis takes part: what is built here is read by LiteRT and by peraxis, and the two are compared. A model
is a list of 4-D feature maps that grows by one operator at a time; `random_model` draws the operators. Parameters are
drawn so that LiteRT's reference kernels accept them and outputs neither stay at the zero point nor all saturate.
"""
import dataclasses
import math

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

Builtin, Options, Type = schema.BuiltinOperator, schema.BuiltinOptions, schema.TensorType
ACTIVATIONS = {"none": 0, "relu": 1, "relu_n1_to_1": 2, "relu6": 3}
CHANNELS = (1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100)
RATIOS = (1, 4, 30, 1e3, 1e5, 1e8)  # largest over smallest weight scale of a layer


@dataclasses.dataclass
class Map:
    """A feature map, NHWC or any other shape."""
    index: int
    shape: tuple
    scale: float
    zero_point: int
    dtype: type

    @property
    def limits(self):
        info = np.iinfo(self.dtype)
        return int(info.min), int(info.max)


class ModelBuilder:
    def __init__(self, rng):
        self.rng = rng
        self.operators = []  # one line an operator, for the report of a failure
        self.inputs = []
        self.default_kernels_crash = False  # XNNPACK 2.3.0 dereferences the bias of a depthwise convolution without one
        self.model = schema.ModelT()
        self.model.version, self.model.buffers, self.model.operatorCodes = 3, [schema.BufferT()], []
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.model.subgraphs = [self.graph]

    # -- tensors ------------------------------------------------------------------------------------------------
    def tensor(self, shape, dtype, scales=(), zero_points=(), axis=0, data=None):
        made = schema.TensorT()
        made.name = f"t{len(self.graph.tensors)}"
        made.shape = [int(n) for n in shape]
        made.type = {np.int8: Type.INT8, np.uint8: Type.UINT8, np.int32: Type.INT32, np.float32: Type.FLOAT32}[dtype]
        made.quantization = schema.QuantizationParametersT()
        if len(scales):
            made.quantization.scale = [float(s) for s in scales]
            made.quantization.zeroPoint = [int(z) for z in zero_points]
            made.quantization.quantizedDimension = axis
        made.buffer = 0
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data, dtype).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            made.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def constant(self, values):
        values = np.asarray(values, np.int32)
        return self.tensor(values.shape, np.int32, data=values)

    def map(self, shape, scale, zero_point, dtype):
        scale = float(np.float32(scale))
        return Map(self.tensor(shape, dtype, [scale], [zero_point]), tuple(int(n) for n in shape), scale, int(zero_point), dtype)

    def input(self, shape, dtype):
        info = np.iinfo(dtype)
        made = self.map(shape, 10 ** self.rng.uniform(-2.5, 0), self.rng.integers(info.min, info.max + 1), dtype)
        self.inputs.append(made)
        return made

    # -- operators ----------------------------------------------------------------------------------------------
    def operator(self, code, inputs, outputs, kind="", options=None, version=1, **fields):
        operator_code = schema.OperatorCodeT()
        operator_code.builtinCode, operator_code.version = code, version
        operator_code.deprecatedBuiltinCode = min(code, 127)
        self.model.operatorCodes.append(operator_code)
        made = schema.OperatorT()
        made.opcodeIndex = len(self.model.operatorCodes) - 1
        made.inputs, made.outputs = [m.index if isinstance(m, Map) else m for m in inputs], [m.index for m in outputs]
        if options:
            made.builtinOptionsType = getattr(Options, options)
            made.builtinOptions = getattr(schema, options + "T")()
            for name, value in fields.items():
                assert hasattr(made.builtinOptions, name), f"{options} has no {name}"
                setattr(made.builtinOptions, name, value)
        self.graph.operators.append(made)
        shapes = ", ".join(str(m.shape) for m in inputs if isinstance(m, Map))
        self.operators.append(f"{kind} {shapes} -> {', '.join(str(m.shape) for m in outputs)} {fields}")
        return outputs[0]

    def same(self, source, shape):
        """A new map with the parameters of another."""
        return self.map(shape, source.scale, source.zero_point, source.dtype)

    def fresh(self, shape, dtype, scale, activation="none"):
        """A new map with any zero point; often one that leaves the activation's range inside the type."""
        info = np.iinfo(dtype)
        drawn = self.rng.integers(info.min, info.max + 1)
        if self.rng.random() < 0.6:
            middle = info.min + (0 if activation in ("relu", "relu6") else 128)
            drawn = np.clip(middle + self.rng.integers(-20, 21), info.min, info.max)
        return self.map(shape, scale, drawn, dtype)

    def weights_of(self, source, shape, axis, fan_in, per_axis, ratio, gain, weight_zero_point):
        """Weights, their scales and zero point, bias, and the scale of the output."""
        rng, channels = self.rng, shape[axis]
        info = np.iinfo(np.uint8 if source.dtype == np.uint8 else np.int8)
        weights = rng.integers(max(info.min, -127), info.max + 1, shape)
        zero_point = int(weight_zero_point) if source.dtype == np.uint8 or weight_zero_point else 0
        if per_axis:
            scales = np.exp(rng.uniform(0, 1, channels) * math.log(ratio))
            scales[rng.integers(channels)] = scales.min()
            dead = rng.random(channels) < (0.2 if rng.random() < 0.3 else 0)
            dead[rng.integers(channels)] = False
            np.moveaxis(weights, axis, 0)[dead] = 0
        else:
            scales, dead = np.ones(1), np.zeros(1, bool)
        live = scales[~dead]
        # Spread of an accumulator whose inputs are spread over the whole type.
        spread = math.sqrt(fan_in) * 74 * (74 if zero_point == 0 or source.dtype == np.uint8 else 100)
        size = {"zero": 0.0, "small": 0.02, "middle": 0.5, "big": 6.0}[rng.choice(["zero", "small", "middle", "middle", "big"])]
        bias = np.clip(rng.normal(0, 1, channels) * size * spread, -2**30, 2**30).astype(np.int32)
        if rng.random() < 0.8:
            # Else an input zero point far from the middle moves whole channels out of the type.
            offset = sum(source.limits) / 2 - source.zero_point
            sums = np.moveaxis(weights - zero_point, axis, 0).reshape(channels, -1).sum(1)
            bias = (bias - offset * sums).astype(np.int32)
        typical = math.exp(rng.uniform(math.log(np.median(live)), math.log(live.max())))
        # The weight scales follow from the scale of the output, so that deep graphs neither vanish nor explode.
        out_scale = 10 ** rng.uniform(-2.5, 0.3)
        if gain == "high":  # multipliers of 1 and more: one accumulator step is several output steps
            scales *= out_scale / source.scale / live.max() * 10 ** rng.uniform(0, 3)
        else:
            scales *= out_scale / source.scale / typical * rng.uniform(15, 90) / spread
        scales[dead] = 10 ** rng.uniform(-12, -8)
        return weights, scales.astype(np.float32), zero_point, bias, out_scale

    def parameters(self, source, shape, axis, fan_in, style, activation, is_fully_connected=False):
        """Weight and bias tensors of one layer, and a function that makes its output map."""
        rng = self.rng
        per_axis = style == "per-axis"
        high = rng.random() < 0.12
        ratio = RATIOS[rng.integers(len(RATIOS))] if not high else 4
        zero = rng.integers(1, 255) if source.dtype == np.uint8 else rng.integers(-60, 61) if is_fully_connected and not per_axis else 0
        weights, scales, zero_point, bias, out_scale = self.weights_of(source, shape, axis, fan_in, per_axis, ratio,
                                                                       "high" if high else "normal", zero)
        w = self.tensor(shape, source.dtype, scales, [zero_point] * len(scales), axis, weights)
        b = self.tensor(bias.shape, np.int32, np.float32(source.scale) * scales, [0] * len(scales), 0, bias)
        return w, b, lambda out: self.fresh(out, source.dtype, out_scale, activation)

    def conv(self, source, style, out_channels, kernel, stride, padding, activation, dilation=(1, 1), groups=1):
        n, h, w, c = source.shape
        depth = c // groups
        weights, bias, make = self.parameters(source, (out_channels, *kernel, depth), 0, kernel[0] * kernel[1] * depth, style,
                                              activation)
        out = make((n, *extent((h, w), spans(kernel, dilation), stride, padding), out_channels))
        text = f"conv_2d {style} {kernel} dilation {dilation} groups {groups} batch {n}"
        return self.operator(Builtin.CONV_2D, [source, weights, bias], [out], text, "Conv2DOptions",
                             padding=padding, strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
                             dilationWFactor=dilation[1], fusedActivationFunction=ACTIVATIONS[activation])

    def depthwise(self, source, style, kernel, stride, padding, activation, dilation=(1, 1), multiplier=1):
        n, h, w, c = source.shape
        weights, bias, make = self.parameters(source, (1, *kernel, c * multiplier), 3, kernel[0] * kernel[1], style, activation)
        out = make((n, *extent((h, w), spans(kernel, dilation), stride, padding), c * multiplier))
        text = f"depthwise {style} {kernel} dilation {dilation} multiplier {multiplier} batch {n}"
        inputs = [source, weights, bias]
        if self.rng.random() < 0.1:
            del inputs[2]
            self.default_kernels_crash = True
        return self.operator(Builtin.DEPTHWISE_CONV_2D, inputs, [out], text, "DepthwiseConv2DOptions", padding=padding,
                             strideH=stride[0], strideW=stride[1], depthMultiplier=multiplier, dilationHFactor=dilation[0],
                             dilationWFactor=dilation[1], fusedActivationFunction=ACTIVATIONS[activation])

    def fully_connected(self, source, style, units, activation):
        rows, columns = source.shape
        weights, bias, make = self.parameters(source, (units, columns), 0, columns, style, activation, True)
        if self.rng.random() < 0.2:
            bias = -1
        return self.operator(Builtin.FULLY_CONNECTED, [source, weights, bias], [make((rows, units))], f"fully_connected {style}",
                             "FullyConnectedOptions", version=4, fusedActivationFunction=ACTIVATIONS[activation])

    def elementwise(self, name, a, b, activation):
        code = {"add": Builtin.ADD, "sub": Builtin.SUB, "mul": Builtin.MUL}[name]
        natural = a.scale * b.scale * 60 if name == "mul" else max(a.scale, b.scale)
        out = self.fresh(a.shape, a.dtype, natural * self.rng.uniform(0.6, 2.5))
        return self.operator(code, [a, b], [out], name, name.capitalize() + "Options", version=2,
                             fusedActivationFunction=ACTIVATIONS[activation])

    def quantize(self, source, scale=None, zero_point=None, dtype=None):
        dtype = dtype or source.dtype
        scale = scale or source.scale * self.rng.uniform(0.3, 3)
        out = self.fresh(source.shape, dtype, scale) if zero_point is None else self.map(source.shape, scale, zero_point, dtype)
        return self.operator(Builtin.QUANTIZE, [source], [out], "quantize", "QuantizeOptions", version=2)

    def concat(self, maps):
        first = maps[0]
        same = [m if (m.scale, m.zero_point) == (first.scale, first.zero_point) else
                self.quantize(m, first.scale, first.zero_point) for m in maps]
        out = self.same(first, (*first.shape[:3], sum(m.shape[3] for m in maps)))
        return self.operator(Builtin.CONCATENATION, same, [out], "concatenation", "ConcatenationOptions", version=2, axis=3)

    def split(self, source, parts):
        axis = self.constant(3)
        outs = [self.same(source, (*source.shape[:3], source.shape[3] // parts)) for _ in range(parts)]
        self.operator(Builtin.SPLIT, [axis, source], outs, "split", "SplitOptions", version=2, numSplits=parts)
        return outs

    def pool(self, source, name, kernel, stride, padding, activation):
        out = self.same(source, (1, *extent(source.shape[1:3], kernel, stride, padding), source.shape[3]))
        code = {"max_pool": Builtin.MAX_POOL_2D, "average_pool": Builtin.AVERAGE_POOL_2D}[name]
        return self.operator(code, [source], [out], name, "Pool2DOptions", version=2, padding=padding, strideH=stride[0],
                             strideW=stride[1], filterHeight=kernel[0], filterWidth=kernel[1],
                             fusedActivationFunction=ACTIVATIONS[activation])

    def pad(self, source, amounts):
        out = self.same(source, [n + before + after for n, (before, after) in zip(source.shape, amounts)])
        return self.operator(Builtin.PAD, [source, self.constant(amounts)], [out], "pad", "PadOptions", version=2)

    def resize(self, source, size, align, half):
        out = self.same(source, (1, *size, source.shape[3]))
        return self.operator(Builtin.RESIZE_NEAREST_NEIGHBOR, [source, self.constant(size)], [out], "resize",
                             "ResizeNearestNeighborOptions", version=3, alignCorners=align, halfPixelCenters=half)

    def reshape(self, source, shape):
        out = self.same(source, shape)
        return self.operator(Builtin.RESHAPE, [source, self.constant(shape)], [out], "reshape", "ReshapeOptions", newShape=list(shape))

    def strided_slice(self, source, begin, end, strides):
        shape = [math.ceil((e - b) / s) for b, e, s in zip(begin, end, strides)]
        return self.operator(Builtin.STRIDED_SLICE, [source, self.constant(begin), self.constant(end), self.constant(strides)],
                             [self.same(source, shape)], f"strided_slice {begin} {end} {strides}", "StridedSliceOptions", version=2)

    def transpose(self, source, order):
        out = self.same(source, [source.shape[n] for n in order])
        return self.operator(Builtin.TRANSPOSE, [source, self.constant(order)], [out], f"transpose {order}", "TransposeOptions", version=2)

    def logistic(self, source):
        out = self.map(source.shape, 1 / 256, -128 if source.dtype == np.int8 else 0, source.dtype)
        return self.operator(Builtin.LOGISTIC, [source], [out], "logistic", version=2)

    def softmax(self, source):
        if not 1e-4 < source.scale < 8:  # LiteRT aborts on scales below 2^-26
            source = self.quantize(source, 0.05)
        out = self.map(source.shape, 1 / 256, -128 if source.dtype == np.int8 else 0, source.dtype)
        return self.operator(Builtin.SOFTMAX, [source], [out], "softmax", "SoftmaxOptions", version=2, beta=1.0)

    def leaky_relu(self, source, alpha):
        out = self.fresh(source.shape, source.dtype, source.scale * self.rng.uniform(0.6, 1.6))
        return self.operator(Builtin.LEAKY_RELU, [source], [out], "leaky_relu", "LeakyReluOptions", version=2, alpha=alpha)

    def mean(self, source):
        out = self.fresh((1, 1, 1, source.shape[3]), source.dtype, source.scale * self.rng.uniform(0.3, 1.2))
        return self.operator(Builtin.MEAN, [source, self.constant([1, 2])], [out], "mean", "ReducerOptions", version=2, keepDims=True)

    # -- operators that run on the CPU only -----------------------------------------------------------------------
    def unary(self, source, name):
        """relu, relu6, relu_n1_to_1, tanh or hard_swish."""
        code, kind = {"relu": (Builtin.RELU, ""), "relu6": (Builtin.RELU6, ""), "relu_n1_to_1": (Builtin.RELU_N1_TO_1, ""),
                      "tanh": (Builtin.TANH, ""), "hard_swish": (Builtin.HARD_SWISH, "HardSwishOptions")}[name]
        scale = 1 / 128 if name == "tanh" else source.scale * self.rng.uniform(0.6, 1.6)
        out = self.fresh(source.shape, source.dtype, scale, name)
        return self.operator(code, [source], [out], name, kind, version=1 if name != "tanh" else 2)

    def extremum(self, name, a, b):
        code = {"maximum": Builtin.MAXIMUM, "minimum": Builtin.MINIMUM}[name]
        return self.operator(code, [a, b], [self.same(a, a.shape)], name, "MaximumMinimumOptions", version=2)

    def prelu(self, source):
        slopes = self.tensor((1, 1, source.shape[3]), source.dtype, [0.01], [3], 0,
                             self.rng.integers(*source.limits, (1, 1, source.shape[3])))
        out = self.fresh(source.shape, source.dtype, source.scale * self.rng.uniform(0.6, 1.6))
        return self.operator(Builtin.PRELU, [source, slopes], [out], "prelu")

    def transpose_conv(self, source, style, out_channels, kernel, stride, padding, activation="none"):
        n, h, w, c = source.shape
        size = [(n if padding == 0 else n - 1) * s + (0 if padding == 0 else k) for n, s, k in zip((h, w), stride, kernel)]
        weights, bias, make = self.parameters(source, (out_channels, *kernel, c), 0, kernel[0] * kernel[1] * c, style, activation)
        out = make((n, *size, out_channels))
        return self.operator(Builtin.TRANSPOSE_CONV, [self.constant(out.shape), weights, source, bias], [out],
                             f"transpose_conv {style} {kernel} stride {stride} batch {n}", "TransposeConvOptions", version=4,
                             padding=padding, strideH=stride[0], strideW=stride[1],
                             fusedActivationFunction=ACTIVATIONS[activation])

    def resize_bilinear(self, source, size, align, half):
        out = self.same(source, (1, *size, source.shape[3]))
        return self.operator(Builtin.RESIZE_BILINEAR, [source, self.constant(size)], [out], "resize_bilinear",
                             "ResizeBilinearOptions", version=3, alignCorners=align, halfPixelCenters=half)

    def depth_to_space(self, source, block):
        n, h, w, c = source.shape
        out = self.same(source, (n, h * block, w * block, c // block**2))
        return self.operator(Builtin.DEPTH_TO_SPACE, [source], [out], "depth_to_space", "DepthToSpaceOptions", blockSize=block)

    def space_to_depth(self, source, block):
        n, h, w, c = source.shape
        out = self.same(source, (n, h // block, w // block, c * block**2))
        return self.operator(Builtin.SPACE_TO_DEPTH, [source], [out], "space_to_depth", "SpaceToDepthOptions", version=2,
                             blockSize=block)

    def mirror_pad(self, source, amounts, symmetric):
        out = self.same(source, [n + before + after for n, (before, after) in zip(source.shape, amounts)])
        return self.operator(Builtin.MIRROR_PAD, [source, self.constant(amounts)], [out], "mirror_pad", "MirrorPadOptions",
                             mode=int(symmetric))

    def slice(self, source, begin, size):
        return self.operator(Builtin.SLICE, [source, self.constant(begin), self.constant(size)], [self.same(source, size)],
                             "slice", "SliceOptions", version=2)

    def split_v(self, source, sizes):
        outs = [self.same(source, (*source.shape[:3], n)) for n in sizes]
        axis = self.tensor((), np.int32, data=np.array(3, np.int32))
        self.operator(Builtin.SPLIT_V, [source, self.constant(sizes), axis], outs, "split_v", "SplitVOptions", version=2,
                      numSplits=len(sizes))
        return outs

    def reduce_max(self, source):
        out = self.same(source, (1, 1, source.shape[2], source.shape[3]))
        return self.operator(Builtin.REDUCE_MAX, [source, self.constant([1])], [out], "reduce_max", "ReducerOptions", version=2,
                             keepDims=True)

    def gather(self, source, indices):
        out = self.same(source, (*source.shape[:3], len(indices)))
        return self.operator(Builtin.GATHER, [source, self.constant(indices)], [out], "gather", "GatherOptions", version=2, axis=3)

    def unpack_and_pack(self, source):
        """The columns one by one, and together again in the other order."""
        columns = [self.same(source, (source.shape[0], source.shape[1], source.shape[3])) for _ in range(source.shape[2])]
        self.operator(Builtin.UNPACK, [source], columns, "unpack", "UnpackOptions", version=2, num=len(columns), axis=2)
        return self.operator(Builtin.PACK, columns[::-1], [self.same(source, source.shape)], "pack", "PackOptions", version=2,
                             valuesCount=len(columns), axis=2)

    def real_island(self, source):
        """Out to float32, through a few operators, and back."""
        def real(shape):
            made = self.tensor(shape, np.float32)
            return Map(made, tuple(shape), 1.0, 0, np.float32)
        there = self.operator(Builtin.DEQUANTIZE, [source], [real(source.shape)], "dequantize", "DequantizeOptions", version=2)
        gate = self.operator(Builtin.LOGISTIC, [there], [real(source.shape)], "logistic")
        product = self.operator(Builtin.MUL, [there, gate], [real(source.shape)], "mul", "MulOptions")
        back = self.fresh(source.shape, source.dtype, source.scale * self.rng.uniform(0.6, 1.6))
        return self.operator(Builtin.QUANTIZE, [product], [back], "quantize", "QuantizeOptions", version=2)

    # -- file ---------------------------------------------------------------------------------------------------
    def bytes(self):
        """Every map that no operator reads is an output."""
        used = {n for operator in self.graph.operators for n in operator.inputs}
        self.graph.inputs = [m.index for m in self.inputs]
        self.graph.outputs = [n for operator in self.graph.operators for n in operator.outputs if n not in used]
        builder = flatbuffers.Builder(4096)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def spans(kernel, dilation):
    return tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation))


def extent(size, kernel, stride, padding):
    """Rows and columns of the output: SAME 0, VALID 1."""
    if padding == 0:
        return tuple(-(-n // s) for n, s in zip(size, stride))
    return tuple(-(-(n - k + 1) // s) for n, k, s in zip(size, kernel, stride))


def input_sets(maps, rng):
    """Uniform values, extremes only, and small values near the zero point."""
    sets = []
    for kind in range(3):
        values = []
        for m in maps:
            low, high = m.limits
            drawn = (rng.integers(low, high + 1, m.shape), rng.choice([low, high], m.shape),
                     np.clip(m.zero_point + rng.integers(-6, 7, m.shape), low, high))[kind]
            values.append(drawn.astype(m.dtype))
        sets.append(values)
    return sets
