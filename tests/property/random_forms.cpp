// Convolutions of less common forms: see random_form in random_graphs.hpp.
#include "graph_builder.hpp"

namespace peraxis::property {
namespace {

bool fits(const Layer& l, int32_t h, int32_t w) {
  const ir::ConvAttributes& a = l.attributes;
  return (l.kernel_h - 1) * a.dilation_h < h && (l.kernel_w - 1) * a.dilation_w < w;
}

void draw_kernel(Builder& b, Layer& l) {
  l.kernel_h = b.pick({1, 2, 3, 3, 5});
  l.kernel_w = b.pick({1, 2, 3, 3, 4});
  l.attributes.stride_h = b.pick({1, 1, 2, 3});
  l.attributes.stride_w = b.pick({1, 1, 2});
  l.attributes.pads.rule = b.rng().one_in(2) ? ir::Pads::Rule::Even : ir::Pads::Rule::Stated;
}

// What the form needs beside kernel and stride; `depth` input channels, which it may round to whole groups.
void draw_form(Builder& b, Form form, Layer& l, int32_t& depth) {
  draw_kernel(b, l);
  l.kind = ir::OpKind::Conv2D;
  l.outputs = b.pick({1, 5, 16, 31, 33, 64, 70});
  ir::ConvAttributes& a = l.attributes;
  switch (form) {
    case Form::Dilated:
      a.dilation_h = b.pick({1, 2, 3, 5});
      a.dilation_w = a.dilation_h == 1 ? 2 : b.pick({1, 2, 4});
      l.kernel_h = b.pick({2, 3, 3});
      l.kernel_w = b.pick({2, 3, 3});
      if (b.rng().one_in(3)) {
        l.kind = ir::OpKind::DepthwiseConv2D;
        l.outputs = depth;
      }
      break;
    case Form::Grouped:
      l.groups = b.pick({2, 3, 4, 7});
      depth = l.groups * b.pick({1, 2, 5, 8, 11, 16, 17});
      l.outputs = l.groups * b.pick({1, 2, 3, 8, 16, 20, 32});
      break;
    case Form::Multiplied:
      l.kind = ir::OpKind::DepthwiseConv2D;
      depth = b.pick({2, 3, 16, 17, 33});
      l.outputs = depth * b.pick({2, 3, 8});
      break;
    case Form::Batch:
      if (b.rng().one_in(3)) {
        l.kind = ir::OpKind::DepthwiseConv2D;
        l.outputs = depth;
      }
      break;
    case Form::Transposed:
      l.kind = ir::OpKind::TransposeConv;
      a.stride_h = b.pick({1, 2, 2, 4});
      a.stride_w = b.pick({1, 2, 2, 4, 8});
      if (!b.rng().one_in(3)) {  // else kernels may be smaller than strides
        l.kernel_h = std::max(l.kernel_h, a.stride_h) + b.pick({0, 0, 1});
        l.kernel_w = std::max(l.kernel_w, a.stride_w);
      }
      l.trim_h = static_cast<int32_t>(b.rng().uniform(0, a.stride_h - 1));
      l.trim_w = static_cast<int32_t>(b.rng().uniform(0, a.stride_w - 1));
      break;
    case Form::Strided:  // beyond the field of 7, some with windows that lie apart
      l.kernel_h = b.pick({1, 2, 3, 8, 9});
      l.kernel_w = b.pick({1, 2, 3, 8, 9});
      a.stride_h = b.pick({1, 2, 8, 11});
      a.stride_w = a.stride_h > 7 ? b.pick({1, 3, 8, 12}) : b.pick({8, 12});
      if (b.rng().one_in(4)) {
        l.kind = ir::OpKind::DepthwiseConv2D;
        l.outputs = depth;
      }
      break;
    case Form::Wide:  // more columns than the fields hold
      l.outputs = b.pick({3, 8, 33});
      depth = b.pick({1, 3});
      a.dilation_w = b.pick({1, 2});
      break;
    case Form::Padded:  // beyond the field of 15, 11 in transposed convolutions
      if (b.rng().one_in(4)) {
        l.kind = ir::OpKind::TransposeConv;
        depth = b.pick({1, 3, 16});  // so large a kernel over more does not fit CBUF
        l.kernel_h = b.pick({3, 14, 16});
        l.kernel_w = b.pick({13, 16, 17});
        a.stride_h = b.pick({1, 2});
        a.stride_w = b.pick({2, 4, 8});
        a.pads = {};
        break;
      }
      l.kernel_h = b.pick({2, 3});
      l.kernel_w = b.pick({2, 3});
      a.dilation_h = b.pick({1, 16, 20});
      a.dilation_w = a.dilation_h < 15 ? 18 : b.pick({2, 16, 30});
      a.pads.rule = ir::Pads::Rule::Even;
      if (b.rng().one_in(3)) {
        l.kind = ir::OpKind::DepthwiseConv2D;
        l.outputs = depth;
      }
      break;
  }
}

}  // namespace

Case random_form(uint64_t seed, Form form) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Layer l;
  int32_t depth = b.pick({1, 3, 16, 17, 33, 40});
  draw_form(b, form, l, depth);
  random_quantization(b, l);
  Case out;
  set_tiles(b, out);
  auto h = static_cast<int32_t>(b.rng().uniform(1, 11)), w = static_cast<int32_t>(b.rng().uniform(1, 12));
  const bool depthwise = l.kind == ir::OpKind::DepthwiseConv2D;
  int64_t macs_a_pixel = int64_t{l.kernel_h} * l.kernel_w * l.outputs * (depthwise ? 1 : depth / l.groups);
  const bool transposed = l.kind == ir::OpKind::TransposeConv;
  if (form == Form::Strided) {
    h *= 3;
    w *= 4;
    macs_a_pixel /= int64_t{l.attributes.stride_h} * l.attributes.stride_w;
  }
  if (form == Form::Padded && !transposed) w *= 2;
  if (form == Form::Wide) {
    h = b.pick({1, 2});
    w = static_cast<int32_t>(b.rng().uniform(2040, 2200));
    macs_a_pixel = 1;
  }
  if (transposed) macs_a_pixel *= int64_t{l.attributes.stride_h} * l.attributes.stride_w;
  while (int64_t{h} * w * macs_a_pixel > kMaxMacs && h * w > 1) (h > w ? h : w) -= 1;
  if (h == w && h > 1) --w;
  if (!transposed && !fits(l, h, w)) l.attributes.pads.rule = ir::Pads::Rule::Even;
  random_pads(b, l, h, w);
  const int32_t images = form == Form::Batch ? b.pick({2, 3, 5}) : b.pick({1, 1, 1, 2});
  const int32_t in = b.input({images, h, w, depth});
  b.graph().outputs = {b.layer(in, l)};
  return finish(b, seed, std::move(out));
}

