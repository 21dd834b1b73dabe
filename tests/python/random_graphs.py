"""Draws the random models of random_models_test.py: single convolution-like operators, and graphs of all operators.

`draw(seed)` always gives the same model for the same seed. Maps are never square, strides and kernels mostly not.
"""
import dataclasses

import numpy as np

from model_builder import ACTIVATIONS, CHANNELS, ModelBuilder, input_sets

SINGLE = ("conv", "depthwise", "fully_connected", "large", "transposed")
# (row of the type, style of the weights): per-axis is what this project is about, so it comes most often.
STYLES = ((np.int8, "per-axis"), (np.int8, "per-axis"), (np.int8, "per-axis"), (np.int8, "per-tensor"), (np.uint8, "per-tensor"))


@dataclasses.dataclass
class Drawn:
    seed: int
    kind: str          # of SINGLE, "graph" or "host_graph"
    style: str
    data: bytes
    inputs: list       # three sets of arrays
    operators: list
    has_default: bool  # LiteRT's default kernels can run it too


def choose(rng, values):
    return values[int(rng.integers(len(values)))]


def size(rng, low, high):
    """Rows and columns, never the same number."""
    h = int(rng.integers(low, high + 1))
    w = int(rng.integers(low, high + 1))
    return (h, w) if h != w else (h, w + 1)


def pair(rng, low, high, equal=0.25):
    a, b = int(rng.integers(low, high + 1)), int(rng.integers(low, high + 1))
    return (a, a) if rng.random() < equal else (a, b)


def window(rng, shape, largest, strides):
    """Kernel, stride and padding that fit a map."""
    kernel, stride = pair(rng, 1, largest), pair(rng, 1, strides, 0.4)
    padding = int(rng.integers(2))
    if padding == 1:
        kernel = tuple(min(k, n) for k, n in zip(kernel, shape[1:3]))
    return kernel, stride, padding


def images(rng):
    return choose(rng, (1, 1, 1, 2, 3))


def dilation(rng, shape, kernel, padding):
    """Of a third of the layers, as far as the map holds it or padding helps."""
    drawn = pair(rng, 1, 4) if rng.random() < 0.35 else (1, 1)
    return tuple(d if padding == 0 or (k - 1) * d < n else 1 for d, k, n in zip(drawn, kernel, shape[1:3]))


def activation(rng):
    return choose(rng, ("none", "none", *ACTIVATIONS))


def large(builder, dtype, style):
    """What small maps do not reach: tiles of rows, weights of many banks, maps as wide or as high as a picture."""
    rng = builder.rng
    act, padding = activation(rng), int(rng.integers(2))
    form = choose(rng, ("big", "big", "deep", "long"))
    if form == "big":  # more than the feature buffer of the chip holds, so rows are tiled and tiles overlap
        source = builder.input((1, *size(rng, 70, 120), choose(rng, (33, 64, 65, 100))), dtype)
        if rng.random() < 0.3:
            builder.depthwise(source, style, (3, 5), (1, 2), padding, act)
        else:
            builder.conv(source, style, choose(rng, (15, 17, 33)), pair(rng, 1, 3), pair(rng, 1, 2), padding, act)
    elif form == "deep":
        source = builder.input((1, *size(rng, 3, 9), choose(rng, (255, 512, 700, 1024))), dtype)
        builder.conv(source, style, choose(rng, (65, 255, 513)), pair(rng, 1, 3), pair(rng, 1, 2), padding, act)
    else:
        extent = (int(rng.integers(3, 8)), int(rng.integers(300, 641)))
        source = builder.input((1, *(extent if rng.random() < 0.5 else extent[::-1]), choose(rng, (1, 3, 16, 33))), dtype)
        builder.conv(source, style, choose(rng, (3, 16, 33)), pair(rng, 1, 3), pair(rng, 1, 3), padding, act)


