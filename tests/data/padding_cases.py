#!/usr/bin/env python3
"""Writes padding_cases.npz: paddings that no TFLite operator has, each as two operators that LiteRT's reference kernels run.

A PAD in front of an operator with VALID is that operator with padding of its own: of the zero point for convolutions and
averages that count it, of the lowest value for maxima. A SLICE behind TRANSPOSE_CONV is one that drops more at its
edges. Averages that do not count their padding have no such pair; their outputs are worked out here, in integers.
The C++ test turns each pair into one operator. Usage: padding_cases.py [output]
"""
import pathlib
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from make_kernel_cases import NONE, RELU, RELU6, TYPES, VALID, Cases, Tensor, bias_for, constant, options, weights_for

OP = schema.BuiltinOperator


def build(ops, inputs, outputs):
    """A model of (code, options, inputs, outputs), whose tensors may be shared."""
    model = schema.ModelT()
    model.version, model.operatorCodes, model.buffers = 3, [], [schema.BufferT()]
    graph = schema.SubGraphT()
    graph.name, graph.tensors, graph.operators, known = "case", [], [], {}

    def index(tensor):
        if id(tensor) in known:
            return known[id(tensor)]
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
        known[id(tensor)] = len(graph.tensors) - 1
        return known[id(tensor)]

    for code, made, op_inputs, op_outputs in ops:
        row = schema.OperatorCodeT()
        row.builtinCode, row.deprecatedBuiltinCode, row.version = code, min(code, 127), 2
        op = schema.OperatorT()
        op.opcodeIndex = len(model.operatorCodes)
        model.operatorCodes.append(row)
        op.inputs, op.outputs = [index(t) for t in op_inputs], [index(t) for t in op_outputs]
        kind = type(made).__name__[:-1] if made is not None else "NONE"
        op.builtinOptionsType, op.builtinOptions = getattr(schema.BuiltinOptions, kind), made
        graph.operators.append(op)
    graph.inputs, graph.outputs = [index(t) for t in inputs], [index(t) for t in outputs]
    model.subgraphs = [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


class Pairs(Cases):
    def pads(self, most):
        return [int(v) for v in self.rng.integers(0, np.array([most[0], most[0], most[1], most[1]]) + 1)]

    def pair(self, name, ops, x, y, expected=None):
        model = build(ops, [x], [y])
        interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
        interpreter.allocate_tensors()
        self.names.append(name)
        self.store(0, model)
        for extreme in (False, True):
            values = self.values(x, extreme)
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], values)
            interpreter.invoke()
            made = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
            self.store(1, values.tobytes())
            self.store(2, np.ascontiguousarray(made if expected is None else expected(values)).tobytes())

    def padded(self, x, pads, code=OP.PAD, fill=None):
        top, bottom, left, right = pads
        amounts = constant([[0, 0], [top, bottom], [left, right], [0, 0]])
        n, h, w, c = x.shape
        wide = Tensor([n, h + top + bottom, w + left + right, c], x.dtype, x.scale, None if x.scale is None else x.zero)
        if fill is None:
            return wide, (code, schema.PadOptionsT(), [x, amounts], [wide])
        value = Tensor([], x.dtype, x.scale, None if x.scale is None else x.zero, 0, np.array(fill, x.dtype))
        return wide, (OP.PADV2, schema.PadV2OptionsT(), [x, amounts, value], [wide])


def outputs_along(size, kernel, stride, dilation=1):
    return (size - (kernel - 1) * dilation - 1) // stride + 1


