#!/usr/bin/env python3
"""Makes of a model that is quantized per axis in int8 one with one scale a tensor in uint8, as models were before
and as Mesa's delegate takes them: per_tensor_uint8.py IN.tflite OUT.tflite

Activations keep their scales. Weights are quantized anew, with one scale a layer; that costs accuracy, so the result
is for comparing two ways to run it, not for use.
"""
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

CONVOLUTIONS = (schema.BuiltinOperator.CONV_2D, schema.BuiltinOperator.DEPTHWISE_CONV_2D,
                schema.BuiltinOperator.FULLY_CONNECTED)


def read(path):
    with open(path, "rb") as f:
        return schema.ModelT.InitFromPackedBuf(f.read(), 0)


def array_of(model, tensor, dtype):
    return np.frombuffer(bytes(model.buffers[tensor.buffer].data), dtype).reshape(tensor.shape)


def own_buffer(model, tensor, array):
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(array.tobytes(), np.uint8)
    model.buffers.append(buffer)
    tensor.buffer = len(model.buffers) - 1


def set_scale(tensor, scale, zero_point):
    q = tensor.quantization
    q.scale, q.zeroPoint, q.quantizedDimension = [float(scale)], [int(zero_point)], 0


def weights_per_tensor(model, tensor):
    """The weights in uint8; returns their scale."""
    q = tensor.quantization
    shape = [1] * len(tensor.shape)
    shape[q.quantizedDimension if len(q.scale) > 1 else 0] = len(q.scale)
    real = array_of(model, tensor, np.int8).astype(np.float64) * np.array(q.scale).reshape(shape)
    low, high = min(real.min(), 0.0), max(real.max(), 0.0)
    scale = np.float32((high - low) / 255 or 1)
    # TFLite's uint8 weights are 1 to 255 by custom; a zero point inside keeps 0 exact.
    zero_point = int(np.clip(round(-low / scale), 1, 255))
    stored = np.clip(np.rint(real / scale) + zero_point, 1, 255).astype(np.uint8)
    tensor.type = schema.TensorType.UINT8
    own_buffer(model, tensor, stored)
    set_scale(tensor, scale, zero_point)
    return float(scale)


def bias_in(model, tensor, scale):
    q = tensor.quantization
    real = array_of(model, tensor, np.int32).astype(np.float64) * np.array(q.scale)
    limits = np.iinfo(np.int32)
    own_buffer(model, tensor, np.clip(np.rint(real / scale), limits.min, limits.max).astype(np.int32))
    set_scale(tensor, scale, 0)


def convert(model):
    for graph in model.subgraphs:
        for tensor in graph.tensors:  # activations; the offset is the type's
            constant = model.buffers[tensor.buffer].data is not None
            if tensor.type == schema.TensorType.INT8 and not constant:
                tensor.type = schema.TensorType.UINT8
                tensor.quantization.zeroPoint = [int(z) + 128 for z in tensor.quantization.zeroPoint]
        for op in graph.operators:
            code = model.operatorCodes[op.opcodeIndex]
            if max(code.builtinCode, code.deprecatedBuiltinCode) not in CONVOLUTIONS:
                continue
            weights = graph.tensors[op.inputs[1]]
            if weights.type != schema.TensorType.INT8:
                continue
            scale = weights_per_tensor(model, weights)
            if len(op.inputs) > 2 and op.inputs[2] >= 0:
                bias_in(model, graph.tensors[op.inputs[2]], scale * graph.tensors[op.inputs[0]].quantization.scale[0])
        drop_conversions(model, graph)
        shortcuts_second(model, graph)
    for code in model.operatorCodes:
        code.version = 1


def drop_conversions(model, graph):
    """uint8 to int8 at the edges of a model becomes a copy: the tensors are one."""
    same, kept = {}, []
    for op in graph.operators:
        code = model.operatorCodes[op.opcodeIndex]
        a, b = graph.tensors[op.inputs[0]].quantization, graph.tensors[op.outputs[0]].quantization
        if (max(code.builtinCode, code.deprecatedBuiltinCode) == schema.BuiltinOperator.QUANTIZE and a.scale is not None and
                list(a.scale) == list(b.scale) and list(a.zeroPoint) == list(b.zeroPoint)):
            same[op.outputs[0]] = same.get(op.inputs[0], op.inputs[0])
        else:
            kept.append(op)
        op.inputs = [same.get(i, i) for i in op.inputs]
    graph.operators = kept
    graph.outputs = [same.get(i, i) for i in graph.outputs]


def shortcuts_second(model, graph):
    """ADD(shortcut, convolution) becomes ADD(convolution, shortcut), the order of the models of that time: Mesa's
    delegate runs the other one wrongly."""
    writer = {output: at for at, op in enumerate(graph.operators) for output in op.outputs}
    for op in graph.operators:
        code = model.operatorCodes[op.opcodeIndex]
        if max(code.builtinCode, code.deprecatedBuiltinCode) == schema.BuiltinOperator.ADD:
            op.inputs = sorted(op.inputs, key=lambda tensor: -writer.get(tensor, -1))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model = read(sys.argv[1])
    convert(model)
    model.signatureDefs = []
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), b"TFL3")
    with open(sys.argv[2], "wb") as f:
        f.write(builder.Output())


if __name__ == "__main__":
    main()