def single(builder, kind, dtype, style):
    rng = builder.rng
    if kind == "fully_connected":
        source = builder.input((choose(rng, (1, 1, 3, 5)), choose(rng, CHANNELS + (7, 255, 300))), dtype)
        builder.fully_connected(source, style, choose(rng, CHANNELS + (10, 129)), activation(rng))
    elif kind == "depthwise":
        multiplier = choose(rng, (1, 1, 1, 2, 3, 8))
        source = builder.input((images(rng), *size(rng, 1, 24), choose(rng, CHANNELS if multiplier == 1 else CHANNELS[:8])), dtype)
        kernel, stride, padding = window(rng, source.shape, 7, 4)
        builder.depthwise(source, style, kernel, stride, padding, activation(rng), dilation(rng, source.shape, kernel, padding),
                          multiplier)
    elif kind == "transposed":
        source = builder.input((images(rng), *size(rng, 1, 12), choose(rng, CHANNELS[:9])), dtype)
        stride = (choose(rng, (1, 2, 2, 4)), choose(rng, (1, 2, 2, 4, 8)))
        kernel = tuple(max(1, s + int(rng.integers(-1, 3))) for s in stride)
        builder.transpose_conv(source, style, choose(rng, CHANNELS[:9]), kernel, stride, int(rng.integers(2)), activation(rng))
    elif kind == "large":
        large(builder, dtype, style)
    else:
        groups = choose(rng, (1, 1, 1, 2, 3, 8))
        depth, width = choose(rng, CHANNELS), choose(rng, CHANNELS)
        if groups > 1:
            depth, width = groups * choose(rng, (1, 3, 8, 16, 17)), groups * choose(rng, (1, 4, 8, 16, 33))
        source = builder.input((images(rng), *size(rng, 1, 20), depth), dtype)
        kernel, stride, padding = window(rng, source.shape, 7, 4)
        builder.conv(source, style, width, kernel, stride, padding, activation(rng), dilation(rng, source.shape, kernel, padding),
                     groups)


def partner(builder, source, maps, dtype, style):
    """Another map of the same shape: one there is, or a new convolution."""
    others = [m for m in maps if m.shape == source.shape and m is not source and m.scale < 64 * source.scale and source.scale < 64 * m.scale]
    if others and builder.rng.random() < 0.5:
        return choose(builder.rng, others)
    made = builder.conv(source, style, source.shape[3], pair(builder.rng, 1, 3), (1, 1), 0, "none")
    return builder.quantize(made, source.scale * builder.rng.uniform(0.5, 2))


