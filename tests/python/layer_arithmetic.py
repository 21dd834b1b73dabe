"""One int8 layer as numbers: its parameters, the TFLite model made of them, and what each simple strategy must give.

The arithmetic is that of the documents: the reference kernels by docs/arithmetic.md (two roundings in convolutions, one in
FULLY_CONNECTED), the chip's output converter by docs/hardware/dpu.md, the host's correction by
docs/strategies/max-scale.md. Which channels share a gain, and that constant channels are written as constants, is taken over from
src/requant: a mistake in that choice is seen only by its effect on the values. Strategies that search their parameters are
not predicted, and neither are multipliers of 1 and more: one step of the accumulator is then several outputs, and a bound
or a constant may lie between.
"""
import dataclasses
import math

import numpy as np

from model_builder import ACTIVATIONS, Builtin, ModelBuilder, extent

INT8 = (-128, 127)
INT32 = np.iinfo(np.int32)
VENDOR_SHIFT = 14


@dataclasses.dataclass
class Layer:
    kind: str           # "conv", "depthwise" or "fully_connected"
    in_shape: tuple     # NHWC; rows and columns of a fully connected layer
    in_scale: float
    in_zero: int
    weights: np.ndarray  # as TFLite stores them
    scales: np.ndarray   # float32, one a channel
    bias: np.ndarray
    out_scale: float
    out_zero: int
    stride: int = 1
    padding: int = 0     # SAME 0, VALID 1
    activation: str = "none"

    def __post_init__(self):
        self.in_scale, self.out_scale = float(np.float32(self.in_scale)), float(np.float32(self.out_scale))

    @property
    def channels(self):
        return len(self.scales)

    @property
    def axis(self):
        return 3 if self.kind == "depthwise" else 0

    @property
    def kernel(self):
        return self.weights.shape[1:3]

    @property
    def out_shape(self):
        if self.kind == "fully_connected":
            return (self.in_shape[0], self.channels)
        return (1, *extent(self.in_shape[1:3], self.kernel, (self.stride, self.stride), self.padding), self.channels)

    @property
    def range(self):
        """The fused activation's range of output values."""
        steps = {"none": (-1000, 1000), "relu": (0, 1000),
                 "relu6": (0, int(math.floor(np.float32(6) / np.float32(self.out_scale) + 0.5)))}[self.activation]
        return tuple(min(max(self.out_zero + n, INT8[0]), INT8[1]) for n in steps)

    @property
    def multipliers(self):
        return self.in_scale * self.scales.astype(np.float64) / self.out_scale

    # -- accumulators ---------------------------------------------------------------------------------------------
    def accumulators(self, x):
        """Exact integer sums with bias, in the output's shape."""
        centred = x.astype(np.int64) - self.in_zero
        w = self.weights.astype(np.int64)
        if self.kind == "fully_connected":
            return centred @ w.T + self.bias
        (kh, kw), (_, h, width, _) = self.kernel, self.in_shape
        _, oh, ow, _ = self.out_shape
        before = [max(0, (o - 1) * self.stride + k - n) // 2 if self.padding == 0 else 0
                  for o, k, n in ((oh, kh, h), (ow, kw, width))]
        field = np.zeros((oh * self.stride + kh, ow * self.stride + kw, self.in_shape[3]), np.int64)
        rows, columns = min(h, field.shape[0] - before[0]), min(width, field.shape[1] - before[1])
        field[before[0]:before[0] + rows, before[1]:before[1] + columns] = centred[0, :rows, :columns]
        out = np.zeros((oh, ow, self.channels), np.int64)
        for y in range(kh):
            for c in range(kw):
                part = field[y:y + oh * self.stride:self.stride, c:c + ow * self.stride:self.stride]
                out += part * w[0, y, c] if self.kind == "depthwise" else part @ w[:, y, c].T
        return (out + self.bias)[None]

    def reach(self):
        """Smallest and largest accumulator a channel, over every int8 input."""
        w = np.moveaxis(self.weights.astype(np.int64), self.axis, 0).reshape(self.channels, -1)
        up, down = np.maximum(w, 0).sum(1), np.minimum(w, 0).sum(1)
        low, high = INT8[0] - self.in_zero, INT8[1] - self.in_zero
        return up * low + down * high + self.bias, up * high + down * low + self.bias

    # -- reference ------------------------------------------------------------------------------------------------
    def reference(self, acc):
        """LiteRT's output for accumulators whose last axis is the channel."""
        if self.kind == "fully_connected":
            steps = half_away(acc * self.multipliers)
        else:
            steps = np.stack([two_roundings(acc[..., c], m) for c, m in enumerate(self.multipliers)], -1)
        return np.clip(steps + self.out_zero, *self.range)

    def constant(self):
        """Channels whose reference output is the same for every input."""
        low, high = self.reach()
        return self.reference(low[None])[0] == self.reference(high[None])[0]

    # -- the chip -------------------------------------------------------------------------------------------------
    def converted(self, acc, gain, ties_even=False):
        """OUT_CVT with the activation: (scale, shift) for all channels given."""
        scale, shift = gain
        t = (shift_ties_even if ties_even else shift_ties_away)(acc * scale, shift) + self.out_zero
        return np.clip(t, *self.range)

    def grouped(self, acc, groups, correction=True, bias_rescale=False):
        """One OUT_CVT gain a group, that of its largest multiplier; then the host's correction."""
        m, constant = self.multipliers, self.constant()
        out = self.reference(acc)  # constant channels are written as constants
        for group in groups:
            live = [c for c in group if not constant[c]]
            if not live:
                continue
            largest = max(m[c] for c in live)
            sums = acc[..., live]
            if bias_rescale:
                sums = sums + half_away(self.bias[live] * (m[live] / largest - 1.0))
            q = self.converted(sums, nearest_gain(largest))
            if correction:
                q = self.out_zero + half_away((q - self.out_zero) * (m[live] / largest))
            out[..., live] = np.clip(q, *self.range)
        return out

    def vendor(self, acc, groups):
        """The vendor compiler's factors, ties to even, no search."""
        m, constant = self.multipliers, self.constant()
        out = self.reference(acc)
        for group in groups:
            live = [c for c in group if not constant[c]]
            if not live:
                continue
            largest = max(m[c] for c in live)
            factors = half_away(m[live] / largest * (1 << VENDOR_SHIFT))
            v = np.clip(shift_ties_even(acc[..., live] * factors, VENDOR_SHIFT), INT32.min, INT32.max)
            out[..., live] = self.converted(v, nearest_gain(largest), ties_even=True)
        return out

    def mesa(self, acc):
        """Mesa's gain for layers with one multiplier: 14 bits of the float, one unit up, ties to even."""
        constant = self.constant()
        out = self.reference(acc)
        bits = int(np.float32(self.multipliers[~constant][0]).view(np.uint32))
        scale = ((bits >> 9) & 0x7FFF) + 1
        scale = scale | 0x4000 if scale < 0x4000 else scale
        out[..., ~constant] = self.converted(acc[..., ~constant], (scale, 141 - (bits >> 23)), ties_even=True)
        return out

    # -- groups of channels ---------------------------------------------------------------------------------------
    def everything(self):
        return [list(range(self.channels))]

    def positional(self, size=16):
        return [list(range(first, min(first + size, self.channels))) for first in range(0, self.channels, size)]

    def by_size(self, size=16, max_ratio=1e30):
        m, constant = self.multipliers, self.constant()
        groups = []
        for c in sorted((c for c in range(self.channels) if not constant[c]), key=lambda c: -m[c]):
            if not groups or len(groups[-1]) >= size or m[groups[-1][0]] > max_ratio * m[c]:
                groups.append([])
            groups[-1].append(c)
        return groups

    def ratio(self):
        live = self.multipliers[~self.constant()]
        return live.max() / live.min() if len(live) > 1 else 1.0

    def mixed(self, size=16, ratio=4):
        """Every channel alone where the layer's ratio is above `ratio`."""
        return self.positional(1 if self.ratio() > ratio else size)


