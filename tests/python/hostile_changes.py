"""Random changes of random models, one or two each, for hostile_graphs_test.py: most break the model somewhere."""
import struct

import numpy as np

import random_graphs
from hostile_graphs import ANY, NUMPY, Case, pack, unpack


def change(model, rng):
    """Changes one thing of a model; says what."""
    graph = model.subgraphs[0]

    def pick(items):
        return items[int(rng.integers(len(items)))]

    operator = pick(graph.operators)
    index = int(rng.integers(len(graph.tensors)))
    tensor = graph.tensors[index]
    inputs = [int(n) for n in operator.inputs]
    kind = int(rng.integers(14))
    if kind == 0:
        shape = [] if tensor.shape is None else [int(n) for n in tensor.shape]
        if shape:
            at = int(rng.integers(len(shape)))
            shape[at] = pick([0, -1, 1, 2, shape[at] + 1, 2**31 - 1])
        tensor.shape = shape
        return f"tensor {index} gets the shape {shape}"
    if kind == 1 and tensor.quantization is not None and tensor.quantization.scale is not None:
        scales = [float(s) for s in tensor.quantization.scale]
        at = int(rng.integers(len(scales)))
        scales[at] = pick([0.0, -1.0, float("nan"), float("inf"), 1e-38, 3e38, scales[at] * 1000, scales[at] / 1000])
        tensor.quantization.scale = scales
        return f"tensor {index} gets the scale {scales[at]} at {at}"
    if kind == 2 and tensor.quantization is not None and tensor.quantization.zeroPoint is not None:
        zeros = [int(z) for z in tensor.quantization.zeroPoint]
        zeros[int(rng.integers(len(zeros)))] = pick([127, -128, 128, 255, 256, -2**31, 2**40])
        tensor.quantization.zeroPoint = zeros
        return f"tensor {index} gets the zero points {zeros[:4]}"
    if kind == 3:
        tensor.type = pick(list(NUMPY))
        return f"tensor {index} gets the type {tensor.type}"
    if kind == 4:
        tensor.quantization = None
        return f"tensor {index} loses its quantization"
    if kind == 5 and inputs:
        del inputs[int(rng.integers(len(inputs)))]
        operator.inputs = inputs
        return f"an operator loses an input, left are {inputs}"
    if kind == 6:
        operator.inputs = [*inputs, pick([index, -1])]
        return f"an operator gets another input: {operator.inputs}"
    if kind == 7 and inputs:
        at = int(rng.integers(len(inputs)))
        inputs[at] = pick([index, inputs[0], -1, len(graph.tensors)])
        operator.inputs = inputs
        return f"an operator gets the inputs {inputs}"
    if kind == 8:
        graph.outputs = [*(int(n) for n in graph.outputs), index]
        return f"tensor {index} becomes an output too"
    if kind == 9:
        operator.opcodeIndex = int(rng.integers(len(model.operatorCodes)))
        return f"an operator gets the code {operator.opcodeIndex}"
    if kind == 10 and operator.builtinOptions is not None:
        fields = [name for name, value in vars(operator.builtinOptions).items() if isinstance(value, (int, float))]
        if fields:
            name = pick(fields)
            value = pick([0, 1, 2, -1, 3, 100, -2**31, 2**31 - 1])
            if isinstance(getattr(operator.builtinOptions, name), int) and name not in ("padding", "fusedActivationFunction",
                                                                                       "weightsFormat", "mode"):
                setattr(operator.builtinOptions, name, value)
                return f"the option {name} becomes {value}"
    if kind == 11 and tensor.buffer:
        data = model.buffers[tensor.buffer].data
        if data is not None and len(data):
            model.buffers[tensor.buffer].data = rng.integers(0, 256, len(data)).astype(np.uint8)
            return f"tensor {index} gets random bytes"
    if kind == 12:
        graph.operators.append(graph.operators.pop(int(rng.integers(len(graph.operators)))))
        return "an operator moves to the end"
    tensor.name = pick(["", "same", "same"])
    return f"tensor {index} gets the name '{tensor.name}'"


def mutants(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        drawn = random_graphs.draw(10 * seed + int(rng.choice([1, 4, 6, 9])))  # graphs of several operators
        model = unpack(drawn.data)
        try:
            why = "; ".join(change(model, rng) for _ in range(int(rng.integers(1, 3))))
            yield Case(f"mutant_{seed}", pack(model), ANY, why)
        except (OverflowError, TypeError, ValueError, struct.error):
            continue  # no file can hold this change
