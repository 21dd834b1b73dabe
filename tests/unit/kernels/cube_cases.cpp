#include "cube_cases.hpp"

#include <algorithm>

#include "ir/pads.hpp"
#include "ir/shape.hpp"

namespace peraxis::kernels {
namespace {

using base::Rng;
using ir::DataType;
using ir::OpKind;

int32_t draw(Rng& rng, int32_t low, int32_t high) {
  return static_cast<int32_t>(rng.uniform(low, high));
}

int32_t channels(Rng& rng) {
  constexpr int32_t kChannels[] = {1, 3, 8, 13, 15, 16, 17, 24, 31, 32, 33, 48};
  return kChannels[rng.uniform(0, std::ssize(kChannels) - 1)];
}

DataType byte_type(Rng& rng) {
  return rng.one_in(3) ? DataType::UInt8 : DataType::Int8;
}

ir::Tensor drawn(Rng& rng, DataType type, std::vector<int32_t> shape) {
  const int64_t zero = rng.uniform(0, 255) - (type == DataType::Int8 ? 128 : 0);
  return tensor(type, std::move(shape), static_cast<float>(rng.uniform_real(0.01, 0.2)), zero);
}

ir::Tensor like(const ir::Tensor& t, std::vector<int32_t> shape) {
  ir::Tensor out = t;
  out.shape = std::move(shape);
  return out;
}

ir::Tensor map(Rng& rng) {
  return drawn(rng, byte_type(rng), {1, draw(rng, 1, 7), draw(rng, 1, 9), channels(rng)});
}

ir::Tensor constant(Rng& rng, ir::Tensor t) {
  std::vector<uint8_t> data(static_cast<size_t>(t.bytes()));
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(rng.uniform(0, 255));
  make_constant(t, std::move(data));
  return t;
}

ir::Activation activation(Rng& rng) {
  return static_cast<ir::Activation>(rng.uniform(0, 3));
}

ir::Graph unary(Rng& rng, OpKind kind, ir::Attributes attributes = ir::NoAttributes{}) {
  const ir::Tensor in = map(rng);
  return one_op(kind, std::move(attributes), {in, drawn(rng, in.type, in.shape)});
}

// Output quantization that the operator fixes.
ir::Graph fixed(Rng& rng, OpKind kind, double steps, int low,
                ir::Attributes attributes = ir::NoAttributes{}) {
  const ir::Tensor in = map(rng);
  const int64_t zero = in.type == DataType::Int8 ? low : low + 128;
  return one_op(kind, std::move(attributes),
                {in, tensor(in.type, in.shape, static_cast<float>(1.0 / steps), zero)});
}

// int8 only.
ir::Graph signed_unary(Rng& rng, OpKind kind) {
  const ir::Tensor in = drawn(rng, DataType::Int8, map(rng).shape);
  ir::Tensor out = drawn(rng, DataType::Int8, in.shape);
  if (kind == OpKind::Neg || kind == OpKind::Abs) out.quant = in.quant;
  ir::Tensor positive = in;
  if (kind == OpKind::Sqrt || kind == OpKind::Rsqrt) positive.quant.zero_point = {-128};
  if (kind == OpKind::Rsqrt) out.quant = {{1.0F}, {-128}, 0};
  return one_op(kind, ir::NoAttributes{}, {positive, out});
}

// One operand may be a constant, a pixel, a channel or a scalar.
ir::Graph binary(Rng& rng, OpKind kind, bool with_activation) {
  ir::Tensor a = map(rng);
  if (kind == OpKind::SquaredDifference) a = drawn(rng, DataType::Int8, a.shape);
  std::vector<int32_t> shape = a.shape;
  switch (kind == OpKind::Prelu ? rng.uniform(0, 3) : rng.uniform(0, 6)) {
    case 0:
      shape = {1, 1, shape[3]};
      break;
    case 1:
      if (kind != OpKind::Prelu) shape = {1, shape[1], shape[2], 1};
      break;
    case 2:
      if (kind != OpKind::Prelu) shape = {};
      break;
    default:
      break;
  }
  ir::Tensor b = drawn(rng, a.type, shape);
  ir::Tensor out = drawn(rng, a.type, a.shape);
  if (kind == OpKind::Maximum || kind == OpKind::Minimum) b.quant = out.quant = a.quant;
  if (shape.empty() || rng.one_in(3)) b = constant(rng, b);
  ir::Attributes attributes = ir::NoAttributes{};
  if (with_activation) attributes = ir::BinaryAttributes{activation(rng), true};
  if (kind != OpKind::Prelu && rng.one_in(2)) return one_op(kind, attributes, {b, a, out});
  return one_op(kind, attributes, {a, b, out});
}

ir::Graph pool(Rng& rng, OpKind kind) {
  const ir::Tensor in = map(rng);
  ir::PoolAttributes a;
  a.filter_h = draw(rng, 1, 3);
  a.filter_w = draw(rng, 1, 3);
  a.stride_h = draw(rng, 1, 2);
  a.stride_w = draw(rng, 1, 2);
  a.activation = activation(rng);
  std::vector<int32_t> shape = in.shape;
  a.pads = ir::even_pads(ir::nhwc(in), a);
  if (rng.one_in(3) && in.shape[1] >= a.filter_h && in.shape[2] >= a.filter_w)
    a.pads = {draw(rng, 0, a.filter_h - 1), draw(rng, 0, a.filter_h - 1), draw(rng, 0, a.filter_w - 1),
              draw(rng, 0, a.filter_w - 1)};
  a.counts_padding = kind == OpKind::AveragePool2D && rng.one_in(3);
  const auto [rows, columns] = ir::pool_axes(ir::nhwc(in), a);
  shape[1] = static_cast<int32_t>(rows.out);
  shape[2] = static_cast<int32_t>(columns.out);
  return one_op(kind, a, {in, like(in, shape)});
}

ir::Graph resize(Rng& rng, OpKind kind) {
  const ir::Tensor in = map(rng);
  const int32_t h = draw(rng, 1, 12), w = draw(rng, 1, 12);
  const bool half = rng.one_in(2);
  return one_op(kind, ir::ResizeAttributes{!half && rng.one_in(2), half},
                {in, int32_constant({2}, {h, w}), like(in, {1, h, w, in.shape[3]})});
}

ir::Graph reduce(Rng& rng, OpKind kind, std::vector<int32_t> axes) {
  const ir::Tensor in = map(rng);
  const bool keep = rng.one_in(2);
  std::vector<int32_t> shape;
  for (int32_t d = 0; d < 4; ++d) {
    const bool gone = std::ranges::find(axes, d) != axes.end();
    if (!gone || keep) shape.push_back(gone ? 1 : in.shape[static_cast<size_t>(d)]);
  }
  ir::Tensor out = drawn(rng, in.type, shape);
  if (kind == OpKind::ReduceMax || kind == OpKind::ReduceMin) out.quant = in.quant;
  const auto count = static_cast<int32_t>(axes.size());
  return one_op(kind, ir::ReduceAttributes{keep}, {in, int32_constant({count}, std::move(axes)), out});
}

ir::Graph depthwise(Rng& rng) {
  ir::Tensor in = drawn(rng, DataType::Int8, map(rng).shape);
  const int32_t c = in.shape[3];
  ir::ConvAttributes a;
  a.stride_h = a.stride_w = draw(rng, 1, 2);
  ir::Tensor weights = drawn(rng, DataType::Int8, {1, 3, 3, c});
  ir::Tensor bias = drawn(rng, DataType::Int32, {c});
  weights.quant = {};
  bias.quant = {};
  for (int32_t i = 0; i < c; ++i) {
    weights.quant.scale.push_back(static_cast<float>(rng.uniform_real(0.001, 0.02)));
    bias.quant.scale.push_back(weights.quant.scale.back() * in.quant.scale[0]);
  }
  weights.quant.zero_point.assign(static_cast<size_t>(c), 0);
  weights.quant.quantized_dimension = 3;
  bias.quant.zero_point = weights.quant.zero_point;
  std::vector<int32_t> values;
  for (int32_t i = 0; i < c; ++i) values.push_back(draw(rng, -2000, 2000));
  make_constant(bias, bytes_of(values));
  std::vector<int32_t> shape = in.shape;
  a.pads = rng.one_in(2) ? ir::even_pads(ir::nhwc(in), 3, 3, a)
                         : ir::Pads{draw(rng, 1, 3), draw(rng, 1, 3), draw(rng, 1, 3), draw(rng, 1, 3)};
  const auto [rows, columns] = ir::conv_axes(ir::nhwc(in), 3, 3, a);
  shape[1] = static_cast<int32_t>(rows.out);
  shape[2] = static_cast<int32_t>(columns.out);
  return one_op(OpKind::DepthwiseConv2D, a,
                {in, constant(rng, weights), bias, drawn(rng, DataType::Int8, shape)});
}

ir::Graph concatenation(Rng& rng) {
  const ir::Tensor first = map(rng);
  const int32_t axis = draw(rng, 1, 3);
  std::vector<ir::Tensor> tensors{first};
  std::vector<int32_t> shape = first.shape;
  for (int32_t i = draw(rng, 0, 2); i >= 0; --i) {
    std::vector<int32_t> part = first.shape;
    part[static_cast<size_t>(axis)] = axis == 3 ? channels(rng) : draw(rng, 1, 5);
    shape[static_cast<size_t>(axis)] += part[static_cast<size_t>(axis)];
    tensors.push_back(like(first, part));
    if (first.type == DataType::UInt8 && rng.one_in(2))
      tensors.back().quant = drawn(rng, first.type, {}).quant;
  }
  tensors.push_back(like(first, shape));
  return one_op(OpKind::Concatenation,
                ir::ConcatenationAttributes{rng.one_in(2) ? axis : axis - 4, ir::Activation::None}, tensors);
}

ir::Graph split(Rng& rng, OpKind kind) {
  ir::Tensor in = map(rng);
  const int32_t axis = draw(rng, 1, 3), parts = draw(rng, 1, 3);
  const auto d = static_cast<size_t>(axis);
  std::vector<int32_t> sizes(static_cast<size_t>(parts), in.shape[d]);
  if (kind == OpKind::SplitV)
    for (int32_t& size : sizes) size = axis == 3 ? channels(rng) : draw(rng, 1, 4);
  in.shape[d] = 0;
  std::vector<ir::Tensor> outputs;
  for (const int32_t size : sizes) {
    in.shape[d] += size;
    outputs.push_back(in);
    outputs.back().shape[d] = size;
  }
  std::vector<ir::Tensor> tensors;
  if (kind == OpKind::Split) tensors = {int32_constant({1}, {axis}), in};
  if (kind == OpKind::SplitV) tensors = {in, int32_constant({parts}, sizes), int32_constant({1}, {axis})};
  tensors.insert(tensors.end(), outputs.begin(), outputs.end());
  return one_op(kind, ir::SplitAttributes{parts}, tensors, outputs.size());
}

ir::Graph slice(Rng& rng) {
  const ir::Tensor in = map(rng);
  std::vector<int32_t> begin, size;
  for (const int32_t extent : in.shape) {
    begin.push_back(draw(rng, 0, extent - 1));
    size.push_back(draw(rng, 1, extent - begin.back()));
  }
  return one_op(OpKind::Slice, ir::NoAttributes{},
                {in, int32_constant({4}, begin), int32_constant({4}, size), like(in, size)});
}

ir::Graph strided_slice(Rng& rng) {
  const ir::Tensor in = map(rng);
  std::vector<int32_t> begin, end, stride, shape;
  for (const int32_t extent : in.shape) {
    const int32_t step = draw(rng, 1, 2), first = draw(rng, 0, extent - 1);
    const int32_t count = draw(rng, 1, (extent - 1 - first) / step + 1);
    const int32_t last = first + (count - 1) * step;
    shape.push_back(count);
    const bool backwards = rng.one_in(3);
    begin.push_back(backwards ? last : first);
    // An end before the first element is written as one below the tensor's start.
    end.push_back(backwards ? (first == 0 ? -extent - 1 : first - 1) : last + 1);
    stride.push_back(backwards ? -step : step);
  }
  return one_op(OpKind::StridedSlice, ir::StridedSliceAttributes{},
                {in, int32_constant({4}, begin), int32_constant({4}, end), int32_constant({4}, stride),
                 like(in, shape)});
}

ir::Graph pad(Rng& rng, OpKind kind) {
  const ir::Tensor in = map(rng);
  std::vector<int32_t> amounts(8, 0), shape = in.shape;
  const bool mirror = kind == OpKind::MirrorPad;
  for (size_t d = 1; d < (mirror ? 3 : 4); ++d)
    for (size_t side = 0; side < 2; ++side) {
      amounts[2 * d + side] = draw(rng, 0, mirror ? std::min(3, in.shape[d] - 1) : 3);
      shape[d] += amounts[2 * d + side];
    }
  std::vector<ir::Tensor> tensors{in, int32_constant({4, 2}, amounts)};
  if (kind == OpKind::PadV2) tensors.push_back(constant(rng, like(in, {})));
  tensors.push_back(like(in, shape));
  if (mirror) return one_op(kind, ir::MirrorPadAttributes{rng.one_in(2)}, tensors);
  return one_op(kind, ir::NoAttributes{}, tensors);
}

ir::Graph reshape(Rng& rng) {
  const ir::Tensor in = map(rng);
  const int32_t h = in.shape[1], w = in.shape[2], c = in.shape[3];
  const std::vector<int32_t> shapes[] = {
      {1, h * w, c}, {1, h * w * c}, {1, w, h, c}, {1, h, c, w}, {c, 1, w, h}};
  const std::vector<int32_t>& shape = shapes[rng.uniform(0, 4)];
  return one_op(OpKind::Reshape, ir::NoAttributes{},
                {in, int32_constant({static_cast<int32_t>(shape.size())}, shape), like(in, shape)});
}

ir::Graph squeeze(Rng& rng) {
  const ir::Tensor in = map(rng);
  return one_op(OpKind::Squeeze, ir::SqueezeAttributes{{0}},
                {in, like(in, {in.shape[1], in.shape[2], in.shape[3]})});
}

ir::Graph expand_dims(Rng& rng) {
  const ir::Tensor in = map(rng);
  const int32_t axis = draw(rng, 0, 4);
  std::vector<int32_t> shape = in.shape;
  shape.insert(shape.begin() + axis, 1);
  return one_op(OpKind::ExpandDims, ir::NoAttributes{}, {in, int32_constant({1}, {axis}), like(in, shape)});
}

ir::Graph transpose(Rng& rng) {
  const ir::Tensor in = map(rng);
  std::vector<int32_t> order{0, 1, 2, 3}, shape;
  for (int32_t i = 3; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(draw(rng, 0, i))]);
  for (const int32_t d : order) shape.push_back(in.shape[static_cast<size_t>(d)]);
  return one_op(OpKind::Transpose, ir::NoAttributes{}, {in, int32_constant({4}, order), like(in, shape)});
}

ir::Graph reverse(Rng& rng) {
  const ir::Tensor in = map(rng);
  const int32_t first = draw(rng, 0, 3), count = draw(rng, 1, 4 - first);
  std::vector<int32_t> axes;
  for (int32_t i = 0; i < count; ++i) axes.push_back(first + i);
  return one_op(OpKind::Reverse, ir::NoAttributes{}, {in, int32_constant({count}, axes), in});
}

ir::Graph block(Rng& rng, OpKind kind) {
  ir::Tensor small = map(rng);
  const int32_t size = draw(rng, 1, 3);
  ir::Tensor deep = like(small, {1, small.shape[1], small.shape[2], small.shape[3] * size * size});
  small.shape[1] *= size;
  small.shape[2] *= size;
  const bool to_depth = kind == OpKind::SpaceToDepth;
  return one_op(kind, ir::BlockAttributes{size}, {to_depth ? small : deep, to_depth ? deep : small});
}

ir::Graph batch_block(Rng& rng, OpKind kind) {
  ir::Tensor image = map(rng);
  const int32_t rows = draw(rng, 1, 2), columns = draw(rng, 1, 3);
  ir::Tensor blocks = image;
  blocks.shape[0] = rows * columns;
  image.shape[1] *= rows;
  image.shape[2] *= columns;
  const bool to_batch = kind == OpKind::SpaceToBatch;
  return one_op(kind, ir::NoAttributes{},
                {to_batch ? image : blocks, int32_constant({2}, {rows, columns}),
                 int32_constant({2, 2}, {0, 0, 0, 0}), to_batch ? blocks : image});
}

ir::Graph pack(Rng& rng) {
  const ir::Tensor in = map(rng);
  const int32_t axis = draw(rng, 0, 4), count = draw(rng, 1, 3);
  std::vector<int32_t> shape = in.shape;
  shape.insert(shape.begin() + axis, count);
  std::vector<ir::Tensor> tensors(static_cast<size_t>(count), in);
  tensors.push_back(like(in, shape));
  return one_op(OpKind::Pack, ir::PackAttributes{axis, count}, tensors);
}

ir::Graph unpack(Rng& rng) {
  const ir::Tensor in = map(rng);
  const int32_t axis = draw(rng, 0, 3);
  const int32_t count = in.shape[static_cast<size_t>(axis)];
  std::vector<int32_t> shape = in.shape;
  shape.erase(shape.begin() + axis);
  std::vector<ir::Tensor> tensors{in};
  tensors.insert(tensors.end(), static_cast<size_t>(count), like(in, shape));
  return one_op(OpKind::Unpack, ir::PackAttributes{axis, count}, tensors, static_cast<size_t>(count));
}

ir::Graph gather(Rng& rng) {
  const ir::Tensor in = map(rng);
  const int32_t axis = draw(rng, 1, 3), count = draw(rng, 1, 20);
  std::vector<int32_t> indices, shape = in.shape;
  for (int32_t i = 0; i < count; ++i)
    indices.push_back(draw(rng, 0, in.shape[static_cast<size_t>(axis)] - 1));
  shape[static_cast<size_t>(axis)] = count;
  return one_op(OpKind::Gather, ir::GatherAttributes{axis, 0},
                {in, int32_constant({count}, indices), like(in, shape)});
}

ir::Graph broadcast_to(Rng& rng) {
  ir::Tensor in = map(rng);
  const std::vector<int32_t> shape = in.shape;
  in.shape[static_cast<size_t>(draw(rng, 1, 3))] = 1;
  return one_op(OpKind::BroadcastTo, ir::NoAttributes{}, {in, int32_constant({4}, shape), like(in, shape)});
}

ir::Graph quantize_floats(Rng& rng) {
  const ir::Tensor out = map(rng);
  ir::Tensor in = out;
  in.type = DataType::Float32;
  in.quant = {};
  return one_op(OpKind::Quantize, ir::NoAttributes{}, {in, out});
}

ir::Graph dequantize(Rng& rng) {
  const ir::Tensor in = map(rng);
  ir::Tensor out = in;
  out.type = DataType::Float32;
  out.quant = {};
  return one_op(OpKind::Dequantize, ir::NoAttributes{}, {in, out});
}

ir::Graph arg(Rng& rng, OpKind kind) {
  const ir::Tensor in = map(rng);
  ir::Tensor out = in;
  out.type = DataType::Int32;
  out.quant = {};
  out.shape.pop_back();
  return one_op(kind, ir::NoAttributes{}, {in, int32_constant({1}, {rng.one_in(2) ? 3 : -1}), out});
}

std::vector<CubeCase> make_cases() {
  using enum OpKind;
  std::vector<CubeCase> cases;
  const auto add = [&](const char* name, std::function<ir::Graph(Rng&)> make,
                       std::vector<size_t> inputs = {0}, bool dense_output = false) {
    cases.push_back({name, std::move(make), std::move(inputs), dense_output});
  };
  for (const OpKind kind : {Relu, Relu6, ReluN1To1, HardSwish})
    add(ir::op_name(kind), [kind](Rng& r) { return unary(r, kind); });
  add("leaky_relu", [](Rng& r) { return unary(r, LeakyRelu, ir::LeakyReluAttributes{0.1F}); });
  add("gelu", [](Rng& r) { return unary(r, Gelu, ir::GeluAttributes{r.one_in(2)}); });
  add("quantize", [](Rng& r) { return unary(r, Quantize); });
  add("logistic", [](Rng& r) { return fixed(r, Logistic, 256, -128); });
  add("tanh", [](Rng& r) { return fixed(r, Tanh, 128, 0); });
  add("softmax", [](Rng& r) { return fixed(r, Softmax, 256, -128, ir::SoftmaxAttributes{1.0F}); });
  for (const OpKind kind : {Exp, Neg, Abs, Sqrt, Rsqrt, Elu, Log})
    add(ir::op_name(kind), [kind](Rng& r) { return signed_unary(r, kind); });
  for (const OpKind kind : {Add, Sub, Mul})
    add(ir::op_name(kind), [kind](Rng& r) { return binary(r, kind, true); }, {0, 1});
  for (const OpKind kind : {Maximum, Minimum, Prelu, SquaredDifference})
    add(ir::op_name(kind), [kind](Rng& r) { return binary(r, kind, false); }, {0, 1});
  for (const OpKind kind : {AveragePool2D, MaxPool2D})
    add(ir::op_name(kind), [kind](Rng& r) { return pool(r, kind); });
  for (const OpKind kind : {ResizeBilinear, ResizeNearestNeighbor})
    add(ir::op_name(kind), [kind](Rng& r) { return resize(r, kind); });
  for (const OpKind kind : {Mean, Sum, ReduceMax, ReduceMin})
    add(ir::op_name(kind), [kind](Rng& r) {
      return r.one_in(2)   ? reduce(r, kind, {1, 2})
             : r.one_in(2) ? reduce(r, kind, {1})
                           : reduce(r, kind, {3});
    });
  add("depthwise_conv_2d", depthwise);
  add("concatenation", concatenation, {0, 1, 2, 3});
  add("split", [](Rng& r) { return split(r, Split); }, {1});
  add("split_v", [](Rng& r) { return split(r, SplitV); });
  add("slice", slice);
  add("strided_slice", strided_slice);
  for (const OpKind kind : {Pad, PadV2, MirrorPad})
    add(ir::op_name(kind), [kind](Rng& r) { return pad(r, kind); });
  add("reshape", reshape);
  add("squeeze", squeeze);
  add("expand_dims", expand_dims);
  add("transpose", transpose);
  add("reverse_v2", reverse);
  for (const OpKind kind : {DepthToSpace, SpaceToDepth})
    add(ir::op_name(kind), [kind](Rng& r) { return block(r, kind); });
  for (const OpKind kind : {BatchToSpace, SpaceToBatch})
    add(ir::op_name(kind), [kind](Rng& r) { return batch_block(r, kind); });
  add("pack", pack, {0, 1, 2});
  add("unpack", unpack);
  add("gather", gather);
  add("broadcast_to", broadcast_to);
  add("quantize of floats", quantize_floats, {});
  add("dequantize", dequantize, {0}, true);
  for (const OpKind kind : {ArgMax, ArgMin})
    add(ir::op_name(kind), [kind](Rng& r) { return arg(r, kind); }, {0}, true);
  return cases;
}

}  // namespace

const std::vector<CubeCase>& cube_cases() {
  static const std::vector<CubeCase> cases = make_cases();
  return cases;
}

}  // namespace peraxis::kernels
