"""Random single-operator models of every operator and type beyond those of make_kernel_cases.py.

Each function draws models into a `Cases`, which asks LiteRT's reference kernels for the expected outputs. Program:
writes operator_cases.npz. tests/python/random_operators_test.py draws others, with seeds of its own.
Needs numpy, flatbuffers and ai_edge_litert.
"""
import pathlib
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers

from case_parts import EVERY_TYPE, OP, QUANTIZED, SHAPES, all_of, feeds_of, like, real, values
from function_cases import OPTIMISED, computed_weights, dead_scales, functions, normalizations
from make_kernel_cases import NONE, RELU, RELU6, RELU_N1, SAME, VALID, Cases, Tensor, build, constant, options, spatial  # noqa: F401
from movement_cases import blocks, indexing, makers, movement, slices
from sequence_cases import sequences, sums, suppressions


def binary(cases, count):
    rows = {"add": (OP.ADD, "AddOptions", EVERY_TYPE), "sub": (OP.SUB, "SubOptions", EVERY_TYPE),
            "mul": (OP.MUL, "MulOptions", EVERY_TYPE)}
    for name, (code, kind, types) in rows.items():
        for i in range(count):
            dtype = types[i % len(types)]
            a, b = cases.choice(*SHAPES)
            x, z = cases.activation(a, dtype), cases.activation(b, dtype)
            low, high = (0.0005, 0.02) if name == "mul" and dtype != "int16" else (0.01, 0.4)
            y = cases.activation(np.broadcast_shapes(tuple(a), tuple(b)), dtype, low=low, high=high)
            made = options(kind, fusedActivationFunction=cases.choice(NONE, NONE, RELU, RELU6, RELU_N1))
            if dtype == "int64":
                made.fusedActivationFunction = NONE
            if dtype == "int16" and name != "mul":
                made.potScaleInt16 = bool(cases.rng.integers(2))
                if made.potScaleInt16:  # powers of two, one of the inputs as fine as the output; LiteRT does not spread
                    z.shape = x.shape
                    y.shape = list(x.shape)
                    shifts = [0, int(cases.rng.integers(0, 4))]
                    cases.rng.shuffle(shifts)
                    y.scale = np.array([2.0 ** -int(cases.rng.integers(8, 14))], np.float32)
                    for t, shift in zip((x, z), shifts):
                        t.scale = np.float32(y.scale / 2.0 ** shift)
            cases.add("%s_%s_%d" % (name, dtype, i), code, made, [x, z], [y], feeds_of(cases, [x, z]))


def extremum(cases, count):
    for i in range(count):
        dtype = EVERY_TYPE[i % len(EVERY_TYPE)]
        a, b = cases.choice(*SHAPES)
        x, z = cases.activation(a, dtype), cases.activation(b, dtype)
        y = like(x, np.broadcast_shapes(tuple(a), tuple(b)))
        for name, code in (("maximum", OP.MAXIMUM), ("minimum", OP.MINIMUM)):
            cases.add("%s_%s_%d" % (name, dtype, i), code, options("MaximumMinimumOptions"), [x, z], [y],
                      feeds_of(cases, [x, z]))


def quotients(cases, count):
    for i in range(count):
        for name, code, kind, types in (("div", OP.DIV, "DivOptions", ("float32", "int32", "uint8", "int8", "int16")),
                                        ("floor_div", OP.FLOOR_DIV, "FloorDivOptions", ("float32", "int32", "int8", "int16")),
                                        ("floor_mod", OP.FLOOR_MOD, "FloorModOptions",
                                         ("float32", "int32", "int64", "int8", "int16"))):
            dtype = types[i % len(types)]
            a, b = cases.choice(*SHAPES[:5])
            x, z = cases.activation(a, dtype), cases.activation(b, dtype)
            y = cases.activation(np.broadcast_shapes(tuple(a), tuple(b)), dtype, low=0.01, high=0.4)
            made = options(kind)
            if name == "div":
                made.fusedActivationFunction = cases.choice(NONE, RELU, RELU6)
            feeds = feeds_of(cases, [x, z])
            for feed in feeds:
                stop = z.zero[0] if name == "div" and dtype in QUANTIZED else 0
                feed[1][feed[1] == stop] = stop + 1 if stop < np.iinfo("uint8").max else stop - 1
                if dtype == "int8":
                    feed[1][feed[1] == stop] = stop - 1 if stop > -128 else stop + 1
            cases.add("%s_%s_%d" % (name, dtype, i), code, made, [x, z], [y], feeds)


