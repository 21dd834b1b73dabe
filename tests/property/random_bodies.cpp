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
  l.attributes.padding = ir::Padding::Same;
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
  for (const size_t d : {size_t{1}, size_t{2}})
    shape[d] = static_cast<int32_t>(ir::spatial_axis(shape[d], size, stride, 1, a.padding).out);
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
    const int32_t width = b.pick({16, 32, 32, 33, 64});
    switch (b.rng().uniform(0, 8)) {
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
      default: {  // a join inside a join
        const int32_t a = body_convolution(b, x, 16, -1), c = body_convolution(b, x, b.pick({16, 20, 32}), a);
        const int32_t inner = body_join(b, {a, c});
        const int32_t last = body_convolution(b, x, width, a);
        x = b.shape(inner)[3] % 16 == 0 && b.rng().one_in(2) ? body_join(b, {inner, last})
                                                             : body_join(b, {a, inner, last});
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