# -- integer primitives -----------------------------------------------------------------------------------------------
def half_away(x):
    """Nearest integer of doubles, ties away from zero."""
    return (np.sign(x) * np.floor(np.abs(x) + 0.5)).astype(np.int64)


def shift_ties_away(x, n):
    return x if n == 0 else np.sign(x) * ((np.abs(x) + (1 << (n - 1))) >> n)


def shift_ties_even(x, n):
    if n == 0:
        return x
    down = x >> n
    rest, half = x - (down << n), 1 << (n - 1)
    return down + ((rest > half) | ((rest == half) & (down & 1 == 1)))


def two_roundings(acc, multiplier):
    """MultiplyByQuantizedMultiplier: a high multiply, ties up, then a rounding shift, ties away."""
    fraction, exponent = math.frexp(multiplier)
    mantissa = math.floor(fraction * 2**31 + 0.5)
    if mantissa == 2**31:
        mantissa, exponent = 2**30, exponent + 1
    if exponent < -31:
        return np.zeros_like(acc)
    high = ((acc << max(exponent, 0)) * mantissa + (1 << 30)) >> 31
    return shift_ties_away(high, max(-exponent, 0))


def nearest_gain(multiplier):
    """(scale, shift) of the 15-bit gain nearest to a multiplier."""
    shift = 14 - math.floor(math.log2(multiplier))
    scale = math.floor(multiplier * 2.0**shift + 0.5)
    return (scale >> 1, shift - 1) if scale == 1 << 15 else (scale, shift)