def differences(cases, count):
    for i in range(count):
        dtype = ("float32", "int32", "int8")[i % 3]
        a, b = cases.choice(*SHAPES[:5])
        x, z = cases.activation(a, dtype), cases.activation(b, dtype)
        y = cases.activation(np.broadcast_shapes(tuple(a), tuple(b)), dtype, low=0.02, high=4)
        cases.add("squared_difference_%s_%d" % (dtype, i), OP.SQUARED_DIFFERENCE, options("SquaredDifferenceOptions"),
                  [x, z], [y], feeds_of(cases, [x, z]))


def activations(cases, count):
    rows = (("relu", OP.RELU, ("int8", "uint8", "int16", "float32")), ("relu6", OP.RELU6, ("int8", "uint8", "int16", "float32")),
            ("relu_n1_to_1", OP.RELU_N1_TO_1, ("int8", "uint8", "float32")), ("tanh", OP.TANH, ("int8", "uint8", "int16", "float32")),
            ("hard_swish", OP.HARD_SWISH, ("int8", "uint8", "float32")), ("logistic", OP.LOGISTIC, ("int16", "float32")),
            ("exp", OP.EXP, ("int8", "int16", "float32")), ("abs", OP.ABS, ("int8", "int16", "float32", "int32")),
            ("neg", OP.NEG, ("int8", "int32", "int64", "float32")), ("leaky_relu", OP.LEAKY_RELU, ("int16", "float32")))
    for name, code, types in rows:
        for i in range(count):
            dtype = types[i % len(types)]
            x = cases.activation([1, 2, 4, 32], dtype, low=0.004, high=0.1)
            y = cases.activation(x.shape, dtype, low=0.004, high=0.1)
            if dtype == "int16" and name in ("tanh", "logistic"):
                y.scale = np.array([2.0 ** -15], np.float32)
                x.scale = np.array([cases.choice(2.0 ** -12, 2.0 ** -11, float(x.scale[0]), 0.0007)], np.float32)
            if name == "exp" and dtype == "int16":
                x.scale, y.scale = np.array([1 / 8192], np.float32), np.array([np.exp(4.1) / 32768], np.float32)
            if name == "abs" and cases.rng.integers(2):
                y = like(x, x.shape)
            if name == "logistic" and dtype == "int8":
                y.scale = np.array([1 / 256], np.float32)
            made = {"leaky_relu": options("LeakyReluOptions", alpha=cases.choice(0.1, 0.25, -0.3)), "exp": options("ExpOptions"),
                    "abs": options("AbsOptions"), "neg": options("NegOptions"), "hard_swish": options("HardSwishOptions")}.get(name)
            cases.add("%s_%s_%d" % (name, dtype, i), code, made, [x], [y], all_of(cases, x))


def roots(cases, count):
    for i in range(count):
        for name, code in (("sqrt", OP.SQRT), ("rsqrt", OP.RSQRT)):
            dtype = ("int8", "int16", "float32")[i % 3]
            x, y = cases.activation([1, 2, 4, 32], dtype), cases.activation([1, 2, 4, 32], dtype)
            if dtype == "float32":
                feed = np.abs(real(cases, x.shape)) + np.float32(1e-3)
            else:
                feed = cases.rng.integers(int(x.zero[0]), np.iinfo(dtype).max + 1, x.shape).astype(dtype)
            cases.add("%s_%s_%d" % (name, dtype, i), code, None, [x], [y], [[feed]])


