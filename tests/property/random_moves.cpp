#include "random_moves.hpp"

#include <algorithm>

#include "graph_builder.hpp"
#include "ir/operands.hpp"

namespace peraxis::property {
namespace {

int32_t convolution(Builder& b, int32_t from, int32_t outputs) {
  Layer l;
  l.kind = ir::OpKind::Conv2D;
  l.outputs = outputs;
  random_quantization(b, l);
  l.gain = 1;
  l.kernel_h = l.kernel_w = b.pick({1, 1, 3});
  l.attributes.pads.rule = ir::Pads::Rule::Even;
  return b.layer(from, l);
}

// A tensor with the scale of another.
int32_t alike(Builder& b, int32_t from, std::vector<int32_t> shape) {
  const ir::QuantParams quant = b.graph().tensor(from).quant;
  return b.add_tensor(std::move(shape), quant.scale[0], quant.zero_point[0]);
}

int32_t resize(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from);
  const int32_t rows = b.pick({1, 2, 3, 4, 5, 6, 7, 8, 9, 12});
  const int32_t columns = b.rng().one_in(2) ? rows : b.pick({1, 2, 3, 4, 7, 8, 10});
  shape[1] *= rows;
  shape[2] *= columns;
  return b.op(ir::OpKind::ResizeNearestNeighbor, {from, b.constant({2}, {shape[1], shape[2]})},
              alike(b, from, shape), ir::ResizeAttributes{false, b.rng().one_in(2)});
}

int32_t elements(const std::vector<int32_t>& shape) {
  int32_t out = 1;
  for (const int32_t n : shape) out *= n;
  return out;
}

int32_t reshape(Builder& b, int32_t from, const std::vector<int32_t>& shape) {
  return b.op(ir::OpKind::Reshape, {from, b.constant({static_cast<int32_t>(shape.size())}, shape)},
              alike(b, from, shape), ir::NoAttributes{});
}

// Pixels of `channels` in one of the ways to write their shape.
std::vector<int32_t> some_shape(Builder& b, int32_t pixels, int32_t channels) {
  int32_t rows = 1;
  for (const int32_t n : {2, 3, 5, 7})
    if (pixels % n == 0 && b.rng().one_in(2)) rows = n;
  return b.pick<std::vector<int32_t>>({{1, pixels, channels},
                                       {pixels, channels},
                                       {1, pixels / rows, rows, channels},
                                       {1, 1, pixels, channels},
                                       {rows, pixels / rows, channels}});
}

int32_t recut(Builder& b, int32_t from) {
  const int32_t channels = b.shape(from).back(), pixels = elements(b.shape(from)) / channels;
  const int32_t x = reshape(b, from, some_shape(b, pixels, channels));
  if (b.rng().one_in(4)) return x;
  const std::vector<int32_t> shape = b.shape(x);
  const int32_t relu = b.op(ir::OpKind::Relu, {x}, alike(b, x, shape), ir::NoAttributes{});
  const ir::OpKind kind = b.rng().one_in(2) ? ir::OpKind::Maximum : ir::OpKind::Minimum;
  return b.op(kind, {relu, x}, alike(b, x, shape), ir::NoAttributes{});
}

int32_t flatten(Builder& b, int32_t from) {
  const int32_t all = elements(b.shape(from));
  const int32_t x = reshape(b, from, b.pick<std::vector<int32_t>>({{1, all}, {1, 1, 1, all}}));
  return x;
}

int32_t regroup(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from);
  const int32_t channels = shape.back(), pixels = elements(shape) / channels;
  std::vector<int32_t> ways;
  for (const int32_t n : {2, 3, 4, 5, 7, 11, 16}) {
    if (channels % n == 0) ways.push_back(n);
    if (pixels % n == 0 && pixels > n) ways.push_back(-n);
  }
  if (ways.empty()) return reshape(b, from, {pixels, channels});
  const int32_t way = ways[static_cast<size_t>(b.rng().uniform(0, static_cast<int64_t>(ways.size()) - 1))];
  if (way > 0) return reshape(b, from, some_shape(b, pixels * way, channels / way));
  return reshape(b, from, some_shape(b, pixels / -way, channels * -way));
}

