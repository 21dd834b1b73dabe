"""Random single-operator models of data movement; operator_cases.py has the others and writes the file."""
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from case_parts import MOVED_TYPES, OP, feeds_of, like, values
from make_kernel_cases import Tensor, constant, options


def movement(cases, count):
    for i in range(count):
        dtype = MOVED_TYPES[i % 7]
        h, w = (int(v) for v in cases.rng.integers(2, 6, 2))
        c = cases.choice(1, 3, 6)
        x = cases.activation([2, h, w, c], dtype)
        feeds = feeds_of(cases, [x], 1)

        def add(name, code, made, inputs, outputs):
            cases.add("%s_%s_%d" % (name, dtype, i), code, made, inputs, outputs, feeds)

        pads = cases.rng.integers(0, 3, (4, 2))
        padded = (np.array(x.shape) + pads.sum(1)).tolist()
        add("pad", OP.PAD, options("PadOptions"), [x, constant(pads)], [like(x, padded)])
        value = like(x, [1])
        value.data = values(cases, value)
        add("padv2", OP.PADV2, options("PadV2Options"), [x, constant(pads), value], [like(x, padded)])
        mirror = cases.rng.integers(0, 2, (4, 2))
        symmetric = bool(cases.rng.integers(2))
        if not symmetric:
            mirror = np.minimum(mirror, np.array(x.shape)[:, None] - 1)
        if dtype != "bool":
            add("mirror_pad", OP.MIRROR_PAD, options("MirrorPadOptions", mode=int(symmetric)), [x, constant(mirror)],
                [like(x, (np.array(x.shape) + mirror.sum(1)).tolist())])
        order = cases.rng.permutation(4)
        add("transpose", OP.TRANSPOSE, options("TransposeOptions"), [x, constant(order)], [like(x, [x.shape[a] for a in order])])
        add("reshape", OP.RESHAPE, options("ReshapeOptions", newShape=[2, h * w * c]), [x, constant([2, h * w * c])],
            [like(x, [2, h * w * c])])
        begin = [int(cases.rng.integers(n)) for n in x.shape]
        size = [int(cases.rng.integers(1, n - b + 1)) for n, b in zip(x.shape, begin)]
        stated = [-1 if b + s == n and cases.rng.integers(2) else s for n, b, s in zip(x.shape, begin, size)]
        index = cases.choice("int32", "int64")
        add("slice", OP.SLICE, options("SliceOptions"), [x, constant(begin, index), constant(stated, index)], [like(x, size)])
        add("strided_rows", OP.STRIDED_SLICE, options("StridedSliceOptions"),
            [x, constant([0, 0, 0, 0]), constant(x.shape), constant([1, 2, 1, 1])], [like(x, [2, -(-h // 2), w, c])])
        axis = int(cases.rng.integers(-4, 4))
        sizes = [int(v) for v in cases.rng.integers(1, 4, cases.choice(1, 2, 3))]
        whole = list(x.shape)
        whole[axis] = sum(sizes)
        parts = [like(x, [s if d == axis % 4 else n for d, n in enumerate(x.shape)]) for s in sizes]
        stated = list(sizes)
        if cases.rng.integers(2):
            stated[int(cases.rng.integers(len(sizes)))] = -1
        split = like(x, whole)
        if dtype != "bool":
            cases.add("split_v_%s_%d" % (dtype, i), OP.SPLIT_V, options("SplitVOptions", numSplits=len(sizes)),
                      [split, constant(stated), Tensor([], "int32", data=np.array(axis, np.int32))], parts,
                      feeds_of(cases, [split], 1))
        at = int(cases.rng.integers(-5, 5))
        shape = list(x.shape)
        shape.insert(at % 5, 1)
        add("expand_dims", OP.EXPAND_DIMS, options("ExpandDimsOptions"),
            [x, Tensor([], "int32", data=np.array(at, np.int32))], [like(x, shape)])
        flat = like(x, [1, h, 1, w])
        dims = cases.choice([], [0], [0, 2], [-2])
        kept = [n for d, n in enumerate(flat.shape) if (n != 1 if not dims else d not in [k % 4 for k in dims])]
        cases.add("squeeze_%s_%d" % (dtype, i), OP.SQUEEZE, options("SqueezeOptions", squeezeDims=dims), [flat], [like(x, kept)],
                  feeds_of(cases, [flat], 1))
        number = cases.choice(1, 2, 3)
        shape = list(x.shape)
        shape.insert(at % 5, number)
        packed = [like(x, x.shape) for _ in range(number)]
        if dtype != "bool":
            cases.add("pack_%s_%d" % (dtype, i), OP.PACK, options("PackOptions", valuesCount=number, axis=at), packed,
                      [like(x, shape)], feeds_of(cases, packed, 1))
        if dtype != "int64":
            add("unpack", OP.UNPACK, options("UnpackOptions", num=x.shape[axis], axis=axis), [x],
                [like(x, [n for d, n in enumerate(x.shape) if d != axis % 4]) for _ in range(x.shape[axis])])
        target = [cases.choice(2, 3), 2, h, w, c]
        add("broadcast_to", OP.BROADCAST_TO, options("BroadcastToOptions"), [x, constant(target, index)], [like(x, target)])
        add("shape", OP.SHAPE, options("ShapeOptions", outType=schema.TensorType.INT32), [x], [Tensor([4], "int32")])


def slices(cases, count):
    """STRIDED_SLICE with every kind of entry: a range, one index, an ellipsis, a new axis."""
    for i in range(count):
        dtype = MOVED_TYPES[i % 7]
        x = cases.activation([int(v) for v in cases.rng.integers(1, 6, cases.choice(1, 2, 3, 4))], dtype)
        entries = ["range"] * int(cases.rng.integers(0, len(x.shape) + 1))
        if len(entries) < len(x.shape):  # one for no dimension is not what LiteRT takes it for
            entries.insert(int(cases.rng.integers(len(entries) + 1)), "ellipsis")
        if len(x.shape) < 4 and cases.rng.integers(2):
            entries.insert(int(cases.rng.integers(len(entries) + 1)), "new")
        if not entries:
            continue
        begin, end, strides, index, masks, dimension = [], [], [], [], dict.fromkeys(("begin", "end", "ellipsis", "new", "shrink"), 0), 0
        for k, entry in enumerate(entries):
            if entry == "ellipsis":
                dimension += len(x.shape) - entries.count("range")
                one, row = Ellipsis, (0, 0, 1)
            elif entry == "new":
                one, row = None, (int(cases.rng.integers(-2, 3)), 1, 1)
            else:
                n = x.shape[dimension]
                dimension += 1
                if cases.rng.integers(4) == 0:
                    at = int(cases.rng.integers(-n, n))
                    one, row = at, (at, at + 1, 1)
                    masks["shrink"] |= 1 << k
                else:
                    stop, step = cases.choice((n, 1), (n, 2), (n + 5, 1))
                    start = int(cases.rng.integers(0, n))
                    one, row = slice(start, stop, step), (start, stop, step)
            if entry in masks:
                masks[entry] |= 1 << k
            index.append(one)
            for to, value in zip((begin, end, strides), row):
                to.append(value)
        out = np.zeros(x.shape)[tuple(index)].shape
        cases.add("strided_slice_%s_%d" % (dtype, i), OP.STRIDED_SLICE,
                  options("StridedSliceOptions", ellipsisMask=masks["ellipsis"], newAxisMask=masks["new"], shrinkAxisMask=masks["shrink"]),
                  [x, constant(begin), constant(end), constant(strides)], [like(x, out)], feeds_of(cases, [x]))


def indexing(cases, count):
    for i in range(count):
        dtype = MOVED_TYPES[i % 7]
        x = cases.activation([2, 3, 4, 5], dtype)
        index = cases.choice("int32", "int64")
        batch = cases.choice(0, 0, 1, 2)
        axis = int(cases.rng.integers(batch, 4))
        picked = x.shape[:batch] + [int(v) for v in cases.rng.integers(1, 4, cases.choice(0, 1, 2))]
        indices = Tensor(picked, index)
        out = x.shape[:axis] + picked[batch:] + x.shape[axis + 1:]
        feeds = [[values(cases, x), cases.rng.integers(0, x.shape[axis], picked).astype(index)]]
        cases.add("gather_%s_%d" % (dtype, i), OP.GATHER, options("GatherOptions", axis=axis, batchDims=batch), [x, indices],
                  [like(x, out)], feeds)
        depth = int(cases.rng.integers(1, 5))
        rows = cases.choice([3], [2, 2])
        places = np.stack([cases.rng.integers(0, x.shape[d], rows) for d in range(depth)], -1).astype(index)
        cases.add("gather_nd_%s_%d" % (dtype, i), OP.GATHER_ND, options("GatherNdOptions"), [x, Tensor(places.shape, index)],
                  [like(x, rows + x.shape[depth:])], [[feeds[0][0], places]])


def blocks(cases, count):
    for i in range(count):
        dtype = ("int8", "uint8", "float32", "int32", "int64")[i % 5]
        b = cases.choice(1, 2, 3)
        h, w = (int(v) for v in cases.rng.integers(1, 4, 2))
        x = cases.activation([2, h * b, w * b, 3], dtype)
        cases.add("space_to_depth_%s_%d" % (dtype, i), OP.SPACE_TO_DEPTH, options("SpaceToDepthOptions", blockSize=b), [x],
                  [like(x, [2, h, w, 3 * b * b])], feeds_of(cases, [x], 1))
        x = cases.activation([2, h, w, 2 * b * b], dtype)
        cases.add("depth_to_space_%s_%d" % (dtype, i), OP.DEPTH_TO_SPACE, options("DepthToSpaceOptions", blockSize=b), [x],
                  [like(x, [2, h * b, w * b, 2])], feeds_of(cases, [x], 1))
        dtype = ("int8", "uint8", "float32", "int32", "int64", "int16")[i % 6]
        by, bx = cases.choice(1, 2, 3), cases.choice(1, 2)
        top, left = (int(v) for v in cases.rng.integers(0, 2, 2))
        h, w = 2 * by, 3 * bx
        if dtype != "int16":
            x = cases.activation([by * bx * 2, 2, 3, 4], dtype)
            cases.add("batch_to_space_%s_%d" % (dtype, i), OP.BATCH_TO_SPACE_ND, options("BatchToSpaceNDOptions"),
                      [x, constant([by, bx]), constant([[top, 0], [0, left]])], [like(x, [2, h - top, w - left, 4])],
                      feeds_of(cases, [x], 1))
        x = cases.activation([2, h - top if h > top else h, w, 3], dtype)
        down = -(x.shape[1] + top) % by
        cases.add("space_to_batch_%s_%d" % (dtype, i), OP.SPACE_TO_BATCH_ND, options("SpaceToBatchNDOptions"),
                  [x, constant([by, bx]), constant([[top, down], [0, bx]])],
                  [like(x, [2 * by * bx, (x.shape[1] + top + down) // by, (w + bx) // bx, 3])], feeds_of(cases, [x], 1))


def makers(cases, count):
    for i in range(count):
        dtype = MOVED_TYPES[i % 7]
        shape = [2, 3, int(cases.rng.integers(1, 5))]
        value = like(cases.activation([], dtype), [])
        feeds = [[np.asarray(values(cases, value), dtype)]]
        cases.add("fill_%s_%d" % (dtype, i), OP.FILL, options("FillOptions"), [constant(shape), value], [like(value, shape)], feeds)
        dtype = ("int32", "float32", "int64")[i % 3]
        step = cases.choice(1, 2, -1, -3) if dtype != "float32" else cases.choice(0.5, -0.25, 1.25)
        start = cases.choice(0, 5, -3)
        limit = start + step * cases.choice(1, 4, 7)
        length = len(np.arange(start, limit, step))
        scalars = [Tensor([], dtype, data=np.array(v, dtype)) for v in (start, limit, step)]
        scalars[0].data = None
        cases.add("range_%s_%d" % (dtype, i), OP.RANGE, options("RangeOptions"), scalars, [Tensor([length], dtype)],
                  [[np.array(start, dtype)]])