def prelu(cases, count):
    for i in range(count):
        dtype = ("int8", "uint8", "float32")[i % 3]
        shape, slopes = cases.choice(([1, 5, 4, 7], [1, 1, 7]), ([2, 3, 4, 5], [3, 4, 5]), ([1, 3, 2, 6], [1, 1, 6]))
        x, slope, y = cases.activation(shape, dtype), cases.activation(slopes, dtype), cases.activation(shape, dtype)
        slope.data = values(cases, slope)
        cases.add("prelu_%s_%d" % (dtype, i), OP.PRELU, None, [x, slope], [y], feeds_of(cases, [x]))


def conversions(cases, count):
    for i in range(count):
        shape = [2, 3, 4]
        pairs = [(a, b) for a in ("int8", "uint8") for b in QUANTIZED] + [("int16", "int8"), ("int16", "int16"), ("int16", "int32"),
                                                                         ("int32", "int8"), ("int32", "int16")]
        source, target = pairs[i % len(pairs)]
        x, y = cases.activation(shape, source), cases.activation(shape, target)
        for t in (x, y):
            if t.scale is None:
                t.scale, t.zero = np.array([cases.scale()], np.float32), np.array([0])
        cases.add("quantize_%s_%s_%d" % (source, target, i), OP.QUANTIZE, options("QuantizeOptions"), [x], [y], feeds_of(cases, [x]))
        dtype = QUANTIZED[i % 3]
        x = Tensor(shape, "float32")
        y = cases.activation(shape, dtype)
        if i % 2 and dtype != "int16":
            y.scale = np.array([cases.scale() for _ in range(3)], np.float32)
            y.zero, y.axis = np.array([cases.zero(dtype) for _ in range(3)]), 1
        cases.add("quantize_float_%s_%d" % (dtype, i), OP.QUANTIZE, options("QuantizeOptions"), [x], [y], feeds_of(cases, [x]))
        cases.add("dequantize_%s_%d" % (dtype, i), OP.DEQUANTIZE, options("DequantizeOptions"), [y], [x], feeds_of(cases, [y]))
        types = EVERY_TYPE + ("bool",)
        source, target = cases.choice(*types), cases.choice(*types)
        x, y = Tensor(shape, source), Tensor(shape, target)
        feed = values(cases, x)
        if source == "float32" and target in ("int16", "uint8", "int8"):
            feed = np.clip(feed, -120 if target != "uint8" else 0, 120).astype(np.float32)
        cases.add("cast_%s_%s_%d" % (source, target, i), OP.CAST, options("CastOptions"), [x], [y], [[feed]])


def reductions(cases, count):
    rows = (("mean", OP.MEAN, ("float32", "int16")), ("sum", OP.SUM, ("float32", "int32", "int64", "uint8", "int8", "int16")),
            ("reduce_max", OP.REDUCE_MAX, EVERY_TYPE), ("reduce_min", OP.REDUCE_MIN, EVERY_TYPE))
    for name, code, types in rows:
        for i in range(count):
            dtype = types[i % len(types)]
            shape = [cases.choice(1, 2), *(int(v) for v in cases.rng.integers(2, 8, 2)), cases.choice(3, 17)]
            axes = cases.choice([1, 2], [2, 1], [-2, -3], [3], [1, 2, 3], [0], [2, 2], [0, 1, 2, 3])
            keep = bool(cases.rng.integers(2))
            reduced = {a % 4 for a in axes}
            out = [1 if d in reduced else s for d, s in enumerate(shape) if keep or d not in reduced]
            x = cases.activation(shape, dtype)
            y = like(x, out)
            if dtype in QUANTIZED and not name.startswith("reduce"):
                y.scale = np.float32(x.scale * cases.choice(1.0, 0.3, 1.7, 20))
                y.zero = np.array([cases.zero(dtype)])
            # The reference kernel of SUM reads int8 and int16 as uint8.
            how = dict(resolver=OPTIMISED) if name == "sum" and dtype in ("int8", "int16") else {}
            cases.add("%s_%s_%d" % (name, dtype, i), code, options("ReducerOptions", keepDims=keep), [x, constant(axes)], [y],
                      feeds_of(cases, [x]), **how)


