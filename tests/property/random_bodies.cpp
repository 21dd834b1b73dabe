// Detector bodies in small: see random_body in random_graphs.hpp.
#include "graph_builder.hpp"

namespace peraxis::property {

namespace {

// A convolution whose output has the quantization of `like`.
int32_t body_convolution(Builder& b, int32_t from, int32_t outputs, int32_t like, bool depthwise = false) {
  const std::vector<int32_t> in = b.shape(from);
  Layer l;
  l.kind = depthwise ? ir::OpKind::DepthwiseConv2D : ir::OpKind::Conv2D;
  l.outputs = depthwise ? in[3] : outputs;
  random_quantization(b, l);
  l.bias = true;
  l.gain = std::min(l.gain, 1.0);
  l.kernel_h = l.kernel_w = b.pick({1, 1, 3});
  l.attributes.pads.rule = ir::Pads::Rule::Even;
  const int32_t made = b.layer(from, l);
  if (like >= 0) b.graph().tensors[static_cast<size_t>(made)].quant = b.graph().tensor(like).quant;
  return made;
}

int32_t body_join(Builder& b, const std::vector<int32_t>& parts) {
  std::vector<int32_t> shape = b.shape(parts[0]);
  shape[3] = 0;
  for (const int32_t part : parts) shape[3] += b.shape(part)[3];
  const ir::QuantParams quant = b.graph().tensor(parts[0]).quant;
  const int32_t out = b.add_tensor(shape, quant.scale[0], quant.zero_point[0]);
  return b.op(ir::OpKind::Concatenation, parts, out, ir::ConcatenationAttributes{3, ir::Activation::None});
}

int32_t same_map(Builder& b, int32_t from, std::vector<int32_t> shape) {
  const ir::QuantParams quant = b.graph().tensor(from).quant;
  return b.add_tensor(std::move(shape), quant.scale[0], quant.zero_point[0]);
}

int32_t body_pool(Builder& b, int32_t from, int32_t size, int32_t stride) {
  std::vector<int32_t> shape = b.shape(from);
  ir::PoolAttributes a;
  a.filter_h = a.filter_w = size;
  a.stride_h = a.stride_w = stride;
  const ir::Nhwc map{shape[0], shape[1], shape[2], shape[3]};
  a.pads = ir::even_pads(map, a);
  shape[1] = static_cast<int32_t>(ir::pool_axes(map, a).rows.out);
  shape[2] = static_cast<int32_t>(ir::pool_axes(map, a).columns.out);
  return b.op(ir::OpKind::MaxPool2D, {from}, same_map(b, from, shape), a);
}

int32_t body_resize(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from);
  const int32_t operand = b.constant({2}, {2 * shape[1], 2 * shape[2]});
  shape[1] *= 2;
  shape[2] *= 2;
  const int32_t out = same_map(b, from, shape);
  return b.op(ir::OpKind::ResizeNearestNeighbor, {from, operand}, out,
              ir::ResizeAttributes{false, b.rng().one_in(2)});
}

std::vector<int32_t> body_split(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from);
  const int32_t axis = b.constant({1}, {3});
  shape[3] /= 2;
  const int32_t first = same_map(b, from, shape), second = same_map(b, from, shape);
  b.op(ir::OpKind::Split, {axis, from}, first, ir::SplitAttributes{2});
  b.graph().ops.back().outputs.push_back(second);
  return {first, second};
}

