// Builds the random graphs of the property tests: tensors, layers with drawn weights and scales, and the
// small pieces that the generators share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/pads.hpp"
#include "random_graphs.hpp"

namespace peraxis::property {

inline constexpr int64_t kMaxMacs = 400'000;  // of one layer: the plain reference loops set the pace

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

struct Layer {
  ir::OpKind kind = ir::OpKind::Conv2D;
  int32_t kernel_h = 1, kernel_w = 1;
  int32_t outputs = 1;
  int32_t groups = 1;                      // conv_2d
  ir::ConvAttributes attributes = even();  // a rule of padding, or amounts
  int32_t trim_h = 0,
          trim_w = 0;      // transpose_conv with even padding: rows and columns fewer than input * stride
  double gain = 1;         // of the outputs: 1 spreads them over most of the int8 range
  double log2_spread = 4;  // ratio of the largest to the smallest channel scale
  bool per_axis = true;
  bool zero_points = true;  // uint8 and fully_connected: a weight zero point other than the middle
  bool extreme_weights = false;
  bool dead_channels = true;  // some channels may be all zero
  bool bias = true;
  bool keep_num_dims = false;

  static ir::ConvAttributes even() {
    ir::ConvAttributes a;
    a.pads.rule = ir::Pads::Rule::Even;
    return a;
  }
};

class Builder {
 public:
  Builder(uint64_t seed, bool is_uint8)
      : rng_(seed), type_(is_uint8 ? ir::DataType::UInt8 : ir::DataType::Int8) {
    graph_.name = "random";
  }

  base::Rng& rng() { return rng_; }
  ir::Graph& graph() { return graph_; }
  bool is_uint8() const { return type_ == ir::DataType::UInt8; }
  const std::vector<int32_t>& shape(int32_t tensor) const { return graph_.tensor(tensor).shape; }

  template <class T = int32_t>
  T pick(std::initializer_list<T> values) {
    return values.begin()[rng_.uniform(0, static_cast<int64_t>(values.size()) - 1)];
  }
  // Zero points in the middle of the range: few values clip.
  void set_mild() { mild_ = true; }
  int64_t zero_point() {
    if (mild_) return rng_.uniform(-20, 20) + (is_uint8() ? 128 : 0);
    const int64_t stored = rng_.one_in(4) ? pick({0, 255}) : rng_.uniform(0, 255);
    return is_uint8() ? stored : stored - 128;
  }
  ir::Activation activation() {
    return pick({ir::Activation::None, ir::Activation::None, ir::Activation::Relu, ir::Activation::Relu6,
                 ir::Activation::ReluN1To1});
  }

  int32_t add_tensor(std::vector<int32_t> shape, float scale, int64_t zero_point) {
    ir::Tensor t;
    t.name = fmt::format("t{}", graph_.tensors.size());
    t.type = type_;
    t.shape = std::move(shape);
    t.quant = {{scale}, {zero_point}, 0};
    graph_.tensors.push_back(std::move(t));
    return static_cast<int32_t>(graph_.tensors.size() - 1);
  }
  int32_t constant(std::vector<int32_t> shape, const std::vector<int32_t>& values) {
    ir::Tensor t;
    t.name = fmt::format("c{}", graph_.tensors.size());
    t.type = ir::DataType::Int32;
    t.shape = std::move(shape);
    t.is_constant = true;
    t.data = bytes_of(values);
    graph_.tensors.push_back(std::move(t));
    return static_cast<int32_t>(graph_.tensors.size() - 1);
  }
  int32_t input(std::vector<int32_t> shape) {
    const int32_t t =
        add_tensor(std::move(shape), static_cast<float>(rng_.uniform_real(0.002, 0.3)), zero_point());
    graph_.inputs.push_back(t);
    return t;
  }
  Bytes random_bytes(int64_t count, bool extreme) {
    Bytes out(static_cast<size_t>(count));
    for (uint8_t& b : out)
      b = static_cast<uint8_t>(extreme ? pick({0, 127, 128, 255}) : rng_.uniform(0, 255));
    return out;
  }

  int32_t op(ir::OpKind kind, std::vector<int32_t> inputs, int32_t output, ir::Attributes attributes) {
    graph_.ops.push_back({kind, std::move(inputs), {output}, std::move(attributes)});
    return output;
  }

