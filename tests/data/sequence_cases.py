"""Random single-operator models that repeat, turn round, choose, add up, spread or select; operator_cases.py writes the file."""
import numpy as np

from case_parts import MOVED_TYPES, OP, feeds_of, like, values
from make_kernel_cases import Tensor, constant, options


def sequences(cases, count):
    for i in range(count):
        dtype = MOVED_TYPES[i % 7]
        x = cases.activation([int(v) for v in cases.rng.integers(1, 5, cases.choice(1, 2, 3, 4, 6))], dtype)
        counts = [int(v) for v in cases.rng.integers(1, 4, len(x.shape))]
        cases.add("tile_%s_%d" % (dtype, i), OP.TILE, options("TileOptions"), [x, constant(counts, cases.choice("int32", "int64"))],
                  [like(x, [n * c for n, c in zip(x.shape, counts)])], feeds_of(cases, [x]))
        first = int(cases.rng.integers(0, len(x.shape)))
        axes = list(range(first, int(cases.rng.integers(first, len(x.shape))) + 1))
        cases.rng.shuffle(axes)
        axes = [a - len(x.shape) * int(cases.rng.integers(2)) for a in axes]
        cases.add("reverse_%s_%d" % (dtype, i), OP.REVERSE_V2, options("ReverseV2Options"), [x, constant(axes)], [like(x, x.shape)],
                  feeds_of(cases, [x]))
        shapes = cases.choice(([2, 3], [2, 3], [2, 3]), ([2, 1], [3], [2, 3]), ([4], [2, 1, 1], [1, 5, 4]), ([], [3, 2], [2]),
                              ([2, 1, 3, 1, 2], [1, 4, 1, 2, 1], [2]), ([2, 3, 4], [], []))
        condition = Tensor(shapes[0], "bool")
        yes, no = cases.activation(shapes[1], dtype), cases.activation(shapes[2], dtype)
        y = like(yes, np.broadcast_shapes(*(tuple(s) for s in shapes)))
        cases.add("select_%s_%d" % (dtype, i), OP.SELECT_V2, options("SelectV2Options"), [condition, yes, no], [y],
                  feeds_of(cases, [condition, yes, no], 2))


def sums(cases, count):
    for i in range(count):
        dtype = ("float32", "int32", "int64")[i % 3]
        x = Tensor([int(v) for v in cases.rng.integers(1, 6, cases.choice(1, 2, 3, 4))], dtype)
        axis = int(cases.rng.integers(-len(x.shape), len(x.shape)))
        cases.add("cumsum_%s_%d" % (dtype, i), OP.CUMSUM,
                  options("CumsumOptions", exclusive=bool(cases.rng.integers(2)), reverse=bool(cases.rng.integers(2))),
                  [x, Tensor([], "int32", data=np.array(axis, np.int32))], [x], feeds_of(cases, [x]))
        dtype = ("float32", "bool", "int8", "uint8", "int32", "int64")[i % 6]
        shape = [int(v) for v in cases.rng.integers(1, 5, cases.choice(1, 2, 3))]
        depth = int(cases.rng.integers(1, len(shape) + 1))
        rows = cases.choice([1], [5], [2, 3])
        places = np.stack([cases.rng.integers(0, shape[d], rows) for d in range(depth)], -1).astype(np.int32)
        updates = cases.activation(rows + shape[depth:], dtype)
        indices = Tensor(places.shape, "int32")
        cases.add("scatter_%s_%d" % (dtype, i), OP.SCATTER_ND, options("ScatterNdOptions"), [indices, updates, constant(shape)],
                  [like(updates, shape)], [[places, values(cases, updates)]])


def suppressions(cases, count):
    def scalar(value, dtype="float32"):
        return Tensor([], dtype, data=np.array(value, dtype))

    for i in range(count):
        boxes, most = int(cases.rng.integers(1, 40)), int(cases.rng.integers(1, 12))
        corners = Tensor([boxes, 4], "float32"), Tensor([boxes], "float32")
        feeds = []
        for _ in range(2):
            centres, sizes = cases.rng.uniform(0, 1, (boxes, 2)), cases.rng.uniform(0, 0.6, (boxes, 2))
            sizes[cases.rng.integers(8, size=boxes) == 0] = 0  # some have no area
            ends = np.concatenate([centres - sizes / 2, centres + sizes / 2], 1)
            swapped = cases.rng.integers(3, size=boxes) == 0
            ends[swapped] = ends[swapped][:, [2, 3, 0, 1]]
            # Some scores are equal: the order of a heap decides.
            scores = cases.rng.integers(0, cases.choice(6, 1000), boxes) / 7
            feeds.append([np.asarray(ends, np.float32), np.asarray(scores, np.float32)])
        inputs = [*corners, scalar(most, "int32"), scalar(cases.choice(0.0, 0.2, 0.5, 1.5)), scalar(cases.choice(0.0, 0.3, -1.0))]
        kept, number = Tensor([most], "int32"), Tensor([], "int32")
        cases.add("nms_v4_%d" % i, OP.NON_MAX_SUPPRESSION_V4, options("NonMaxSuppressionV4Options"), inputs, [kept, number], feeds)
        cases.add("nms_v5_%d" % i, OP.NON_MAX_SUPPRESSION_V5, options("NonMaxSuppressionV5Options"),
                  inputs + [scalar(cases.choice(0.0, 0.5, 0.1))], [kept, Tensor([most], "float32"), number], feeds)
