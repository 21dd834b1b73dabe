"""Graphs that are wrong or odd in one way each, for hostile_graphs_test.py.

A case states what must become of it: `RUNS`, or a part of the sentence that refuses it.
"""
import dataclasses
import re

import flatbuffers
import numpy as np

from model_builder import Builtin, ModelBuilder, schema

RUNS = None
NUMPY = {schema.TensorType.INT8: np.int8, schema.TensorType.UINT8: np.uint8, schema.TensorType.INT32: np.int32,
         schema.TensorType.FLOAT32: np.float32, schema.TensorType.INT64: np.int64, schema.TensorType.INT16: np.int16,
         schema.TensorType.BOOL: np.bool_}
H, W = 6, 5


@dataclasses.dataclass
class Case:
    name: str
    data: bytes
    refusal: object = RUNS   # or a regular expression
    why: str = ""            # of a random change


def unpack(data):
    return schema.ModelT.InitFromPackedBuf(data, 0)


def pack(model):
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def inputs_of(data, rng):
    """One array for each input of a graph that was accepted, as the file states it."""
    graph = unpack(data).subgraphs[0]
    made = []
    for index in [] if graph.inputs is None else graph.inputs:
        tensor = graph.tensors[index]
        shape = [] if tensor.shape is None else [int(n) for n in tensor.shape]
        dtype = NUMPY[tensor.type]
        if dtype == np.float32:
            made.append(rng.normal(0, 2, shape).astype(dtype))
        else:
            low, high = (0, 2) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            made.append(rng.integers(low, high, shape).astype(dtype))
    return made


class Net(ModelBuilder):
    """a = conv(x); b = conv(a); c = a + b; joined = [c, a]: what one case then breaks."""

    def __init__(self, batch=1, seed=3):
        super().__init__(np.random.default_rng(seed))
        self.x = self.map((batch, H, W, 16), 0.05, 3, np.int8)
        self.inputs.append(self.x)
        self.a = self.layer(self.x, "none")
        self.b = self.layer(self.a, "relu")
        self.c = self.elementwise("add", self.a, self.b, "none")
        self.b_op, self.add_op = self.graph.operators[1:3]
        self.ends = None

    def layer(self, source, activation, channels=16):
        n, h, w, c = source.shape
        weights, bias, make = self.parameters(source, (channels, 3, 3, c), 0, 9 * c, "per-axis", activation)
        return self.operator(Builtin.CONV_2D, [source, weights, bias], [make((n, h, w, channels))], "conv_2d", "Conv2DOptions",
                             padding=0, strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1,
                             fusedActivationFunction={"none": 0, "relu": 1}[activation])

    def joined(self, maps, axis=3):
        shape = list(maps[0].shape)
        shape[axis] = sum(m.shape[axis] for m in maps)
        return self.operator(Builtin.CONCATENATION, maps, [self.same(maps[0], shape)], "concatenation", "ConcatenationOptions",
                             version=2, axis=axis)

    def tensor_of(self, m):
        return self.graph.tensors[m.index]

    def bytes(self):
        packed = super().bytes()
        if self.ends is None:
            return packed
        model = unpack(packed)
        graph = model.subgraphs[0]
        graph.inputs, graph.outputs = [[m if isinstance(m, int) else m.index for m in ends] for ends in self.ends]
        return pack(model)


CASES = []


def case(refusal=RUNS):
    def add(function):
        CASES.append((function.__name__, function, refusal))
        return function
    return add


def named():
    for name, function, refusal in CASES:
        net = Net()
        yield Case(name, function(net) or net.bytes(), refusal)
    for name, made, refusal in values():
        yield Case(name, made, refusal)


# -- operators -------------------------------------------------------------------------------------------------
@case("LSTM")
def unknown_builtin(net):
    net.operator(Builtin.LSTM, [net.c], [net.same(net.c, net.c.shape)])


@case("code 250")
def operator_of_the_future(net):
    net.operator(250, [net.c], [net.same(net.c, net.c.shape)])


@case("'Vendor_Head'")
def custom_operator(net):
    net.operator(Builtin.CUSTOM, [net.c], [net.same(net.c, net.c.shape)])
    net.model.operatorCodes[-1].customCode = "Vendor_Head"