def ranking(cases, count):
    for i in range(count):
        shape = [2, 3, cases.choice(4, 9)]
        axis = int(cases.rng.integers(-3, 3))
        target = cases.choice("int32", "int64")
        for name, code in (("arg_max", OP.ARG_MAX), ("arg_min", OP.ARG_MIN)):
            dtype = ("float32", "int8", "uint8", "int32")[i % 4]
            x = cases.activation(shape, dtype)
            kind = "ArgMaxOptions" if name == "arg_max" else "ArgMinOptions"
            made = options(kind, outputType=schema.TensorType.INT32 if target == "int32" else schema.TensorType.INT64)
            out = [n for d, n in enumerate(shape) if d != axis % 3]
            feeds = [[values(cases, x, 0 if dtype == "uint8" else -3, 3)] for _ in range(2)]
            cases.add("%s_%s_%d" % (name, dtype, i), code, made, [x, Tensor([], "int32", data=np.array(axis, np.int32))],
                      [Tensor(out, target)], feeds)
        dtype = EVERY_TYPE[i % 6]
        x = cases.activation(shape, dtype)
        k = int(cases.rng.integers(1, shape[2] + 1))
        feeds = [[values(cases, x, 0 if dtype == "uint8" else -3, 3)] for _ in range(2)]
        cases.add("topk_%s_%d" % (dtype, i), OP.TOPK_V2, options("TopKV2Options"),
                  [x, Tensor([], "int32", data=np.array(k, np.int32))],
                  [like(x, [2, 3, k]), Tensor([2, 3, k], "int32")], feeds)


def resizes(cases, count):
    for i in range(count):
        dtype = ("int8", "uint8", "int16", "float32")[i % 4]
        h, w = (int(v) for v in cases.rng.integers(1, 8, 2))
        x = cases.activation([cases.choice(1, 2), h, w, 3], dtype)
        oh, ow = (int(v) for v in cases.rng.integers(1, 14, 2))
        align, half = cases.choice((False, False), (True, False), (False, True))
        for name, code, kind in (("resize_bilinear", OP.RESIZE_BILINEAR, "ResizeBilinearOptions"),
                                 ("resize_nearest", OP.RESIZE_NEAREST_NEIGHBOR, "ResizeNearestNeighborOptions")):
            cases.add("%s_%s_%d" % (name, dtype, i), code, options(kind, alignCorners=align, halfPixelCenters=half),
                      [x, constant([oh, ow])], [like(x, [x.shape[0], oh, ow, 3])], feeds_of(cases, [x]))


def matmuls(cases, count):
    for i in range(count):
        dtype = ("int8", "float32", "int16")[i % 3]
        m, k, n = (int(v) for v in cases.rng.integers(1, 9, 3))
        adj_x, adj_y = bool(cases.rng.integers(2)), bool(cases.rng.integers(2))
        lead_a, lead_b = cases.choice(([2], [2]), ([3, 2], [3, 2]), ([3, 2], [1, 2]), ([2], [1]), ([], []), ([2, 3], [3]))
        x = cases.activation(lead_a + ([k, m] if adj_x else [m, k]), dtype)
        z = cases.activation(lead_b + ([n, k] if adj_y else [k, n]), dtype)
        out = list(np.broadcast_shapes(tuple(lead_a), tuple(lead_b))) + [m, n]
        y = cases.activation(out, dtype, low=0.05, high=1)
        cases.add("batch_matmul_%s_%d" % (dtype, i), OP.BATCH_MATMUL, options("BatchMatMulOptions", adjX=adj_x, adjY=adj_y), [x, z],
                  [y], feeds_of(cases, [x, z]))