def step(builder, maps, dtype, style):
    """Appends one operator; returns the new maps."""
    rng = builder.rng
    source = choose(rng, maps[-3:])
    _, h, w, c = source.shape
    act = activation(rng)
    kind = choose(rng, ("conv", "conv", "conv", "depthwise", "depthwise", "add", "sub", "mul", "concat", "split", "max_pool",
                        "average_pool", "pad", "resize", "strided_slice", "transpose", "logistic", "softmax", "leaky_relu",
                        "quantize", "reshape", "silu"))
    if kind == "conv":
        return [builder.conv(source, style, choose(rng, CHANNELS), *window(rng, source.shape, 5, 2), act)]
    if kind == "depthwise":
        return [builder.depthwise(source, style, *window(rng, source.shape, 5, 2), act)]
    if kind in ("add", "sub", "mul"):
        return [builder.elementwise(kind, source, partner(builder, source, maps, dtype, style), act)]
    if kind == "concat":
        others = [m for m in maps if m.shape[:3] == source.shape[:3]]
        return [builder.concat([source, choose(rng, others), partner(builder, source, maps, dtype, style)])]
    if kind == "split":
        return builder.split(source, choose(rng, [n for n in (2, 3, 5, 1) if c % n == 0]))
    if kind.endswith("pool"):
        return [builder.pool(source, kind, *window(rng, source.shape, 5, 3), act)]
    if kind == "pad":
        return [builder.pad(source, [(0, 0), pair(rng, 0, 2), pair(rng, 0, 3), (0, 0)])]
    if kind == "resize":
        align, half = choose(rng, ((False, False), (True, False), (False, True)))
        return [builder.resize(source, (int(rng.integers(1, 2 * h + 1)), int(rng.integers(1, 2 * w + 2))), align, half)]
    if kind == "strided_slice":
        begin = [0, int(rng.integers((h + 1) // 2)), int(rng.integers((w + 1) // 2)), int(rng.integers((c + 1) // 2))]
        return [builder.strided_slice(source, begin, list(source.shape), [1, *pair(rng, 1, 2), choose(rng, (1, 1, 2))])]
    if kind == "transpose":
        return [builder.transpose(source, choose(rng, ([0, 2, 1, 3], [0, 3, 1, 2], [0, 2, 3, 1], [0, 1, 3, 2])))]
    if kind == "reshape":
        return [builder.reshape(source, (1, w, h, c))]
    if kind == "silu":
        return [builder.elementwise("mul", source, builder.logistic(source), "none")]
    if kind == "leaky_relu":
        return [builder.leaky_relu(source, float(choose(rng, (0.1, 0.2, 0.01))))]
    return [getattr(builder, kind)(source)]


def host_step(builder, maps, dtype, style):
    """Appends one operator that mostly runs on the CPU only, between convolutions on the NPU."""
    rng = builder.rng
    source = choose(rng, maps[-3:])
    _, h, w, c = source.shape
    kind = choose(rng, ("relu", "relu6", "relu_n1_to_1", "tanh", "hard_swish", "maximum", "minimum", "prelu", "transpose_conv",
                        "resize_bilinear", "blocks", "mirror_pad", "slice", "split_v", "reduce_max", "gather", "unpack_and_pack",
                        "real_island"))
    if kind in ("relu", "relu6", "relu_n1_to_1", "tanh", "hard_swish"):
        return [builder.unary(source, kind)]
    if kind in ("maximum", "minimum"):
        return [builder.extremum(kind, source, partner(builder, source, maps, dtype, style))]
    if kind == "transpose_conv":
        return [builder.transpose_conv(source, style, choose(rng, CHANNELS[:9]), pair(rng, 1, 4), pair(rng, 1, 2),
                                       int(rng.integers(2)))]
    if kind == "resize_bilinear":
        align, half = choose(rng, ((False, False), (True, False), (False, True)))
        return [builder.resize_bilinear(source, (int(rng.integers(1, 2 * h + 1)), int(rng.integers(1, 2 * w + 2))), align, half)]
    if kind == "blocks":
        if h % 2 == 0 and w % 2 == 0:
            return [builder.space_to_depth(source, 2)]
        return [builder.depth_to_space(source, 2 if c % 4 == 0 else 1)]
    if kind == "mirror_pad":
        symmetric = bool(rng.integers(2))
        most = 1 if symmetric or min(h, w) > 1 else 0
        return [builder.mirror_pad(source, [(0, 0), pair(rng, 0, most), pair(rng, 0, most), (0, 0)], symmetric)]
    if kind == "slice":
        begin = [0, *(int(rng.integers(n)) for n in source.shape[1:])]
        return [builder.slice(source, begin, [int(rng.integers(1, n - b + 1)) for n, b in zip(source.shape, begin)])]
    if kind == "split_v":
        first = int(rng.integers(1, c)) if c > 1 else 1
        return builder.split_v(source, [first, c - first] if c > 1 else [1])
    if kind == "gather":
        return [builder.gather(source, rng.integers(0, c, int(rng.integers(1, 9))).tolist())]
    return [getattr(builder, kind)(source)]


def head(builder, source, dtype, style):
    """How a graph may end: mean, flat, fully connected, softmax; sometimes the other 8-bit type."""
    rng = builder.rng
    flat = builder.mean(source)
    out = builder.fully_connected(builder.reshape(flat, (1, source.shape[3])), style, choose(rng, CHANNELS), activation(rng))
    out = builder.softmax(out)
    if rng.random() < 0.5:
        other = np.uint8 if dtype == np.int8 else np.int8
        builder.quantize(out, dtype=other)


def graph(builder, dtype, style, host_share=0.0):
    """`host_share`: of the operators that run on the CPU only."""
    rng = builder.rng
    maps = [builder.input((1, *size(rng, 3, 18), choose(rng, CHANNELS[2:])), dtype)]
    maps.append(builder.conv(maps[0], style, choose(rng, CHANNELS), *window(rng, maps[0].shape, 3, 2), activation(rng)))
    for _ in range(int(rng.integers(3, 9))):
        new = (host_step if host_share and rng.random() < host_share else step)(builder, maps, dtype, style)
        if all(np.prod(m.shape) <= 60000 and m.shape[3] <= 256 for m in new):
            maps += new
    if rng.random() < 0.4:
        head(builder, maps[-1], dtype, style)


def draw(seed):
    rng = np.random.default_rng(seed)
    kind = ("conv", "graph", "depthwise", "conv", "graph", "fully_connected", "graph", "conv", "depthwise", "host_graph")[seed % 10]
    if seed % 12 == 5:
        kind = "large"
    if seed % 12 == 9:
        kind = "transposed"
    dtype, style = choose(rng, STYLES)
    builder = ModelBuilder(rng)
    if kind.endswith("graph"):
        graph(builder, dtype, style, 0.7 if kind == "host_graph" else 0.0)
    else:
        single(builder, kind, dtype, style)
    inputs = input_sets(builder.inputs, rng)
    if kind == "large":
        inputs = inputs[:1]
    return Drawn(seed, kind, style if dtype == np.int8 else "uint8", builder.bytes(), inputs, builder.operators,
                 not builder.default_kernels_crash)