@case("operator code 99")
def operator_code_out_of_range(net):
    net.add_op.opcodeIndex = 99


@case("inputs; it takes 2 to 3|inputs; it takes")
def inputs_missing(net):
    net.b_op.inputs = net.b_op.inputs[:1]


@case("3 inputs; it takes 2")
def inputs_extra(net):
    net.add_op.inputs = [*net.add_op.inputs, net.x.index]


@case("input 1 is absent")
def input_absent(net):
    net.add_op.inputs = [net.a.index, -1]


@case("tensor 5000, the file has")
def tensor_out_of_range(net):
    net.add_op.inputs = [net.a.index, 5000]


@case("0 outputs")
def no_output(net):
    net.joined([net.c, net.c])
    net.graph.operators[-1].outputs = []
    net.ends = [net.x], [net.c]


@case("2 outputs")
def outputs_extra(net):
    net.add_op.outputs = [*net.add_op.outputs, net.same(net.c, net.c.shape).index]


@case("is written a second time")
def written_twice(net):
    net.add_op.outputs = [net.b.index]
    net.ends = [net.x], [net.b]


@case("is read before any operator writes it")
def operators_out_of_order(net):
    net.graph.operators.reverse()


@case("is read before any operator writes it")
def reads_itself(net):
    net.add_op.inputs = [net.a.index, net.c.index]
    net.ends = [net.x], [net.c]


@case()
def dead_operators(net):
    net.joined([net.a, net.a])
    net.layer(net.a, "none")
    net.ends = [net.x], [net.c]


@case()
def one_tensor_twice(net):
    net.elementwise("add", net.c, net.c, "none")
    net.elementwise("mul", net.c, net.c, "none")
    net.elementwise("sub", net.b, net.b, "none")
    net.joined([net.c, net.c, net.c])


@case()
def concatenation_of_one_and_split_into_one(net):
    net.split(net.joined([net.c]), 1)


@case("axis -?[79]")
def axis_too_large(net):
    net.joined([net.c, net.c])
    net.graph.operators[-1].builtinOptions.axis = 7


@case("axis -9")
def axis_too_small(net):
    net.joined([net.c, net.c])
    net.graph.operators[-1].builtinOptions.axis = -9


@case("axis 4")
def split_axis_too_large(net):
    outs = [net.same(net.c, (1, H, W, 8)) for _ in range(2)]
    net.operator(Builtin.SPLIT, [net.constant(4), net.c], outs, "split", "SplitOptions", numSplits=2)


@case("split|pieces|parts|divide")
def split_that_does_not_divide(net):
    outs = [net.same(net.c, (1, H, W, 5)) for _ in range(3)]
    net.operator(Builtin.SPLIT, [net.constant(3), net.c], outs, "split", "SplitOptions", numSplits=3)


@case("shape")
def concatenation_of_other_rows(net):
    other = net.pool(net.c, "max_pool", (2, 2), (2, 2), 0, "none")
    net.operator(Builtin.CONCATENATION, [net.c, other], [net.same(net.c, (1, H, W, 32))], "concatenation",
                 "ConcatenationOptions", version=2, axis=3)


@case("needs them equal")
def concatenation_of_other_scales(net):
    other = net.map(net.c.shape, net.c.scale * 2, net.c.zero_point, np.int8)
    net.inputs.append(other)
    net.joined([net.c, other])


@case()
def many_inputs_on_the_npu(net):
    net.joined([net.c] * 500)


@case()
def many_inputs(net):
    net.joined([net.c] * 3000, axis=2)


@case("stride")
def stride_0(net):
    net.b_op.builtinOptions.strideH = 0


@case("stride")
def stride_negative(net):
    net.b_op.builtinOptions.strideW = -2


@case("dilation")
def dilation_0(net):
    net.b_op.builtinOptions.dilationHFactor = 0


@case("window|kernel|filter")
def pool_without_window(net):
    net.pool(net.c, "max_pool", (2, 2), (1, 1), 0, "none")
    net.graph.operators[-1].builtinOptions.filterHeight = 0


