"""Random models of operators that keep state, SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM; operator_cases.py writes the file.

Names begin with `kept_`: the input sets are steps of one sequence.
"""
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from case_parts import OP, feeds_of
from make_kernel_cases import Tensor, options

ACTIVATION = schema.ActivationFunctionType


def parameter(cases, shape, dtype, scale):
    """Constant weights; `scale` is theirs when quantized, else their size."""
    if dtype == "float32":
        return Tensor(shape, dtype, data=np.asarray(cases.rng.normal(0, scale, shape), np.float32))
    info = np.iinfo(dtype)
    return Tensor(shape, dtype, np.float32(scale), 0, 0, cases.rng.integers(-info.max, info.max + 1, shape).astype(dtype))


def bias(cases, count, dtype, scale, spread):
    if dtype == "float32":
        return Tensor([count], dtype, data=np.asarray(cases.rng.normal(0, 0.3, count), np.float32))
    return Tensor([count], "int32", np.float32(scale), 0, 0, cases.rng.integers(-spread, spread, count).astype(np.int32))


def svdf(cases, count):
    for i in range(count):
        dtype = ("int8", "float32")[i % 2]
        quantized = dtype == "int8"
        batch, depth, rank = cases.choice(1, 1, 3), int(cases.rng.integers(1, 20)), cases.choice(1, 2)
        units, memory = int(cases.rng.integers(1, 9)), int(cases.rng.integers(1, 9))
        filters = units * rank
        x = cases.activation([batch, depth], dtype, low=0.01, high=0.1)
        feature = parameter(cases, [filters, depth], dtype, cases.scale(0.002, 0.02) if quantized else 0.5)
        time = parameter(cases, [filters, memory], "int16" if quantized else dtype, cases.scale(1e-5, 1e-4) if quantized else 0.5)
        state = Tensor([batch, filters * memory], "int16" if quantized else dtype, np.float32(1 / 4096) if quantized else None,
                       0, variable=True)
        y = cases.activation([batch, units], dtype, low=0.02, high=0.3)
        inputs = [x, feature, time, bias(cases, units, dtype, 1e-8, 10**6) if cases.rng.integers(3) else None, state]
        made = options("SVDFOptions", rank=rank, fusedActivationFunction=ACTIVATION.RELU if quantized else cases.choice(
            ACTIVATION.NONE, ACTIVATION.RELU, ACTIVATION.RELU6))
        cases.add("kept_svdf_%s_%d" % (dtype, i), OP.SVDF, made, inputs, [y], feeds_of(cases, [x], 7), kept=True)


def lstm(cases, count):
    """int8 only: float32 is close, not equal."""
    for i in range(count):
        model = lstm_model(cases, "int8")
        cases.add("kept_lstm_int8_%d" % i, OP.UNIDIRECTIONAL_SEQUENCE_LSTM, *model[:3], feeds_of(cases, [model[1][0]], 4), kept=True,
                  intermediates=model[3])


def lstm_model(cases, dtype):
    """Options, inputs, outputs and intermediate tensors of a random LSTM."""
    quantized = dtype == "int8"
    batch, time, depth, cells = (int(v) for v in cases.rng.integers(1, 6, 4))
    depth, cells = depth + cases.choice(0, 20), cells + cases.choice(0, 10)
    time_major, coupled, peephole, projected = (bool(cases.rng.integers(3) == 0) for _ in range(4))
    outputs = int(cases.rng.integers(1, 9)) if projected and not (peephole and quantized) else cells
    x = cases.activation([time, batch, depth] if time_major else [batch, time, depth], dtype, low=0.005, high=0.05)
    weight = cases.scale(0.001, 0.02) if quantized else 0.5

    def matrix(shape):
        return parameter(cases, shape, dtype, weight)

    gates = range(1 if coupled else 0, 4)
    inputs = [x] + [None] * 23
    for g in gates:
        inputs[1 + g], inputs[5 + g] = matrix([cells, depth]), matrix([cells, outputs])
        inputs[12 + g] = bias(cases, cells, dtype, 1e-5, 20000)
        if peephole and g != 2:
            inputs[9 + min(g, 2)] = parameter(cases, [cells], "int16" if quantized else dtype,
                                              cases.scale(1e-5, 1e-4) if quantized else 0.5)
    y = cases.activation(x.shape[:2] + [outputs], dtype, low=0.004, high=0.02)
    if projected:
        inputs[16] = matrix([outputs, cells])
        if cases.rng.integers(2):
            inputs[17] = bias(cases, outputs, dtype, 1e-5, 3000)
    inputs[18] = Tensor([batch, outputs], dtype, y.scale, y.zero if quantized else 0, variable=True)
    cell_scale = np.float32(2.0 ** -int(cases.rng.integers(9, 16)))
    inputs[19] = Tensor([batch, cells], "int16" if quantized else dtype, cell_scale if quantized else None, 0, variable=True)
    hidden = (y.scale, y.zero) if quantized and not projected else (cases.scale(0.004, 0.02), int(cases.rng.integers(-100, 100)))
    intermediates = [Tensor([], "int16", np.float32(1 / 4096), 0) for _ in range(4)] + [Tensor([], "int8", *hidden)]
    made = options("UnidirectionalSequenceLSTMOptions", fusedActivationFunction=ACTIVATION.TANH, timeMajor=time_major,
                   cellClip=cases.choice(0.0, 0.0, 1.5), projClip=cases.choice(0.0, 0.6) if projected else 0.0)
    return made, inputs, [y], intermediates if quantized else ()