def convolutions(cases, count):
    for i in range(count):
        dtype, depthwise = ("int8", "uint8", "int8")[i % 3], i % 2 == 1
        h, w = (int(v) for v in cases.rng.integers(1, 8, 2))
        kh, kw = cases.choice((1, 1), (3, 3), (2, 3), (4, 2))
        sh, sw = cases.choice((1, 1), (2, 2), (1, 3))
        dilation = cases.choice(1, 1, 2) if sh == sw == 1 else 1
        span_h, span_w = (kh - 1) * dilation + 1, (kw - 1) * dilation + 1
        # Up to a kernel and more at every side: some windows hold padding alone.
        pads = cases.pads((span_h - 1, span_w - 1) if i % 4 < 2 else (span_h + 2, span_w + 2))
        pads[1], pads[3] = max(pads[1], span_h - h - pads[0]), max(pads[3], span_w - w - pads[2])
        c, out_c = cases.choice(1, 3, 17), cases.choice(1, 5, 16)
        if depthwise:
            out_c = c * cases.choice(1, 2)
        x = cases.activation([cases.choice(1, 2), h, w, c], dtype)
        shape = [1, kh, kw, out_c] if depthwise else [out_c, kh, kw, c]
        weights = weights_for(cases, shape, dtype, out_c, 3 if depthwise else 0, dtype == "int8")
        terms = kh * kw * (1 if depthwise else c)
        bias = bias_for(cases, out_c, terms, x.scale, weights.scale)
        wide, pad = cases.padded(x, pads)
        reach = float(np.max(weights.scale)) * float(x.scale[0]) * 100 * np.sqrt(terms)
        y = Tensor([x.shape[0], outputs_along(wide.shape[1], kh, sh, dilation), outputs_along(wide.shape[2], kw, sw, dilation), out_c],
                   dtype, cases.scale(reach / 2, reach * 2), cases.zero(dtype))
        common = dict(padding=VALID, strideH=sh, strideW=sw, dilationHFactor=dilation, dilationWFactor=dilation,
                      fusedActivationFunction=cases.choice(NONE, RELU, RELU6))
        if depthwise:
            op = (OP.DEPTHWISE_CONV_2D, options("DepthwiseConv2DOptions", depthMultiplier=out_c // c, **common))
        else:
            op = (OP.CONV_2D, options("Conv2DOptions", **common))
        cases.pair("conv_%d" % i, [pad, (*op, [wide, weights, bias], [y])], x, y)


def uncounted(x, y, pads, filters, strides, activation):
    """Means of the pixels that there are, half away from zero, as integers."""
    def expected(values):
        n, oh, ow, c = y.shape
        out = np.zeros(y.shape, np.int64)
        for row in range(oh):
            for column in range(ow):
                top, left = row * strides[0] - pads[0], column * strides[1] - pads[2]
                window = values[:, max(top, 0):top + filters[0], max(left, 0):left + filters[1], :].astype(np.int64)
                total, pixels = window.sum(axis=(1, 2)), window.shape[1] * window.shape[2]
                out[:, row, column, :] = np.sign(total) * ((2 * np.abs(total) + pixels) // (2 * pixels))
        info = np.iinfo(x.dtype)
        low = max(info.min, int(y.zero[0])) if activation == RELU else info.min
        return np.clip(out, low, info.max).astype(x.dtype)
    return expected


def pools(cases, count):
    for i in range(count):
        kind = ("counted", "uncounted", "max")[i % 3]
        dtype = ("int8", "uint8", "int16")[i // 3 % 3]
        fh, fw = cases.choice((2, 2), (3, 3), (3, 2), (1, 4))
        sh, sw = cases.choice((1, 1), (2, 2), (1, 3), (4, 5))
        h, w = (int(v) for v in cases.rng.integers(1, 9, 2) + np.array([fh - 1, fw - 1]))
        pads = cases.pads((fh + 2, fw + 2) if kind == "counted" else (fh - 1, fw - 1))
        x = cases.activation([cases.choice(1, 2), h, w, cases.choice(1, 5, 17)], dtype)
        wide, pad = cases.padded(x, pads, fill=np.iinfo(dtype).min if kind == "max" else None)
        y = Tensor([x.shape[0], outputs_along(wide.shape[1], fh, sh), outputs_along(wide.shape[2], fw, sw), x.shape[3]],
                   dtype, x.scale, x.zero)
        activation = cases.choice(NONE, NONE, RELU)
        made = options("Pool2DOptions", padding=VALID, strideH=sh, strideW=sw, filterHeight=fh, filterWidth=fw,
                       fusedActivationFunction=activation)
        code = OP.MAX_POOL_2D if kind == "max" else OP.AVERAGE_POOL_2D
        truth = uncounted(x, y, pads, (fh, fw), (sh, sw), activation) if kind == "uncounted" else None
        cases.pair("%s_%d" % (kind, i), [pad, (code, made, [wide], [y])], x, y, truth)


def transposed(cases, count):
    for i in range(count):
        dtype = ("int8", "uint8")[i % 2]
        h, w = (int(v) for v in cases.rng.integers(1, 6, 2))
        kh, kw = cases.choice((1, 1), (3, 3), (2, 4))
        sh, sw = cases.choice((1, 1), (2, 2), (3, 2))
        c, out_c = cases.choice(1, 8), cases.choice(1, 5)
        x = cases.activation([1, h, w, c], dtype)
        weights = weights_for(cases, [out_c, kh, kw, c], dtype, out_c, 0, dtype == "int8")
        bias = bias_for(cases, out_c, kh * kw * c, x.scale, weights.scale)
        # Rows and columns behind the last kernel, and then what is dropped of all that.
        more = [int(cases.rng.integers(0, s)) for s in (sh, sw)]  # LiteRT takes fewer than a stride
        full = [1, (h - 1) * sh + kh + more[0], (w - 1) * sw + kw + more[1], out_c]
        reach = float(np.max(weights.scale)) * float(x.scale[0]) * 100 * np.sqrt(kh * kw * c)
        scale, zero = cases.scale(reach / 2, reach * 2), cases.zero(dtype)
        whole = Tensor(full, dtype, scale, zero)
        begin = [0, int(cases.rng.integers(0, full[1])), int(cases.rng.integers(0, full[2])), 0]
        size = [1, int(cases.rng.integers(1, full[1] - begin[1] + 1)), int(cases.rng.integers(1, full[2] - begin[2] + 1)), out_c]
        y = Tensor(size, dtype, scale, zero)
        made = options("TransposeConvOptions", padding=VALID, strideH=sh, strideW=sw, fusedActivationFunction=cases.choice(NONE, RELU))
        cases.pair("transposed_%d" % i, [(OP.TRANSPOSE_CONV, made, [constant(full), weights, x, bias], [whole]),
                                         (OP.SLICE, schema.SliceOptionsT(), [whole, constant(begin), constant(size)], [y])], x, y)


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("padding_cases.npz"))
    cases = Pairs(20261201)
    convolutions(cases, 48)
    pools(cases, 54)
    transposed(cases, 24)
    cases.write(path)
    print(len(cases.names), "cases,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