@case("shape")
def kernel_beyond_the_map(net):
    net.b_op.builtinOptions.padding = 1
    net.b_op.builtinOptions.dilationHFactor = 50


# -- tensors ---------------------------------------------------------------------------------------------------
@case()
def dynamic_rows(net):
    net.tensor_of(net.x).shapeSignature = [1, -1, W, 16]


@case()
def dynamic_batch_of_1(net):
    for m in (net.x, net.a, net.b, net.c):
        net.tensor_of(m).shapeSignature = [-1, *m.shape[1:]]


@case("t0|'t0'")
def empty_tensor(net):
    net.tensor_of(net.x).shape = [1, 0, W, 16]


@case("t0|'t0'")
def batch_0(net):
    for m in (net.x, net.a, net.b, net.c):
        net.tensor_of(m).shape = [0, H, W, 16]


@case()
def batch_3(net):
    other = Net(batch=3)
    other.joined([other.c, other.a]) if other.c.scale == other.a.scale else other.elementwise("mul", other.c, other.a, "none")
    return other.bytes()


@case("shape|elements")
def dimensions_of_2_to_the_31(net):
    net.tensor_of(net.c).shape = [2**31 - 1, 2**31 - 1, 1, 16]


@case("shape|negative|dimension")
def dimension_negative(net):
    net.tensor_of(net.c).shape = [1, -6, W, 16]


@case("rank 9")
def rank_9(net):
    net.tensor_of(net.c).shape = [1] * 6 + [H, W, 16]


@case()
def five_dimensions(net):
    wide = net.reshape(net.c, (1, H, W, 4, 4))
    there = net.operator(Builtin.TRANSPOSE, [wide, net.constant([0, 1, 2, 4, 3])], [net.same(wide, (1, H, W, 4, 4))], "transpose",
                         "TransposeOptions", version=2)
    both = net.joined([there, wide], axis=4)
    net.layer(net.reshape(both, (1, H, W, 32)), "none")


@case()
def scalars(net):
    one = net.map((), 0.5, 0, np.int8)
    two = net.map((), 0.25, 0, np.int8)
    net.inputs += [one, two]
    net.elementwise("add", one, two, "none")


@case()
def float_layers_in_between(net):
    net.layer(net.real_island(net.c), "none")


@case()
def float_model(net):
    rng = net.rng
    other = ModelBuilder(rng)
    x, y = (other.tensor((1, H, W, c), np.float32) for c in (3, 4))
    w = other.tensor((4, 3, 3, 3), np.float32, data=rng.normal(0, 1, (4, 3, 3, 3)))
    b = other.tensor((4,), np.float32, data=rng.normal(0, 1, 4))
    other.operator(Builtin.CONV_2D, [x, w, b], [dataclasses.replace(net.x, index=y)], "conv_2d", "Conv2DOptions", padding=0,
                   strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1)
    other.inputs.append(dataclasses.replace(net.x, index=x))
    return other.bytes()


@case("has no scale")
def no_quantization(net):
    net.tensor_of(net.b).quantization = None


@case("per-axis quantization is for weights only|16 scales")
def per_axis_activation(net):
    quantization = net.tensor_of(net.b).quantization
    quantization.scale, quantization.zeroPoint, quantization.quantizedDimension = [0.1] * 16, [0] * 16, 3


@case("5 scales")
def scales_that_do_not_fit(net):
    quantization = net.graph.tensors[net.b_op.inputs[1]].quantization
    quantization.scale, quantization.zeroPoint = [0.1] * 5, [0] * 5


@case("quantized_dimension 7")
def quantized_dimension_out_of_range(net):
    net.graph.tensors[net.b_op.inputs[1]].quantization.quantizedDimension = 7


@case("is uint8|must be the same")
def types_mixed(net):
    other = net.map(net.c.shape, 0.1, 100, np.uint8)
    net.inputs.append(other)
    net.operator(Builtin.ADD, [net.c, other], [net.same(net.c, net.c.shape)], "add", "AddOptions", version=2)


@case("bias")
def bias_too_short(net):
    bias = net.graph.tensors[net.b_op.inputs[2]]
    bias.shape = [15]
    net.model.buffers[bias.buffer].data = net.model.buffers[bias.buffer].data[:60]


