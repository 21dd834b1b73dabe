"""Random single-operator models of one-value functions and normalizations; operator_cases.py writes the file."""
import numpy as np
from ai_edge_litert.interpreter import OpResolverType

from case_parts import OP, QUANTIZED, all_of, feeds_of, like, values
from make_kernel_cases import NONE, RELU, Tensor, constant, options

OPTIMISED = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def extreme(cases, *tensors):
    """Now and then scales so fine or coarse that tables saturate."""
    if cases.rng.integers(4) == 0:
        for t in tensors:
            if t.scale is not None:
                t.scale = np.array([float(np.exp(cases.rng.uniform(-30, 5)))], np.float32)


def functions(cases, count):
    rows = (("sin", OP.SIN, ("float32",)), ("cos", OP.COS, ("float32",)), ("log", OP.LOG, ("int8", "int16", "float32")),
            ("elu", OP.ELU, ("int8", "float32")), ("gelu", OP.GELU, ("int8", "uint8", "int16")), ("tanh", OP.TANH, ("int8", "uint8")), ("exp", OP.EXP, ("int8",)))
    for name, code, types in rows:
        for i in range(count):
            dtype = types[i % len(types)]
            x = cases.activation([1, 2, 4, 32], dtype, low=0.004, high=0.1)
            y = cases.activation(x.shape, dtype, low=0.004, high=0.1)
            if dtype != "int16":
                extreme(cases, x, y)
            made = options("GeluOptions", approximate=bool(cases.rng.integers(2))) if name == "gelu" else None
            feeds = all_of(cases, x)
            if name == "log" and dtype == "float32":
                feeds = [[np.abs(feeds[0][0]) + np.float32(1e-4)]]
            # ELU has no reference kernel. GELU of float32 is not equal to the last bit: random_operators_test.py.
            how = dict(resolver=OPTIMISED) if name == "elu" else {}
            cases.add("%s_%s_%d" % (name, dtype, i), code, made, [x], [y], feeds, **how)


def normalizations(cases, count):
    for i in range(count):
        dtype = ("int8", "uint8", "float32")[i % 3]
        shape = cases.choice([3, 5], [1, 128], [2, 3, 4, 7], [40], [2, 1, 2, 2, 2, 9], [4, 1])
        x = cases.activation(shape, dtype, low=0.01, high=0.5)
        y = Tensor(shape, dtype, 1 / 128 if x.scale is not None else None, 128 if dtype == "uint8" else 0)
        feeds = feeds_of(cases, [x], 2)
        if dtype != "float32":
            feeds.append([np.full(shape, x.zero[0], dtype)])  # no length at all
            near = int(np.clip(x.zero[0], np.iinfo(dtype).min + 2, np.iinfo(dtype).max - 2))
            feeds.append([np.asarray(cases.rng.integers(near - 2, near + 3, shape), dtype)])
        cases.add("l2_normalization_%s_%d" % (dtype, i), OP.L2_NORMALIZATION, options("L2NormOptions"), [x], [y], feeds)
        x = cases.activation(shape, dtype, low=0.005, high=1)
        y = Tensor(shape, dtype, 1 / 16 if x.scale is not None else None, 255 if dtype == "uint8" else 127)
        feeds = feeds_of(cases, [x], 2)
        if dtype != "float32":
            feeds.append([np.asarray(cases.rng.integers(40, 50, shape), dtype)])
        cases.add("log_softmax_%s_%d" % (dtype, i), OP.LOG_SOFTMAX, options("LogSoftmaxOptions"), [x], [y], feeds)
        dtype = ("int8", "uint8")[i % 2]
        x = cases.activation(cases.choice([3, 10], [1, 5, 12], [2, 2, 1, 2, 85], [2, 600]), dtype, low=0.01, high=0.5)
        # What the output states is not looked at.
        y = Tensor(x.shape, "int16", cases.choice(1 / 32768, 1 / 65536, 0.1), 0)
        cases.add("softmax_%s_int16_%d" % (dtype, i), OP.SOFTMAX, options("SoftmaxOptions", beta=cases.choice(1.0, 0.5)), [x], [y],
                  feeds_of(cases, [x]))




