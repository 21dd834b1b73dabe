"""What the drawn cases of single operators share: types, shapes and random values."""
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from make_kernel_cases import Tensor

OP = schema.BuiltinOperator
EVERY_TYPE = ("int8", "uint8", "int16", "int32", "int64", "float32")
MOVED_TYPES = EVERY_TYPE + ("bool",)
QUANTIZED = ("int8", "uint8", "int16")
SHAPES = (([1, 3, 5, 7], [1, 3, 5, 7]), ([1, 4, 3, 17], [17]), ([2, 3, 1, 5], [1, 4, 1]), ([1, 2, 3, 4], []),
          ([1, 1, 1, 5], [2, 3, 4, 1]), ([2, 1, 3, 1, 4], [1, 2, 1, 5, 4]))


def real(cases, shape, spread=3.0):
    return np.asarray(cases.rng.normal(0, spread, shape) * 10 ** cases.rng.uniform(-1, 1), np.float32)


def values(cases, tensor, low=None, high=None):
    """Values of a tensor; `low` and `high` bound integers."""
    if tensor.dtype == "float32":
        return np.asarray(real(cases, tensor.shape))
    if tensor.dtype == "bool":
        return cases.rng.integers(0, 2, tensor.shape).astype(bool)
    info = np.iinfo(tensor.dtype)
    wide = tensor.dtype in ("int32", "int64")
    low = (-1000 if wide else info.min) if low is None else low
    high = (1000 if wide else info.max) if high is None else high
    return np.array(cases.rng.integers(low, high + 1, tensor.shape), tensor.dtype)


def feeds_of(cases, tensors, count=1):
    return [[values(cases, t) for t in tensors] for _ in range(count)]


def like(tensor, shape, dtype=None):
    made = Tensor(shape, dtype or tensor.dtype)
    made.scale = tensor.scale
    if tensor.scale is not None:
        made.zero = tensor.zero
    return made


def all_of(cases, tensor):
    """Every stored value of an 8-bit tensor, in a tensor of 256; else random ones."""
    if tensor.dtype not in ("int8", "uint8"):
        return feeds_of(cases, [tensor])
    info = np.iinfo(tensor.dtype)
    return [[np.arange(info.min, info.max + 1).astype(tensor.dtype).reshape(tensor.shape)]]