@case("bytes")
def buffer_too_short(net):
    weights = net.graph.tensors[net.b_op.inputs[1]]
    net.model.buffers[weights.buffer].data = net.model.buffers[weights.buffer].data[:-1]


@case("buffer 4000")
def buffer_out_of_range(net):
    net.graph.tensors[net.b_op.inputs[1]].buffer = 4000


@case("is computed at run time")
def weights_from_outside(net):
    net.graph.tensors[net.b_op.inputs[1]].buffer = 0
    net.ends = [net.x, net.b_op.inputs[1]], [net.c]


@case()
def convolution_of_a_constant(net):
    tensor = net.tensor_of(net.x)
    buffer = schema.BufferT()
    buffer.data = net.rng.integers(0, 256, H * W * 16).astype(np.uint8)
    net.model.buffers.append(buffer)
    tensor.buffer = len(net.model.buffers) - 1
    other = net.map(net.c.shape, 0.1, 0, np.int8)
    out = net.elementwise("add", net.c, other, "none")
    net.ends = [other], [out]


@case()
def all_names_equal(net):
    for tensor in net.graph.tensors:
        tensor.name = "x"


@case()
def no_names(net):
    for tensor in net.graph.tensors:
        tensor.name = None


@case()
def names_of_odd_bytes(net):
    for i, tensor in enumerate(net.graph.tensors):
        tensor.name = b"\xff\xfe\n\x1b[31m" + b"n" * 300 + str(i).encode()


# -- the graph's ends --------------------------------------------------------------------------------------------
@case()
def constant_as_output(net):
    net.ends = [net.x], [net.c, net.b_op.inputs[1]]


@case()
def input_as_output(net):
    net.ends = [net.x], [net.x, net.c]


@case()
def nothing_but_the_input(net):
    net.graph.operators.clear()
    net.ends = [net.x], [net.x]


@case()
def one_output_twice(net):
    net.ends = [net.x], [net.c, net.c]


@case()
def outputs_that_feed_others(net):
    net.ends = [net.x], [net.a, net.b, net.c]


@case()
def unread_input(net):
    net.ends = [net.map((1, 3), 0.1, 0, np.int8), net.x], [net.c]


@case("written a second time")
def one_input_twice(net):
    net.ends = [net.x, net.x], [net.c]


@case("no outputs")
def no_outputs(net):
    net.ends = [net.x], []


@case("output 0 is tensor 900")
def output_out_of_range(net):
    net.ends = [net.x], [900]


@case("is written by no operator")
def output_of_nobody(net):
    net.ends = [net.x], [net.map((1, 3), 0.1, 0, np.int8)]


@case()
def two_subgraphs(net):
    packed = unpack(net.bytes())
    packed.subgraphs.append(packed.subgraphs[0])
    return pack(packed)


@case("no subgraph")
def no_subgraph(net):
    packed = unpack(net.bytes())
    packed.subgraphs = []
    return pack(packed)


def values():
    """Scales and zero points that are no numbers to calculate with, in an activation, the weights and the bias."""
    for text, scale in (("zero", 0.0), ("negative", -0.1), ("nan", float("nan")), ("infinite", float("inf"))):
        net = Net()
        net.tensor_of(net.b).quantization.scale = [scale]
        yield f"scale_{text}", net.bytes(), r"the scale|has the scale"
        net = Net()
        quantization = net.graph.tensors[net.b_op.inputs[1]].quantization
        quantization.scale = [scale, *quantization.scale[1:]]
        # A weight scale of 0 belongs to a channel of zeros; LiteRT decides.
        yield f"weight_scale_{text}", net.bytes(), "scale" if text != "zero" else ANY
    for zero_point in (128, -129, 2**31, -2**63):
        net = Net()
        net.tensor_of(net.b).quantization.zeroPoint = [zero_point]
        yield f"zero_point_{zero_point}", net.bytes(), f"zero point {zero_point}"


ANY = "any"  # runs as in LiteRT, or is refused


def says(refusal, text):
    return re.search(refusal, text) is not None