def dead_scale(cases, tensor):
    """Scales beyond what a calibration of anything alive gives, in either direction."""
    low, high = cases.choice((-37, -20), (-3, 1), (3, 35), (-12, 5))
    tensor.scale = np.array([10 ** cases.rng.uniform(low, high)], np.float32)
    return tensor


def dead_scales(cases, count):
    """Multipliers that vanish, or that are beyond 2^31."""
    shape = [1, 4, 4, 16]
    rows = (("mul", OP.MUL, "MulOptions", QUANTIZED), ("div", OP.DIV, "DivOptions", QUANTIZED),
            ("prelu", OP.PRELU, None, ("int8", "uint8")), ("leaky_relu", OP.LEAKY_RELU, "LeakyReluOptions", QUANTIZED),
            ("quantize", OP.QUANTIZE, "QuantizeOptions", QUANTIZED), ("relu", OP.RELU, None, QUANTIZED),
            ("abs", OP.ABS, "AbsOptions", ("int8", "int16")), ("mean", OP.MEAN, "ReducerOptions", QUANTIZED),
            ("sum", OP.SUM, "ReducerOptions", QUANTIZED), ("sqrt", OP.SQRT, None, ("int8",)), ("rsqrt", OP.RSQRT, None, ("int8",)))
    for i in range(count):
        for name, code, kind, types in rows:
            dtype = types[i % len(types)]
            x, z, y = (dead_scale(cases, cases.activation(shape, dtype)) for _ in range(3))
            made = options(kind) if kind else None
            inputs, how = [x], {}
            if name in ("mul", "div"):
                made.fusedActivationFunction = cases.choice(NONE, RELU)
                inputs = [x, z]
            elif name == "prelu":
                z.shape = [1, 1, 16]
                z.data = values(cases, z)
                inputs = [x, z]
            elif name == "leaky_relu":
                made.alpha = cases.choice(0.1, -0.3, 100.0)
            elif name in ("mean", "sum"):
                inputs, y.shape = [x, constant([1, 2])], [1, 16]
                how = dict(resolver=OPTIMISED) if name == "sum" and dtype != "uint8" else {}
            feeds = feeds_of(cases, [t for t in inputs if t.data is None])
            if name == "div":
                feeds[0][1][feeds[0][1] == z.zero[0]] = 77 if z.zero[0] != 77 else 78
            if name in ("sqrt", "rsqrt"):
                feeds[0][0] = np.maximum(feeds[0][0], x.zero[0]).astype(dtype)
            cases.add("dead_%s_%s_%d" % (name, dtype, i), code, made, inputs, [y], feeds, **how)


def computed_weights(cases, count):
    for i in range(count):
        dtype = ("int8", "uint8", "int16", "float32")[i % 4]
        rows, depth, units = (int(v) for v in cases.rng.integers(1, 20, 3))
        x = cases.activation([rows, depth], dtype)
        weights = cases.activation([units, depth], "int8" if dtype == "int16" else dtype)
        y = cases.activation([rows, units], dtype, low=0.1, high=2)
        cases.add("fully_connected_of_two_%s_%d" % (dtype, i), OP.FULLY_CONNECTED,
                  options("FullyConnectedOptions", fusedActivationFunction=cases.choice(NONE, RELU)), [x, weights, None], [y],
                  feeds_of(cases, [x, weights]))
        order = cases.rng.permutation(7 + i % 2)
        x = cases.activation([int(v) for v in cases.rng.integers(1, 4, len(order))], cases.choice("int8", "float32", "bool"))
        cases.add("transpose_high_%d" % i, OP.TRANSPOSE, options("TransposeOptions"), [x, constant(order)],
                  [like(x, [x.shape[a] for a in order])], feeds_of(cases, [x]))
