"""Odd and broken operators that repeat, turn round, add up, spread, select or keep state; importing this adds them to the cases of
hostile_graphs.py."""
import numpy as np

from hostile_graphs import case
from model_builder import Builtin, Map


def whole(net, shape, dtype=np.int32, data=None):
    return Map(net.tensor(shape, dtype, data=data), tuple(shape), 1.0, 0, dtype)


def floats(net, shape, data=None):
    return whole(net, shape, np.float32, data)


def tiled(net, counts, shape):
    net.operator(Builtin.TILE, [net.c, net.constant(counts)], [net.same(net.c, shape)], "tile", "TileOptions")


@case("is repeated 2147483647 times")
def tile_by_2_to_the_31(net):
    tiled(net, [1, 1, 1, 2**31 - 1], net.c.shape)


@case("is repeated -2 times")
def tile_negative(net):
    tiled(net, [1, -2, 1, 1], net.c.shape)


@case("shape|elements")
def tile_to_more_than_memory(net):
    tiled(net, [60000, 60000, 1, 1], (60000, 60000 * net.c.shape[1], *net.c.shape[2:]))


@case()
def tile_of_a_map(net):
    tiled(net, [1, 2, 3, 2], (1, 2 * net.c.shape[1], 3 * net.c.shape[2], 32))


@case("are not neighbours")
def reverse_of_two_ends(net):
    net.operator(Builtin.REVERSE_V2, [net.c, net.constant([0, 3])], [net.same(net.c, net.c.shape)], "reverse", "ReverseV2Options")


@case()
def reverse_between_convolutions(net):
    turned = net.operator(Builtin.REVERSE_V2, [net.c, net.constant([1, 2])], [net.same(net.c, net.c.shape)], "reverse",
                          "ReverseV2Options")
    net.layer(turned, "relu")


@case("axis 9 is outside")
def cumsum_axis(net):
    net.operator(Builtin.CUMSUM, [floats(net, (2, 3), np.ones((2, 3))), net.tensor((), np.int32, data=np.array(9, np.int32))],
                 [floats(net, (2, 3))], "cumsum", "CumsumOptions")


def scattered(net, places, rows=2):
    values = floats(net, (rows,), np.ones(rows))
    net.operator(Builtin.SCATTER_ND, [net.constant(places), values, net.constant([4])], [floats(net, (4,))], "scatter", "ScatterNdOptions")


@case("index 4 is outside dimension 0 of size 4")
def scatter_beyond_the_end(net):
    scattered(net, [[1], [4]])


@case("index -1 is outside dimension 0 of size 4")
def scatter_before_the_start(net):
    scattered(net, [[1], [-1]])


@case("the operator gives")
def scatter_to_a_huge_shape(net):
    net.operator(Builtin.SCATTER_ND, [net.constant([[1]]), floats(net, (1,), np.ones(1)), net.constant([2**31 - 1])], [floats(net, (4,))],
                 "scatter", "ScatterNdOptions")


@case("the operator gives|it must be 1 or more")
def suppression_of_a_huge_number(net):
    scalar = [floats(net, (), np.array(v, np.float32)) for v in (0.5, 0.0)]
    most = net.tensor((), np.int32, data=np.array(2**31 - 1, np.int32))
    net.operator(Builtin.NON_MAX_SUPPRESSION_V4, [floats(net, (3, 4), np.ones((3, 4))), floats(net, (3,), np.ones(3)), most, *scalar],
                 [whole(net, (5,)), whole(net, ())], "nms", "NonMaxSuppressionV4Options")


def svdf(net, variable=True, rank=1):
    state = floats(net, (1, 2))
    net.graph.tensors[state.index].isVariable = variable
    x = floats(net, (1, 1), np.ones((1, 1)))
    net.operator(Builtin.SVDF, [x, floats(net, (1, 1), np.ones((1, 1))), floats(net, (1, 2), np.ones((1, 2))), -1, state],
                 [floats(net, (1, 1))], "svdf", "SVDFOptions", rank=rank)
    return state


@case()
def svdf_of_a_constant(net):
    svdf(net)


@case("is not a variable tensor")
def svdf_without_a_state(net):
    svdf(net, variable=False)


@case("is a variable tensor")
def two_operators_of_one_state(net):
    state = svdf(net)
    svdf(net)
    net.graph.operators[-1].inputs[4] = state.index


@case("is a variable tensor")
def a_state_that_is_added(net):
    state = svdf(net)
    net.operator(Builtin.ADD, [state, state], [floats(net, (1, 2))], "add", "AddOptions")


@case("rank 0 does not divide")
def svdf_of_rank_0(net):
    svdf(net, rank=0)