// Two or three of the same channels, some of them in slots of their own.
int32_t stack(Builder& b, int32_t from) {
  std::vector<int32_t> parts{from, convolution(b, from, b.shape(from)[3])};
  b.graph().tensors[static_cast<size_t>(parts[1])].quant = b.graph().tensor(from).quant;
  if (b.rng().one_in(2)) parts.push_back(parts[static_cast<size_t>(b.rng().uniform(0, 1))]);
  const int32_t channels = b.shape(from)[3], pixels = elements(b.shape(from)) / channels;
  const bool rows = b.rng().one_in(2);
  std::vector<int32_t> shape = rows ? b.shape(from) : std::vector<int32_t>{1, pixels, channels};
  for (int32_t& part : parts)
    if (!rows) part = reshape(b, part, shape);
  if (b.rng().one_in(2)) std::swap(parts[0], parts[1]);
  const bool first_is_one = shape[1] == 1 && shape.size() == 4;
  const size_t axis = first_is_one && b.rng().one_in(2) ? 2 : 1;
  shape[axis] *= static_cast<int32_t>(parts.size());
  return b.op(ir::OpKind::Concatenation, parts, alike(b, from, shape),
              ir::ConcatenationAttributes{static_cast<int32_t>(axis), ir::Activation::None});
}

// Maps of joined rows side by side: each is written in the cube of both. Surfaces of an odd number: kernels
// come in pairs of them.
int32_t stack_of_pairs(Builder& b, int32_t from) {
  from = convolution(b, from, b.pick({16, 48, 80}));
  std::vector<int32_t> shape = b.shape(from);
  shape[1] *= 2;
  const auto joined = [&](std::vector<int32_t> parts, std::vector<int32_t> to, int32_t axis) {
    return b.op(ir::OpKind::Concatenation, std::move(parts), alike(b, from, std::move(to)),
                ir::ConcatenationAttributes{axis, ir::Activation::None});
  };
  const int32_t first = joined({from, from}, shape, 1), second = joined({from, from}, shape, 1);
  shape[3] *= 2;
  return joined({first, second}, shape, 3);
}

int32_t pad(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from), amounts(8);
  const bool channels = b.rng().one_in(3);
  for (size_t d = 1; d < 4; ++d)
    for (size_t side = 0; side < 2; ++side) {
      if (d == 3 && !channels) continue;
      amounts[2 * d + side] = b.pick({0, 1, 1, 2, 3, 5});
      if (d < 3 && b.rng().one_in(8)) amounts[2 * d + side] = b.pick({9, 17, 20});
      shape[d] += amounts[2 * d + side];
    }
  std::vector<int32_t> inputs{from, b.constant({4, 2}, amounts)};
  const bool with_value = b.rng().one_in(2);
  if (with_value) {
    const int32_t value = alike(b, from, {1});
    b.graph().tensors[static_cast<size_t>(value)].is_constant = true;
    b.graph().tensors[static_cast<size_t>(value)].data = b.random_bytes(1, b.rng().one_in(2));
    inputs.push_back(value);
  }
  return b.op(with_value ? ir::OpKind::PadV2 : ir::OpKind::Pad, inputs, alike(b, from, shape),
              ir::NoAttributes{});
}

int32_t window(Builder& b, int32_t from) {
  const std::vector<int32_t> in = b.shape(from);
  std::vector<int32_t> begin, end, strides, shape;
  for (size_t d = 0; d < in.size(); ++d) {
    const bool whole = b.rng().one_in(3);
    begin.push_back(whole ? 0 : static_cast<int32_t>(b.rng().uniform(0, in[d] - 1)));
    end.push_back(whole ? in[d] : static_cast<int32_t>(b.rng().uniform(begin[d] + 1, in[d])));
    strides.push_back(whole ? 1 : b.pick({1, 1, 2, 3}));
    shape.push_back((end[d] - begin[d] + strides[d] - 1) / strides[d]);
  }
  const bool dense = std::ranges::all_of(strides, [](int32_t s) { return s == 1; });
  if (dense && b.rng().one_in(2))
    return b.op(ir::OpKind::Slice, {from, b.constant({4}, begin), b.constant({4}, shape)},
                alike(b, from, shape), ir::NoAttributes{});
  return b.op(ir::OpKind::StridedSlice,
              {from, b.constant({4}, begin), b.constant({4}, end), b.constant({4}, strides)},
              alike(b, from, shape), ir::StridedSliceAttributes{});
}

int32_t pool(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from);
  ir::PoolAttributes a;
  a.filter_h = a.filter_w = b.pick({2, 3});
  a.stride_h = a.stride_w = b.pick({1, 2});
  const ir::Nhwc map{shape[0], shape[1], shape[2], shape[3]};
  a.pads = ir::even_pads(map, a);
  shape[1] = static_cast<int32_t>(ir::pool_axes(map, a).rows.out);
  shape[2] = static_cast<int32_t>(ir::pool_axes(map, a).columns.out);
  return b.op(ir::OpKind::MaxPool2D, {from}, alike(b, from, shape), a);
}