// Two parts of a map at any channel: by SPLIT_V, or by a slice each.
std::vector<int32_t> body_parts(Builder& b, int32_t from) {
  const std::vector<int32_t> shape = b.shape(from);
  const auto cut = static_cast<int32_t>(b.rng().uniform(1, shape[3] - 1));
  std::vector<int32_t> low = shape, high = shape;
  low[3] = cut;
  high[3] = shape[3] - cut;
  const int32_t first = same_map(b, from, low), second = same_map(b, from, high);
  switch (b.rng().uniform(0, 2)) {
    case 0: {
      const int32_t sizes = b.constant({2}, {cut, b.rng().one_in(2) ? -1 : high[3]});
      b.op(ir::OpKind::SplitV, {from, sizes, b.constant({1}, {b.pick({3, -1})})}, first,
           ir::SplitAttributes{2});
      b.graph().ops.back().outputs.push_back(second);
      break;
    }
    case 1:
      b.op(ir::OpKind::Slice, {from, b.constant({4}, {0, 0, 0, 0}), b.constant({4}, low)}, first,
           ir::NoAttributes{});
      b.op(ir::OpKind::Slice, {from, b.constant({4}, {0, 0, 0, cut}), b.constant({4}, {1, -1, -1, high[3]})},
           second, ir::NoAttributes{});
      break;
    default: {
      ir::StridedSliceAttributes to_cut, from_cut;
      to_cut.begin_mask = 15;
      to_cut.end_mask = from_cut.begin_mask = 7;
      from_cut.end_mask = 15;
      const int32_t at = b.constant({4}, {0, 0, 0, cut}), ones = b.constant({4}, {1, 1, 1, 1});
      b.op(ir::OpKind::StridedSlice, {from, at, at, ones}, first, to_cut);
      b.op(ir::OpKind::StridedSlice, {from, at, at, ones}, second, from_cut);
      break;
    }
  }
  return {first, second};
}

// Some rows of a map.
int32_t body_rows(Builder& b, int32_t from) {
  std::vector<int32_t> shape = b.shape(from);
  const auto first = static_cast<int32_t>(b.rng().uniform(0, shape[1] - 2));
  const int32_t begin = b.constant({4}, {0, first, 0, 0});
  shape[1] = static_cast<int32_t>(b.rng().uniform(1, shape[1] - first));
  return b.op(ir::OpKind::Slice, {from, begin, b.constant({4}, shape)}, same_map(b, from, shape),
              ir::NoAttributes{});
}

int32_t body_arithmetic(Builder& b, int32_t from) {
  const std::vector<int32_t> shape = b.shape(from);
  const int32_t out =
      b.add_tensor(shape, static_cast<float>(b.rng().uniform_real(0.01, 0.3)), b.zero_point());
  if (b.rng().one_in(3)) return b.op(ir::OpKind::Quantize, {from}, out, ir::NoAttributes{});
  if (b.rng().one_in(3))
    return b.op(ir::OpKind::LeakyRelu, {from}, out, ir::LeakyReluAttributes{b.pick({0.1F, 0.01F, 0.3F})});
  if (b.rng().one_in(3)) return b.op(ir::OpKind::Relu, {from}, out, ir::NoAttributes{});
  const int32_t other = body_convolution(b, from, shape[3], -1);
  const ir::Activation activation =
      b.pick({ir::Activation::None, ir::Activation::None, ir::Activation::Relu});
  return b.op(b.rng().one_in(3) ? ir::OpKind::Sub : ir::OpKind::Add, {from, other}, out,
              ir::BinaryAttributes{activation});
}

// Functions of one value: through the chip's look-up table.
int32_t body_activation(Builder& b, int32_t from) {
  const std::vector<int32_t> shape = b.shape(from);
  const auto made = [&](ir::OpKind kind, float scale, int64_t zero_point) {
    return b.op(kind, {from}, b.add_tensor(shape, scale, zero_point), ir::NoAttributes{});
  };
  const auto scale = [&] { return static_cast<float>(b.rng().uniform_real(0.01, 0.3)); };
  const int64_t lowest = b.is_uint8() ? 0 : -128;
  switch (b.rng().uniform(0, 6)) {
    case 0:
      return made(ir::OpKind::Tanh, 1.0F / 128, lowest + 128);
    case 1:
      return made(ir::OpKind::HardSwish, scale(), b.zero_point());
    case 2:
      return made(b.rng().one_in(2) ? ir::OpKind::Relu6 : ir::OpKind::ReluN1To1, scale(), b.zero_point());
    default: {  // SiLU; sometimes the gate is read again
      const int32_t gate = made(ir::OpKind::Logistic, 1.0F / 256, lowest);
      const int32_t out = b.add_tensor(shape, scale(), b.zero_point());
      b.op(ir::OpKind::Mul, b.rng().one_in(2) ? std::vector{from, gate} : std::vector{gate, from}, out,
           ir::BinaryAttributes{ir::Activation::None});
      return b.rng().one_in(4) ? body_join(b, {out, body_convolution(b, gate, 16, out)}) : out;
    }
  }
}

}  // namespace