  int32_t layer(int32_t input, const Layer& l) {
    const bool depthwise = l.kind == ir::OpKind::DepthwiseConv2D, fc = l.kind == ir::OpKind::FullyConnected;
    const std::vector<int32_t> in = shape(input);
    const int32_t depth = in.back();
    std::vector<int32_t> weight_shape{l.outputs, l.kernel_h, l.kernel_w, depth / l.groups};
    if (depthwise) weight_shape = {1, l.kernel_h, l.kernel_w, l.outputs};
    if (fc) weight_shape = {l.outputs, depth};
    const bool transposed = l.kind == ir::OpKind::TransposeConv;
    const int64_t taps = int64_t{l.kernel_h} * l.kernel_w * (depthwise ? 1 : depth / l.groups);
    const auto s_out = static_cast<float>(rng_.uniform_real(0.004, 0.2));
    const double s_in = graph_.tensor(input).quant.scale[0];
    // A sum of `taps` products of uniform bytes has a deviation of about 74 * 74 * sqrt(taps).
    const double largest = l.gain * 45.0 / (5476.0 * std::sqrt(static_cast<double>(taps)));
    const int32_t weights =
        add_weights(l, std::move(weight_shape), depthwise ? 3 : 0, largest * double{s_out} / s_in);
    std::vector<int32_t> inputs{input, weights};
    if (transposed) inputs = {constant({4}, output_shape(in, l)), weights, input};
    if (l.bias) inputs.push_back(add_bias(l.outputs, s_in, weights, 20.0 / largest));
    const ir::ConvAttributes a = with_amounts(in, l);
    if (transposed)
      return op(l.kind, inputs, add_tensor(output_shape(in, l), s_out, zero_point()),
                ir::TransposeConvAttributes{a.pads, a.stride_h, a.stride_w, a.activation, false});
    return op(l.kind, inputs, add_tensor(output_shape(in, l), s_out, zero_point()),
              fc ? ir::Attributes(ir::FullyConnectedAttributes{l.attributes.activation, l.keep_num_dims})
                 : ir::Attributes(a));
  }

 private:
  static ir::ConvAttributes with_amounts(const std::vector<int32_t>& in, const Layer& l) {
    ir::ConvAttributes a = l.attributes;
    if (in.size() != 4 || l.kind == ir::OpKind::FullyConnected) return a;
    const ir::Nhwc map{in[0], in[1], in[2], in[3]};
    if (l.kind == ir::OpKind::TransposeConv) {
      const std::vector<int32_t> out = output_shape(in, l);
      const ir::TransposeConvAttributes transposed{a.pads, a.stride_h, a.stride_w, a.activation, false};
      if (a.pads.rule == ir::Pads::Rule::Even)
        a.pads =
            ir::transposed_pads(map, {out[0], out[1], out[2], out[3]}, l.kernel_h, l.kernel_w, transposed);
    } else if (a.pads.rule == ir::Pads::Rule::Even) {
      a.pads = ir::even_pads(map, l.kernel_h, l.kernel_w, a);
    }
    return a;
  }
  static std::vector<int32_t> output_shape(const std::vector<int32_t>& in, const Layer& l) {
    std::vector<int32_t> out = in;
    out.back() = l.outputs;
    if (l.kind == ir::OpKind::FullyConnected) {
      if (l.keep_num_dims) return out;
      int32_t rows = 1;
      for (size_t i = 0; i + 1 < in.size(); ++i) rows *= in[i];
      return {rows, l.outputs};
    }
    const ir::ConvAttributes& a = l.attributes;
    if (l.kind == ir::OpKind::TransposeConv) {
      const bool even = a.pads.rule == ir::Pads::Rule::Even;
      out[1] = even ? in[1] * a.stride_h - l.trim_h
                    : (in[1] - 1) * a.stride_h + l.kernel_h - a.pads.top - a.pads.bottom;
      out[2] = even ? in[2] * a.stride_w - l.trim_w
                    : (in[2] - 1) * a.stride_w + l.kernel_w - a.pads.left - a.pads.right;
      return out;
    }
    const ir::SpatialAxes axes =
        ir::conv_axes({in[0], in[1], in[2], in[3]}, l.kernel_h, l.kernel_w, with_amounts(in, l));
    out[1] = static_cast<int32_t>(axes.rows.out);
    out[2] = static_cast<int32_t>(axes.columns.out);
    return out;
  }

  int32_t add_weights(const Layer& l, std::vector<int32_t> shape, int32_t dimension, double scale) {
    const int32_t index = add_tensor(std::move(shape), static_cast<float>(scale), is_uint8() ? 128 : 0);
    ir::Tensor& t = graph_.tensors[static_cast<size_t>(index)];
    t.is_constant = true;
    t.data = random_bytes(t.elements(), l.extreme_weights);
    const bool fc = l.kind == ir::OpKind::FullyConnected;
    if (is_uint8() && l.zero_points) t.quant.zero_point = {mild_ ? zero_point() : rng_.uniform(0, 255)};
    if (is_uint8() || !l.per_axis) {
      if (!is_uint8() && fc && l.zero_points)
        t.quant.zero_point = {mild_ ? zero_point() : rng_.uniform(-128, 127)};
      return index;
    }
    const bool dead_channels = l.dead_channels && rng_.one_in(3);
    const int64_t inner = dimension == 0 ? t.elements() / l.outputs : 1;
    t.quant.scale.clear();
    for (int32_t c = 0; c < l.outputs; ++c) {
      double channel_scale = scale * std::exp2(-rng_.uniform_real(0, l.log2_spread));
      if (dead_channels && rng_.one_in(5)) {
        if (rng_.one_in(2)) channel_scale = pick({1e-12, 1e-9, 1.0});
        for (int64_t i = 0; i < t.elements(); ++i)
          if (i / inner % l.outputs == c) t.data[static_cast<size_t>(i)] = 0;
      }
      t.quant.scale.push_back(static_cast<float>(channel_scale));
    }
    t.quant.zero_point.assign(static_cast<size_t>(l.outputs), 0);
    t.quant.quantized_dimension = dimension;
    return index;
  }