int32_t mean(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from);
  const bool keep = b.rng().one_in(2);
  shape = keep ? std::vector<int32_t>{shape[0], 1, 1, shape[3]} : std::vector<int32_t>{shape[0], shape[3]};
  return b.op(ir::OpKind::Mean, {from, b.constant({2}, {1, 2})}, alike(b, from, shape),
              ir::ReduceAttributes{keep});
}

int32_t activation(Builder& b, int32_t from) {
  const int32_t out = b.add_tensor(b.shape(from), 0.1F, b.zero_point());
  return b.op(ir::OpKind::HardSwish, {from}, out, ir::NoAttributes{});
}

int32_t of_batch(Builder& b, int32_t from) {
  switch (b.rng().uniform(0, 7)) {
    case 0:
      return resize(b, from);
    case 1:
      return recut(b, from);
    case 2:
      return pad(b, from);
    case 3:
      return window(b, from);
    case 4:
      return mean(b, from);
    case 5:
      return activation(b, from);
    case 6: {
      std::vector<int32_t> shape = b.shape(from);
      shape[3] *= 2;
      const int32_t other = pool(b, from);
      if (b.shape(other) != b.shape(from) || shape[3] % 32 != 0) return other;  // gaps: not for every reader
      return b.op(ir::OpKind::Concatenation, {from, other}, alike(b, from, shape),
                  ir::ConcatenationAttributes{3, ir::Activation::None});
    }
    default:
      return pool(b, from);
  }
}

int32_t moved(Builder& b, Move move, int32_t from) {
  switch (move) {
    case Move::Resize:
      return resize(b, from);
    case Move::Recut:
      return recut(b, from);
    case Move::Flatten:
      return flatten(b, from);
    case Move::Regroup:
      return regroup(b, from);
    case Move::Stack:
      return b.rng().one_in(3) ? stack_of_pairs(b, from) : stack(b, from);
    case Move::Pad:
      return pad(b, from);
    case Move::Window:
      return window(b, from);
    case Move::Batch:
      return of_batch(b, from);
  }
  return from;
}

// Something that reads the map: mostly a convolution, or what wants channels in their order.
void add_reader(Builder& b, int32_t x) {
  const std::vector<int32_t> shape = b.shape(x);
  if (shape.size() == 2) {
    Layer l;
    l.kind = ir::OpKind::FullyConnected;
    l.outputs = b.pick({3, 32});
    random_quantization(b, l);
    b.graph().outputs.push_back(b.layer(x, l));
  } else if (b.rng().one_in(3)) {
    b.graph().outputs.push_back(b.op(ir::OpKind::Maximum, {x, x}, alike(b, x, shape), ir::NoAttributes{}));
  } else if (shape.size() == 4 && elements(shape) < 20'000) {
    b.graph().outputs.push_back(convolution(b, x, b.pick({4, 32})));
  }
}

}  // namespace

const char* move_name(Move move) {
  switch (move) {
    case Move::Resize:
      return "Resize";
    case Move::Recut:
      return "Recut";
    case Move::Flatten:
      return "Flatten";
    case Move::Regroup:
      return "Regroup";
    case Move::Stack:
      return "Stack";
    case Move::Pad:
      return "Pad";
    case Move::Window:
      return "Window";
    case Move::Batch:
      return "Batch";
  }
  return "";
}

MoveCase random_move(uint64_t seed, Move move) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  MoveCase out;
  set_tiles(b, out.test);
  const int32_t images = move == Move::Batch ? b.pick({2, 3}) : 1;
  const std::vector<int32_t> shape{images, static_cast<int32_t>(b.rng().uniform(1, 6)),
                                   static_cast<int32_t>(b.rng().uniform(1, 7)), b.pick({1, 3, 16})};
  int32_t x = convolution(b, b.input(shape), b.pick({1, 2, 12, 16, 24, 33, 40}));
  const size_t first = b.graph().ops.size();
  x = moved(b, move, x);
  for (size_t op = first; op < b.graph().ops.size(); ++op)
    if (!ir::is_convolution_like(b.graph().ops[op].kind)) out.moves.push_back(op);
  if (!b.rng().one_in(3)) add_reader(b, x);
  // What nothing else sees is an output; sometimes it is one besides.
  if (b.graph().outputs.empty() || b.rng().one_in(2)) b.graph().outputs.push_back(x);
  out.test = finish(b, seed, std::move(out.test));
  return out;
}

}  // namespace peraxis::property