def weights_and_bias(cases, shape, axis, dtype, x, int32_bias):
    """Weights for activations of `dtype`, and a bias."""
    channels = shape[axis]
    if dtype == "float32":
        return (Tensor(shape, dtype, data=real(cases, shape)), Tensor([channels], dtype, data=real(cases, [channels])))
    kind = "uint8" if dtype == "uint8" else "int8"
    per_axis = kind == "int8" and cases.rng.integers(2)
    scale = np.array([cases.scale(0.001, 0.02) for _ in range(channels if per_axis else 1)], np.float32)
    info = np.iinfo(kind)
    weights = Tensor(shape, kind, scale, cases.zero(kind) if kind == "uint8" else 0, axis if per_axis else 0,
                     cases.rng.integers(max(info.min, -127), info.max + 1, shape).astype(kind))
    wide = dtype == "int16" and not int32_bias
    spread = 200000 if dtype == "int16" else 3000
    bias = Tensor([channels], "int64" if wide else "int32", np.float32(x.scale * scale), 0, 0,
                  cases.rng.integers(-spread, spread, channels).astype("int64" if wide else "int32"))
    return weights, bias


def convolutions(cases, count):
    for i in range(count):
        dtype = ("int16", "float32")[i % 2]
        depthwise = bool(i % 4 >= 2)
        h, w = (int(v) for v in cases.rng.integers(3, 9, 2))
        kh, kw = cases.choice((1, 1), (3, 3), (2, 3), (1, 3))
        stride = cases.choice((1, 1), (1, 1), (2, 2), (2, 1))
        dilation = cases.choice((1, 1), (1, 1), (2, 1)) if stride == (1, 1) else (1, 1)
        padding = SAME if (kh - 1) * dilation[0] + 1 > h else cases.choice(SAME, VALID)
        groups = cases.choice(1, 1, 2) if not depthwise else 1
        c, multiplier = cases.choice(1, 3, 7) * groups, cases.choice(1, 2)
        x = cases.activation([cases.choice(1, 2), h, w, c], dtype)
        out_c = c * multiplier if depthwise else groups * cases.choice(1, 5, 8)
        shape = [1, kh, kw, out_c] if depthwise else [out_c, kh, kw, c // groups]
        int32_bias = bool(cases.rng.integers(2)) and not depthwise and dtype == "int16"
        weights, bias = weights_and_bias(cases, shape, 3 if depthwise else 0, dtype, x, int32_bias)
        y = cases.activation([x.shape[0], spatial(h, kh, stride[0], dilation[0], padding),
                              spatial(w, kw, stride[1], dilation[1], padding), out_c], dtype, low=0.1, high=2)
        common = dict(padding=padding, strideH=stride[0], strideW=stride[1], dilationHFactor=dilation[0],
                      dilationWFactor=dilation[1], fusedActivationFunction=cases.choice(NONE, NONE, RELU, RELU6))
        if depthwise:
            code, made = OP.DEPTHWISE_CONV_2D, options("DepthwiseConv2DOptions", depthMultiplier=multiplier, **common)
        else:
            code, made = OP.CONV_2D, options("Conv2DOptions", **common)
            if int32_bias:
                made.quantizedBiasType = schema.TensorType.INT32
        cases.add("%s_%s_%d" % ("depthwise" if depthwise else "conv", dtype, i), code, made, [x, weights, bias], [y],
                  feeds_of(cases, [x]))


def transposed(cases, count):
    for i in range(count):
        dtype = ("int8", "uint8", "int16", "float32")[i % 4]
        h, w = (int(v) for v in cases.rng.integers(1, 6, 2))
        kh, kw = cases.choice((1, 1), (3, 3), (2, 2), (4, 3))
        sh, sw = cases.choice((1, 1), (2, 2), (2, 1), (3, 2))
        padding = cases.choice(SAME, VALID)
        c, out_c = cases.choice(1, 3, 8), cases.choice(1, 4, 5)
        oh = h * sh if padding == SAME else (h - 1) * sh + kh
        ow = w * sw if padding == SAME else (w - 1) * sw + kw
        x = cases.activation([cases.choice(1, 2), h, w, c], dtype)
        int32_bias = bool(cases.rng.integers(2)) and dtype == "int16"
        weights, bias = weights_and_bias(cases, [out_c, kh, kw, c], 0, dtype, x, int32_bias)
        y = cases.activation([x.shape[0], oh, ow, out_c], dtype, low=0.1, high=2)
        made = options("TransposeConvOptions", padding=padding, strideH=sh, strideW=sw,
                       fusedActivationFunction=cases.choice(NONE, NONE, RELU))
        if int32_bias:
            made.quantizedBiasType = schema.TensorType.INT32
        inputs = [constant(y.shape), weights, x] + ([bias] if cases.rng.integers(3) else [])
        cases.add("transpose_conv_%s_%d" % (dtype, i), OP.TRANSPOSE_CONV, made, inputs, [y], feeds_of(cases, [x]))


def dense(cases, count):
    for i in range(count):
        dtype = ("int16", "float32")[i % 2]
        shape, units = cases.choice(([1, 9], 4), ([3, 20], 5), ([2, 3, 7], 6)), None
        shape, units = shape
        x = cases.activation(shape, dtype)
        int32_bias = bool(cases.rng.integers(2)) and dtype == "int16"
        weights, bias = weights_and_bias(cases, [units, shape[-1]], 0, dtype, x, int32_bias)
        keep = bool(cases.rng.integers(2))
        y = cases.activation(shape[:-1] + [units] if keep else [int(np.prod(shape[:-1])), units], dtype, low=0.1, high=2)
        made = options("FullyConnectedOptions", fusedActivationFunction=cases.choice(NONE, RELU, RELU6), keepNumDims=keep)
        if int32_bias:
            made.quantizedBiasType = schema.TensorType.INT32
        cases.add("fully_connected_%s_%d" % (dtype, i), OP.FULLY_CONNECTED, made,
                  [x, weights, bias if cases.rng.integers(3) else None], [y], feeds_of(cases, [x]))


def maps(cases, count):
    """Pools, SOFTMAX and CONCATENATION of the types that are not 8 bits wide."""
    for i in range(count):
        dtype = ("int16", "float32")[i % 2]
        h, w = (int(v) for v in cases.rng.integers(3, 9, 2))
        fh, fw = cases.choice((2, 2), (3, 2), (1, 3))
        padding, stride = cases.choice(SAME, VALID), cases.choice(1, 2)
        x = cases.activation([2, h, w, 5], dtype)
        y = like(x, [2, spatial(h, fh, stride, 1, padding), spatial(w, fw, stride, 1, padding), 5])
        pool = options("Pool2DOptions", padding=padding, strideH=stride, strideW=stride, filterHeight=fh, filterWidth=fw,
                       fusedActivationFunction=cases.choice(NONE, RELU, RELU6))
        for name, code in (("average_pool", OP.AVERAGE_POOL_2D), ("max_pool", OP.MAX_POOL_2D)):
            cases.add("%s_%s_%d" % (name, dtype, i), code, pool, [x], [y], feeds_of(cases, [x]))
        x = cases.activation([3, cases.choice(1, 10, 85)], dtype, low=0.05, high=0.5)
        y = Tensor(x.shape, dtype, 1 / 32768, 0) if dtype == "int16" else like(x, x.shape)
        cases.add("softmax_%s_%d" % (dtype, i), OP.SOFTMAX, options("SoftmaxOptions", beta=cases.choice(1.0, 0.5)), [x], [y],
                  feeds_of(cases, [x]))
        dtype = ("int16", "float32", "int32", "int64", "bool")[i % 5]
        x = cases.activation([1, h, w, 2], dtype)
        joined = [x, like(x, [1, h, w, 3])]
        cases.add("concatenation_%s_%d" % (dtype, i), OP.CONCATENATION, options("ConcatenationOptions", axis=3), joined,
                  [like(x, [1, h, w, 5])], feeds_of(cases, joined))
        split = like(x, [1, h, w, 4])
        if dtype in ("int16", "float32", "int32"):
            cases.add("split_%s_%d" % (dtype, i), OP.SPLIT, options("SplitOptions", numSplits=2),
                      [Tensor([], "int32", data=np.array(3, np.int32)), split], [like(x, [1, h, w, 2]) for _ in range(2)],
                      feeds_of(cases, [split]))


def detections(cases, count):
    for i in range(count):
        dtype = ("float32", "uint8")[i % 2]
        boxes, classes = int(cases.rng.integers(1, 30)), int(cases.rng.integers(1, 6))
        background = bool(cases.rng.integers(2))
        regular = bool(i % 3 == 0)
        most, per_box = int(cases.rng.integers(1, 12)), 1
        code = Tensor([1, boxes, 4], dtype, 0.02 if dtype == "uint8" else None, 128)
        score = Tensor([1, boxes, classes + background], dtype, 1 / 256 if dtype == "uint8" else None, 0)
        anchor = Tensor([boxes, 4], dtype, 0.005 if dtype == "uint8" else None, 0)
        anchor.data = (cases.rng.uniform(0.1, 0.9, anchor.shape).astype(np.float32) if dtype == "float32"
                       else cases.rng.integers(20, 180, anchor.shape).astype(np.uint8))
        feeds = []
        for _ in range(2):
            if dtype == "float32":
                feeds.append([real(cases, code.shape, 0.5), cases.rng.random(score.shape, np.float32)])
            else:
                feeds.append([cases.rng.integers(90, 170, code.shape).astype(np.uint8),
                              cases.rng.permutation(score.shape[1] * score.shape[2]).reshape(score.shape).astype(np.uint8)])
        made = {"max_detections": most, "max_classes_per_detection": per_box, "detections_per_class": 20,
                "use_regular_nms": regular, "nms_score_threshold": float(cases.choice(0.0, 0.3)),
                "nms_iou_threshold": float(cases.choice(0.5, 0.6)), "num_classes": classes,
                "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
        # Slots after the last detection are not written in the fast mode: only whole lists are compared.
        if not regular:
            made["nms_score_threshold"], made["nms_iou_threshold"], made["max_detections"] = 0.0, 1.0, min(most, boxes)
            most = made["max_detections"]
        shapes = [[1, most, 4], [1, most], [1, most], [1]]
        stated = bool(cases.rng.integers(2))  # converters often leave them out
        outs = [Tensor(shape if stated else [], "float32") for shape in shapes]
        cases.add("detection_%s_%d" % (dtype, i), OP.CUSTOM, None, [code, score, anchor], outs, feeds,
                  ("TFLite_Detection_PostProcess", bytes(flexbuffers.Dumps(made))))


# (family, models each for the stored file, models each for a random test)
FAMILIES = ((binary, 6, 18), (extremum, 6, 6), (quotients, 5, 15), (differences, 3, 9), (activations, 4, 12), (roots, 3, 9),
            (prelu, 3, 9), (conversions, 11, 33), (reductions, 6, 18), (ranking, 6, 12), (movement, 7, 14), (slices, 14, 42), (indexing, 7, 21),
            (blocks, 6, 15), (makers, 7, 14), (resizes, 8, 24), (matmuls, 6, 18), (convolutions, 12, 36), (transposed, 8, 24),
            (dense, 6, 12), (maps, 5, 15), (detections, 6, 18),
            (functions, 4, 16), (normalizations, 6, 18), (sequences, 7, 21), (sums, 6, 18), (suppressions, 5, 15),
            (dead_scales, 6, 24), (computed_weights, 4, 12))


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("operator_cases.npz"))
    cases = Cases(20250311)
    for family, count, _ in FAMILIES:
        family(cases, count)
    cases.write(path)
    print(len(cases.names), "cases,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