  int32_t add_bias(int32_t channels, double s_in, int32_t weights, double reach) {
    std::vector<int32_t> values;
    const auto limit = static_cast<int64_t>(std::min(reach, 1e6));
    for (int32_t c = 0; c < channels; ++c)
      values.push_back(static_cast<int32_t>(rng_.uniform(-limit, limit)));
    ir::Tensor t;
    t.name = "bias" + std::to_string(graph_.tensors.size());
    t.type = ir::DataType::Int32;
    t.shape = {channels};
    for (const float scale : graph_.tensor(weights).quant.scale)
      t.quant.scale.push_back(static_cast<float>(s_in * double{scale}));
    t.quant.zero_point.assign(t.quant.scale.size(), 0);
    t.is_constant = true;
    t.data = bytes_of(values);
    graph_.tensors.push_back(std::move(t));
    return static_cast<int32_t>(graph_.tensors.size() - 1);
  }

  base::Rng rng_;
  ir::DataType type_;
  bool mild_ = false;
  ir::Graph graph_;
};

inline int32_t channel_count(Builder& b) {
  return b.rng().one_in(5) ? static_cast<int32_t>(b.rng().uniform(1, 140))
                           : b.pick({1, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130});
}

inline void random_quantization(Builder& b, Layer& l) {
  l.attributes.activation = b.activation();
  l.per_axis = !b.rng().one_in(4);
  l.zero_points = !b.rng().one_in(4);
  l.extreme_weights = b.rng().one_in(6);
  l.bias = l.kind == ir::OpKind::Conv2D || !b.rng().one_in(4);
  l.log2_spread = b.pick({0.0, 2.0, 4.0, 7.0, 14.0});
  l.gain = b.pick({1.0, 1.0, 1.0, 0.2, 4.0});
  // Multipliers of 1 and more: almost everything clips, the steps between are the sums themselves.
  if (b.rng().one_in(8)) l.gain = b.rng().uniform_real(40, 900);
}

// Amounts of their own at every side in a third of the layers; every window keeps a pixel.
inline ir::Pads random_pads(base::Rng& rng, int32_t rows, int32_t columns) {
  const auto side = [&](int32_t span) { return static_cast<int32_t>(rng.uniform(0, span - 1)); };
  const int32_t top = side(rows), bottom = side(rows), left = side(columns);
  return {top, bottom, left, side(columns)};
}
inline void random_pads(Builder& b, Layer& l, int32_t h, int32_t w) {
  base::Rng own = b.rng();  // a copy: what else is drawn stays as it is without pads
  if (!own.one_in(3)) return;
  ir::ConvAttributes& a = l.attributes;
  const bool transposed = l.kind == ir::OpKind::TransposeConv;
  const int32_t span_h = (l.kernel_h - 1) * a.dilation_h + 1, span_w = (l.kernel_w - 1) * a.dilation_w + 1;
  const ir::Pads pads = random_pads(own, span_h, span_w);
  const int32_t rows =
      transposed ? (h - 1) * a.stride_h + l.kernel_h - pads.top - pads.bottom : h - span_h + 1;
  const int32_t columns =
      transposed ? (w - 1) * a.stride_w + l.kernel_w - pads.left - pads.right : w - span_w + 1;
  if (rows > 0 && columns > 0) a.pads = pads;
}

inline void random_geometry(Builder& b, Layer& l, int32_t h, int32_t w) {
  l.kernel_h = b.pick({1, 1, 2, 3, 3, 4, 5, 7});
  l.kernel_w = b.pick({1, 2, 3, 3, 5, 6});
  if (l.kernel_h == l.kernel_w && b.rng().one_in(2)) l.kernel_w += 1;
  l.attributes.stride_h = b.pick({1, 1, 2, 3, 7});
  l.attributes.stride_w = b.pick({1, 2, 3, 4});
  l.attributes.pads.rule = b.rng().one_in(2) ? ir::Pads::Rule::Even : ir::Pads::Rule::Stated;
  if (l.kernel_h > h || l.kernel_w > w) l.attributes.pads.rule = ir::Pads::Rule::Even;
  random_pads(b, l, h, w);
}

inline void set_tiles(Builder& b, Case& out) {
  if (b.rng().one_in(2)) out.max_tile_rows = static_cast<int32_t>(b.rng().uniform(1, 4));
  if (b.rng().one_in(2)) out.max_task_channels = b.pick({32, 64, 96});
}

inline Case finish(Builder& b, uint64_t seed, Case out) {
  out.seed = seed;
  out.graph = std::move(b.graph());
  for (const int32_t t : out.graph.inputs)
    out.inputs.push_back(b.random_bytes(out.graph.tensor(t).elements(), b.rng().one_in(5)));
  const Status ok = ir::verify(out.graph);
  EXPECT_TRUE(ok) << ok.error().text() << "\n" << out.text();
  return out;
}

}  // namespace peraxis::property