Case random_body(uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Case out;
  set_tiles(b, out);
  const auto h = static_cast<int32_t>(b.rng().uniform(2, 6));
  const int32_t in = b.input({1, h, h + static_cast<int32_t>(b.rng().uniform(1, 4)), b.pick({3, 16})});
  int32_t x = body_convolution(b, in, b.pick({16, 32, 40, 64}), -1);
  std::vector<int32_t> made{x};
  const int64_t steps = b.rng().uniform(2, 5);
  for (int64_t i = 0; i < steps; ++i) {
    const std::vector<int32_t> shape = b.shape(x);
    const int32_t width = b.pick({12, 16, 24, 32, 32, 33, 40, 64});
    switch (b.rng().uniform(0, 10)) {
      case 0: {  // two branches, of which one goes on
        const int32_t left = body_convolution(b, x, width, -1);
        const int32_t deep = body_convolution(b, left, width, left);
        const int32_t right = b.rng().one_in(2) ? deep : body_convolution(b, x, b.pick({16, 24, 32}), left);
        x = body_join(b, right == deep ? std::vector{left, deep} : std::vector{left, deep, right});
        break;
      }
      case 1: {  // a pyramid of pools
        const int32_t first = body_convolution(b, x, width, -1, b.rng().one_in(3));
        const int32_t size = b.pick({2, 3, 5});
        const int32_t second = body_pool(b, first, size, 1), third = body_pool(b, second, size, 1);
        x = body_join(b, {first, second, third});
        break;
      }
      case 2:
        if (shape[1] * shape[2] > 60) break;
        x = body_resize(b, x);
        if (b.rng().one_in(2)) x = body_join(b, {x, body_convolution(b, x, width, x)});
        break;
      case 3:
        x = body_arithmetic(b, x);
        break;
      case 4:
        x = body_pool(b, x, b.pick({2, 3}), b.pick({1, 2}));
        break;
      case 5: {  // halves, one of which goes on (C2f)
        const int32_t whole = body_convolution(b, x, b.pick({32, 64}), -1);
        const std::vector<int32_t> halves = body_split(b, whole);
        const int32_t deep = body_convolution(b, halves[1], b.shape(halves[1])[3], whole);
        x = body_join(
            b, b.rng().one_in(3) ? std::vector{halves[0], deep} : std::vector{halves[0], halves[1], deep});
        break;
      }
      case 6:
      case 7:
        x = body_activation(b, body_convolution(b, x, width, -1));
        break;
      case 8: {  // parts at any channel: joined again, pooled, or one of them alone
        const int32_t whole = body_convolution(b, x, b.pick({20, 32, 50}), -1);
        const std::vector<int32_t> parts = body_parts(b, whole);
        const int32_t pooled = body_pool(b, parts[1], 3, 1);
        const std::vector<std::vector<int32_t>> ways = {{parts[0], parts[1]},
                                                        {parts[1], parts[0]},
                                                        {parts[0], parts[1], pooled},
                                                        {pooled, whole},
                                                        {parts[0], parts[1], parts[0], parts[1]},
                                                        {whole, parts[0], parts[1]}};
        x = b.rng().one_in(4) ? pooled : body_join(b, ways[static_cast<size_t>(b.rng().uniform(0, 5))]);
        break;
      }
      case 9:
        if (shape[1] < 2) break;
        x = body_rows(b, x);
        break;
      default: {  // a join inside a join
        const int32_t a = body_convolution(b, x, b.pick({10, 16, 16}), -1),
                      c = body_convolution(b, x, b.pick({16, 20, 32}), a);
        const int32_t inner = body_join(b, {a, c});
        const int32_t last = body_convolution(b, x, width, a);
        x = body_join(b, b.rng().one_in(2) ? std::vector{inner, last} : std::vector{a, inner, last});
        break;
      }
    }
    made.push_back(x);
    if (b.shape(x)[3] > 160) x = body_convolution(b, x, 32, -1);
  }
  x = body_convolution(b, x, b.pick({10, 32}), -1);
  b.graph().outputs = {x};
  const int32_t early = made[static_cast<size_t>(b.rng().uniform(0, static_cast<int64_t>(made.size()) - 1))];
  if (b.rng().one_in(2) && early != x) b.graph().outputs.push_back(early);
  return finish(b, seed, std::move(out));
}

}  // namespace peraxis::property