# -- drawing and packing ----------------------------------------------------------------------------------------------
def draw(rng, kind, in_shape, channels, kernel=1, stride=1, padding=0, ratio=1e3, activation="none", source=None):
    """A layer with random weights whose scales span up to `ratio`. `source`: the layer it reads."""
    scale, zero = (source.out_scale, source.out_zero) if source else (10 ** rng.uniform(-2.5, 0), int(rng.integers(*INT8)))
    builder = ModelBuilder(rng)
    fan_in = (1 if kind == "depthwise" else in_shape[-1]) * kernel * kernel
    shape = {"conv": (channels, kernel, kernel, in_shape[-1]), "depthwise": (1, kernel, kernel, channels),
             "fully_connected": (channels, in_shape[-1])}[kind]
    weights, scales, _, bias, out_scale = builder.weights_of(builder.map(in_shape, scale, zero, np.int8), shape,
                                                             3 if kind == "depthwise" else 0, fan_in, True, ratio, "normal", 0)
    low = -128 if activation == "none" else -128 if rng.random() < 0.5 else -100
    return Layer(kind, tuple(in_shape), scale, zero, weights.astype(np.int8), scales, bias, out_scale,
                 int(rng.integers(low, 128)) if activation == "none" else int(rng.integers(low, low + 30)),
                 stride, padding, activation)


def pack(*layers):
    """The bytes of a model that runs the layers one after another; a list of layers: all read the same map."""
    builder = ModelBuilder(np.random.default_rng(0))
    first = layers[0]
    here = builder.map(first.in_shape, first.in_scale, first.in_zero, np.int8)
    builder.inputs.append(here)
    for step in layers:
        for layer in step if isinstance(step, list) else [step]:
            out = append(builder, here, layer)
        here = out
    return builder.bytes()


def append(builder, here, layer):
    w = builder.tensor(layer.weights.shape, np.int8, layer.scales, [0] * layer.channels, layer.axis, layer.weights)
    b = builder.tensor(layer.bias.shape, np.int32, np.float32(layer.in_scale) * layer.scales, [0] * layer.channels, 0, layer.bias)
    out = builder.map(layer.out_shape, layer.out_scale, layer.out_zero, np.int8)
    if layer.kind == "fully_connected":
        return builder.operator(Builtin.FULLY_CONNECTED, [here, w, b], [out], options="FullyConnectedOptions", version=4,
                                fusedActivationFunction=ACTIVATIONS[layer.activation])
    common = {"padding": layer.padding, "strideH": layer.stride, "strideW": layer.stride, "dilationHFactor": 1,
              "dilationWFactor": 1, "fusedActivationFunction": ACTIVATIONS[layer.activation]}
    if layer.kind == "depthwise":
        return builder.operator(Builtin.DEPTHWISE_CONV_2D, [here, w, b], [out], options="DepthwiseConv2DOptions",
                                depthMultiplier=1, **common)
    return builder.operator(Builtin.CONV_2D, [here, w, b], [out], options="Conv2DOptions", **common)
