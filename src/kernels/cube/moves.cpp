// Operators that move stored values, and those that make of each value another one by itself. Places here
// count elements in the dense order of a tensor, as the reference kernels have them.
#include <algorithm>
#include <cmath>

#include "ir/shape.hpp"
#include "kernels/context.hpp"
#include "kernels/cube/mover.hpp"
#include "kernels/reference/padding.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::cube {
namespace {

using ir::OpKind;

struct Movement {
  std::vector<Move> moves;
  std::optional<uint8_t> fill;  // stored value of the output's other elements
  bool by_table = false;        // every move looks its values up in what the operator makes of 256 values
};
using Found = std::optional<Movement>;

// A box of `shape`, dimension by dimension.
Move box(const std::vector<int32_t>& shape, const std::vector<int64_t>& from,
         const std::vector<int64_t>& to) {
  Move out;
  for (size_t d = 0; d < shape.size(); ++d) out.dimensions.push_back(strided(shape[d], from[d], to[d]));
  return out;
}

// Lists of places are kept short: beyond this a tensor is converted.
constexpr int64_t kLongestDimension = int64_t{1} << 20;

bool is_short(const ir::Tensor& t) {
  return std::ranges::all_of(t.shape, [](int32_t size) { return size <= kLongestDimension; });
}

// Two factors of n, near each other where there are such.
std::pair<int64_t, int64_t> factors(int64_t n) {
  auto low = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (low > 1 && n % low != 0) --low;
  return {n / std::max<int64_t>(low, 1), std::max<int64_t>(low, 1)};
}

// Element i to element i. Cut where a layout begins a new pixel.
std::optional<Move> in_order(int64_t elements, const Layout& from, const Layout& to) {
  const int64_t a = from.cube() ? from.channels : elements, b = to.cube() ? to.channels : elements;
  const int64_t small = std::min(a, b), large = std::max(a, b);
  Move out;
  if (large % small != 0) {
    if (elements > kLongestDimension) return std::nullopt;
    out.dimensions = {strided(elements, 1, 1)};
    return out;
  }
  const auto [rows, columns] = factors(elements / large);
  if (std::max({rows, large / small, small}) > kLongestDimension) return std::nullopt;
  for (const auto& [size, stride] :
       {std::pair{rows, columns * large}, {columns, large}, {large / small, small}, {small, int64_t{1}}})
    out.dimensions.push_back(strided(size, stride, stride));
  return out;
}

// From a view of the input, whose strides are `from`, to the whole output in its order.
Move gathered(const std::vector<int64_t>& shape, const std::vector<int64_t>& from, int64_t base) {
  const std::vector<int64_t> to = dense_strides({shape.begin(), shape.end()});
  Move out;
  out.from = base;
  for (size_t d = 0; d < shape.size(); ++d) {
    Dimension dimension = strided(shape[d], std::abs(from[d]), to[d]);
    if (from[d] < 0) {  // read backwards: the list begins at the other end
      out.from += from[d] * (shape[d] - 1);
      std::ranges::reverse(dimension.from);
    }
    out.dimensions.push_back(std::move(dimension));
  }
  return out;
}

Found one(Move move) {
  Movement out;
  out.moves.push_back(std::move(move));
  return out;
}

Found copied(const Call& call) {
  auto move = in_order(call.output().elements(), call.inputs[0].layout, call.outputs[0].layout);
  return move ? one(std::move(*move)) : std::nullopt;
}

Found mapped(const Call& call) {
  if (!is_8bit(call.input(0).type)) return std::nullopt;
  Found out = copied(call);
  if (out) out->by_table = true;
  return out;
}

Found concatenated(const Call& call) {
  const auto& a = std::get<ir::ConcatenationAttributes>(call.op().attributes);
  const auto axis = ir::concatenation_axis(call.graph, call.op());
  if (!axis || a.activation != ir::Activation::None) return std::nullopt;
  const std::vector<int64_t> to = dense_strides(call.output().shape);
  Movement out;
  int64_t first = 0;
  for (size_t i = 0; i < call.op().inputs.size(); ++i) {
    const ir::Tensor& in = call.input(i);
    Move move = box(in.shape, dense_strides(in.shape), to);
    move.input = i;
    move.to = first * to[static_cast<size_t>(*axis)];
    first += in.shape[static_cast<size_t>(*axis)];
    out.by_table = out.by_table || in.quant != call.output().quant;
    out.moves.push_back(std::move(move));
  }
  return out;
}

// Outputs that are neighbouring parts of input `whole`.
Found parts(const Call& call, size_t whole, int64_t axis_value) {
  const std::vector<int32_t>& shape = call.input(whole).shape;
  const auto axis = ir::normalize_axis(axis_value, static_cast<int64_t>(shape.size()));
  if (!axis) return std::nullopt;
  const std::vector<int64_t> from = dense_strides(shape);
  Movement out;
  int64_t first = 0;
  for (size_t i = 0; i < call.op().outputs.size(); ++i) {
    const std::vector<int32_t>& part = call.output(i).shape;
    Move move = box(part, from, dense_strides(part));
    move.input = whole;
    move.output = i;
    move.from = first * from[static_cast<size_t>(*axis)];
    first += part[static_cast<size_t>(*axis)];
    out.moves.push_back(std::move(move));
  }
  return out;
}

Found split(const Call& call) {
  const bool sizes = call.op().kind == OpKind::SplitV;
  const auto axis = parameter(call, sizes ? 2 : 0);
  return axis ? parts(call, sizes ? 0 : 1, (*axis)[0]) : std::nullopt;
}

Found sliced(const Call& call) {
  const auto begin = parameter(call, 1);
  if (!begin) return std::nullopt;
  const std::vector<int64_t> from = dense_strides(call.input(0).shape);
  Move move = box(call.output().shape, from, dense_strides(call.output().shape));
  for (size_t d = 0; d < begin->size(); ++d) move.from += (*begin)[d] * from[d];
  return one(std::move(move));
}

Found strided_sliced(const Call& call) {
  for (size_t i = 1; i < 4; ++i)
    if (!parameter(call, i)) return std::nullopt;
  const auto slice = ir::resolve_strided_slice(call.graph, call.op());
  if (!slice) return std::nullopt;
  const std::vector<int64_t> strides = dense_strides(call.input(0).shape);
  std::vector<int64_t> shape, from;
  int64_t base = 0;
  for (size_t d = 0; d < slice->axes.size(); ++d) {
    shape.push_back(slice->axes[d].size);
    from.push_back(slice->axes[d].stride * strides[d]);
    base += slice->axes[d].begin * strides[d];
  }
  return one(gathered(shape, from, base));
}

Found padded(const Call& call, std::optional<uint8_t> fill) {
  if (!fill || !parameter(call, 1)) return std::nullopt;
  const auto amounts = ir::pad_amounts(call.graph, call.op());
  if (!amounts) return std::nullopt;
  const std::vector<int64_t> to = dense_strides(call.output().shape);
  Move move = box(call.input(0).shape, dense_strides(call.input(0).shape), to);
  for (size_t d = 0; d < amounts->size(); ++d) move.to += (*amounts)[d].before * to[d];
  Found out = one(std::move(move));
  out->fill = fill;
  return out;
}

std::optional<uint8_t> stated_fill(const Call& call) {
  if (!call.has_input(2) || !call.input(2).is_constant || call.input(2).data.size() != 1) return std::nullopt;
  return call.input(2).data[0];
}

Found transposed(const Call& call) {
  if (!parameter(call, 1)) return std::nullopt;
  const auto permutation = ir::transpose_permutation(call.graph, call.op());
  if (!permutation) return std::nullopt;
  const std::vector<int64_t> strides = dense_strides(call.input(0).shape);
  std::vector<int64_t> from;
  for (const int64_t d : *permutation) from.push_back(strides[static_cast<size_t>(d)]);
  const std::vector<int32_t>& shape = call.output().shape;
  return one(gathered({shape.begin(), shape.end()}, from, 0));
}

Found reversed(const Call& call) {
  const auto axes = ir::reverse_axes(call.graph, call.op());
  if (!axes) return std::nullopt;
  const std::vector<int32_t>& shape = call.output().shape;
  std::vector<int64_t> from = dense_strides(shape);
  int64_t base = 0;
  for (const int64_t axis : *axes) {
    int64_t& stride = from[static_cast<size_t>(axis)];
    base += stride * (shape[static_cast<size_t>(axis)] - 1);
    stride = -stride;
  }
  return one(gathered({shape.begin(), shape.end()}, from, base));
}

// See reference/depth_to_space.cpp and space_to_depth.cpp for the orders.
Found depth_to_space(const Call& call) {
  const int64_t block = std::get<ir::BlockAttributes>(call.op().attributes).block_size;
  const ir::Nhwc in = ir::nhwc(call.input(0));
  const int64_t depth = in.c / (block * block);
  return one(gathered({in.n, in.h, block, in.w, block, depth},
                      {in.h * in.w * in.c, in.w * in.c, block * depth, in.c, depth, 1}, 0));
}

Found space_to_depth(const Call& call) {
  const int64_t block = std::get<ir::BlockAttributes>(call.op().attributes).block_size;
  const ir::Nhwc in = ir::nhwc(call.input(0));
  const int64_t row = in.w * in.c;
  return one(gathered({in.n, in.h / block, in.w / block, block, block, in.c},
                      {in.h * row, block * row, block * in.c, row, in.c, 1}, 0));
}

// PACK and UNPACK: strides of the tensor with the axis, without it.
std::vector<int64_t> without(std::vector<int64_t> strides, int64_t axis) {
  strides.erase(strides.begin() + axis);
  return strides;
}

Found packed(const Call& call) {
  const int64_t rank = static_cast<int64_t>(call.output().shape.size());
  const auto axis = ir::normalize_axis(std::get<ir::PackAttributes>(call.op().attributes).axis, rank);
  if (!axis) return std::nullopt;
  const std::vector<int64_t> to = dense_strides(call.output().shape);
  Movement out;
  for (size_t i = 0; i < call.op().inputs.size(); ++i) {
    const std::vector<int32_t>& shape = call.input(i).shape;
    Move move = box(shape, dense_strides(shape), without(to, *axis));
    move.input = i;
    move.to = static_cast<int64_t>(i) * to[static_cast<size_t>(*axis)];
    out.moves.push_back(std::move(move));
  }
  return out;
}

Found unpacked(const Call& call) {
  const int64_t rank = static_cast<int64_t>(call.input(0).shape.size());
  const auto axis = ir::normalize_axis(std::get<ir::PackAttributes>(call.op().attributes).axis, rank);
  if (!axis) return std::nullopt;
  const std::vector<int64_t> from = dense_strides(call.input(0).shape);
  Movement out;
  for (size_t i = 0; i < call.op().outputs.size(); ++i) {
    const std::vector<int32_t>& shape = call.output(i).shape;
    Move move = box(shape, without(from, *axis), dense_strides(shape));
    move.output = i;
    move.from = static_cast<int64_t>(i) * from[static_cast<size_t>(*axis)];
    out.moves.push_back(std::move(move));
  }
  return out;
}

Found picked(const Call& call) {
  const auto indices = parameter(call, 1);
  const auto& a = std::get<ir::GatherAttributes>(call.op().attributes);
  const std::vector<int32_t>& shape = call.input(0).shape;
  const auto axis = ir::normalize_axis(a.axis, static_cast<int64_t>(shape.size()));
  if (!indices || !axis || a.batch_dims != 0) return std::nullopt;
  const int64_t size = shape[static_cast<size_t>(*axis)];
  if (std::ranges::any_of(*indices, [&](int64_t i) { return i < 0 || i >= size; })) return std::nullopt;
  const std::vector<int64_t> from = dense_strides(shape);
  std::vector<int32_t> flat = shape;  // of the output, its indices in one dimension
  flat[static_cast<size_t>(*axis)] = static_cast<int32_t>(indices->size());
  Move move = box(flat, from, dense_strides(flat));
  std::vector<int64_t>& places = move.dimensions[static_cast<size_t>(*axis)].from;
  for (size_t i = 0; i < places.size(); ++i) places[i] = (*indices)[i] * from[static_cast<size_t>(*axis)];
  return one(std::move(move));
}

Found broadcast(const Call& call) {
  const auto wanted = parameter(call, 1);
  const std::vector<int32_t>& in = call.input(0).shape;
  const std::vector<int32_t>& out = call.output().shape;
  if (!wanted || !std::equal(wanted->begin(), wanted->end(), out.begin(), out.end())) return std::nullopt;
  const std::vector<int64_t> strides = dense_strides(in);
  std::vector<int64_t> from(out.size(), 0);
  for (size_t d = 0; d < in.size(); ++d)
    if (in[d] != 1) from[out.size() - in.size() + d] = strides[d];
  return one(gathered({out.begin(), out.end()}, from, 0));
}

Found movement_of(const Call& call) {
  switch (call.op().kind) {
    case OpKind::Reshape:
      // A shape that is computed is checked by the dense kernel.
      return call.has_input(1) && !call.input(1).is_constant ? std::nullopt : copied(call);
    case OpKind::Squeeze:
    case OpKind::ExpandDims:
      return copied(call);
    case OpKind::Abs:
    case OpKind::Elu:
    case OpKind::Exp:
    case OpKind::Gelu:
    case OpKind::HardSwish:
    case OpKind::LeakyRelu:
    case OpKind::Log:
    case OpKind::Logistic:
    case OpKind::Neg:
    case OpKind::Quantize:
    case OpKind::Relu:
    case OpKind::Relu6:
    case OpKind::ReluN1To1:
    case OpKind::Rsqrt:
    case OpKind::Sqrt:
    case OpKind::Tanh:
      return mapped(call);
    case OpKind::Concatenation:
      return concatenated(call);
    case OpKind::Split:
    case OpKind::SplitV:
      return split(call);
    case OpKind::Slice:
      return sliced(call);
    case OpKind::StridedSlice:
      return strided_sliced(call);
    case OpKind::Pad:
      return padded(call, reference::zero_of(call.output())[0]);
    case OpKind::PadV2:
      return padded(call, stated_fill(call));
    case OpKind::Transpose:
      return transposed(call);
    case OpKind::Reverse:
      return reversed(call);
    case OpKind::DepthToSpace:
      return depth_to_space(call);
    case OpKind::SpaceToDepth:
      return space_to_depth(call);
    case OpKind::Pack:
      return packed(call);
    case OpKind::Unpack:
      return unpacked(call);
    case OpKind::Gather:
      return picked(call);
    case OpKind::BroadcastTo:
      return broadcast(call);
    default:
      return std::nullopt;
  }
}

// A move and all it needs.
struct Ready {
  size_t input, output;
  Path path;
};

// None when the operator has no such way; by then a kernel may have refused the quantization.
std::optional<std::vector<Ready>> make_ready(const Call& call, Movement& movement) {
  std::vector<Ready> out;
  for (Move& move : movement.moves) {
    if (!is_8bit(call.input(move.input).type) || !is_8bit(call.output(move.output).type)) return std::nullopt;
    if (movement.by_table) {
      auto table = value_table(call, move.input);
      if (!table) return std::nullopt;
      move.table = *table;
    }
    auto path = Path::make(move, call.inputs[move.input].layout, call.outputs[move.output].layout);
    if (!path) return std::nullopt;
    out.push_back({move.input, move.output, std::move(*path)});
  }
  return out;
}

bool are_short(const Call& call) {
  for (const std::vector<int32_t>* operands : {&call.op().inputs, &call.op().outputs})
    for (const int32_t t : *operands)
      if (t != ir::kAbsent && !is_short(call.graph.tensor(t))) return false;
  return true;
}

}  // namespace

bool takes_moves(const Call& call) {
  if (!are_short(call)) return false;
  Found movement = movement_of(call);
  return movement && make_ready(call, *movement);
}

std::optional<Status> run_moves(const Call& call, const Options& options) {
  if (!are_short(call)) return std::nullopt;
  Found movement = movement_of(call);
  if (!movement) return std::nullopt;
  const auto moves = make_ready(call, *movement);
  if (!moves) return std::nullopt;
  for (const OutputView& output : call.outputs) {
    if (movement->fill)
      fill_all(output, *movement->fill);
    else
      fill_spare(output);
  }
  for (const Ready& move : *moves)
    move.path.run(call.inputs[move.input].bytes.data(), call.outputs[move.output].bytes.data(), options.pool);
  return Status{};
}

}  // namespace peraxis::kernels::cube