Case deep_dilation(uint64_t seed) {
  Builder b(seed, false);
  Layer l;
  l.kernel_h = l.kernel_w = 3;
  l.outputs = 8;
  l.attributes.dilation_h = 12;
  l.attributes.dilation_w = 9;
  l.attributes.pads.rule = ir::Pads::Rule::Even;
  const int32_t in = b.input({1, 25, 34, 512});
  b.graph().outputs = {b.layer(in, l)};
  return finish(b, seed, {});
}

Case form_network(uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Case out;
  set_tiles(b, out);
  const auto h = static_cast<int32_t>(b.rng().uniform(3, 7));
  int32_t x = b.input({b.pick({1, 1, 2, 3}), h, h + static_cast<int32_t>(b.rng().uniform(1, 3)), 16});
  const int64_t steps = b.rng().uniform(3, 5);
  for (int64_t i = 0; i < steps; ++i) {
    const std::vector<int32_t> in = b.shape(x);
    Layer l;
    int32_t depth = in[3];
    const Form form = b.pick({Form::Dilated, Form::Grouped, Form::Batch, Form::Transposed, Form::Padded});
    draw_form(b, form, l, depth);
    if (form == Form::Padded && l.kind == ir::OpKind::TransposeConv) {  // too large for what follows
      l = {};
      depth = in[3];
      draw_form(b, Form::Dilated, l, depth);
    }
    if (depth != in[3]) {  // groups of the channels there are
      l.groups = in[3] % 2 == 0 ? 2 : 1;
      l.outputs = l.groups * b.pick({3, 16});
    } else if (l.kind != ir::OpKind::DepthwiseConv2D) {
      l.outputs = std::min(l.outputs, 33) / l.groups * l.groups;
    }
    l.attributes.stride_h = std::min(l.attributes.stride_h, 2);
    l.attributes.stride_w = std::min(l.attributes.stride_w, 2);
    l.trim_h = l.trim_w = 0;
    random_quantization(b, l);
    l.bias = true;
    l.gain = std::min(l.gain, 1.0);
    if (l.kind != ir::OpKind::TransposeConv && !fits(l, in[1], in[2]))
      l.attributes.pads.rule = ir::Pads::Rule::Even;
    if (l.kind == ir::OpKind::TransposeConv && in[1] * in[2] > 40) {  // large enough
      l.kind = ir::OpKind::Conv2D;
      l.kernel_h = l.kernel_w = 1;
    }
    x = b.layer(x, l);
  }
  b.graph().outputs = {x};
  return finish(b, seed, std::move(out));
}

}  // namespace peraxis::property
