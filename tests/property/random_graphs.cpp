#include "random_graphs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/session.hpp"

namespace peraxis::property {
namespace {

constexpr int64_t kMaxMacs = 400'000;  // of one layer: the plain reference loops set the pace

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
  ir::ConvAttributes attributes;
  double gain = 1;         // of the outputs: 1 spreads them over most of the int8 range
  double log2_spread = 4;  // ratio of the largest to the smallest channel scale
  bool per_axis = true;
  bool zero_points = true;  // uint8 and fully_connected: a weight zero point other than the middle
  bool extreme_weights = false;
  bool dead_channels = true;  // some channels may be all zero
  bool bias = true;
  bool keep_num_dims = false;
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
    t.name = "t" + std::to_string(graph_.tensors.size());
    t.type = type_;
    t.shape = std::move(shape);
    t.quant = {{scale}, {zero_point}, 0};
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
    std::vector<int32_t> weight_shape{l.outputs, l.kernel_h, l.kernel_w, depth};
    if (depthwise) weight_shape = {1, l.kernel_h, l.kernel_w, l.outputs};
    if (fc) weight_shape = {l.outputs, depth};
    const int64_t taps = int64_t{l.kernel_h} * l.kernel_w * (depthwise ? 1 : depth);
    const auto s_out = static_cast<float>(rng_.uniform_real(0.004, 0.2));
    const double s_in = graph_.tensor(input).quant.scale[0];
    // A sum of `taps` products of uniform bytes has a deviation of about 74 * 74 * sqrt(taps).
    const double largest = l.gain * 45.0 / (5476.0 * std::sqrt(static_cast<double>(taps)));
    const int32_t weights =
        add_weights(l, std::move(weight_shape), depthwise ? 3 : 0, largest * double{s_out} / s_in);
    std::vector<int32_t> inputs{input, weights};
    if (l.bias) inputs.push_back(add_bias(l.outputs, s_in, weights, 20.0 / largest));
    return op(l.kind, inputs, add_tensor(output_shape(in, l), s_out, zero_point()),
              fc ? ir::Attributes(ir::FullyConnectedAttributes{l.attributes.activation, l.keep_num_dims})
                 : ir::Attributes(l.attributes));
  }

 private:
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
    out[1] = static_cast<int32_t>(ir::spatial_axis(in[1], l.kernel_h, a.stride_h, 1, a.padding).out);
    out[2] = static_cast<int32_t>(ir::spatial_axis(in[2], l.kernel_w, a.stride_w, 1, a.padding).out);
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

int32_t channel_count(Builder& b) {
  return b.rng().one_in(5) ? static_cast<int32_t>(b.rng().uniform(1, 140))
                           : b.pick({1, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130});
}

void random_quantization(Builder& b, Layer& l) {
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

void random_geometry(Builder& b, Layer& l, int32_t h, int32_t w) {
  l.kernel_h = b.pick({1, 1, 2, 3, 3, 4, 5, 7});
  l.kernel_w = b.pick({1, 2, 3, 3, 5, 6});
  if (l.kernel_h == l.kernel_w && b.rng().one_in(2)) l.kernel_w += 1;
  l.attributes.stride_h = b.pick({1, 1, 2, 3, 7});
  l.attributes.stride_w = b.pick({1, 2, 3, 4});
  l.attributes.padding = b.rng().one_in(2) ? ir::Padding::Same : ir::Padding::Valid;
  if (l.kernel_h > h || l.kernel_w > w) l.attributes.padding = ir::Padding::Same;
}

void set_tiles(Builder& b, Case& out) {
  if (b.rng().one_in(2)) out.max_tile_rows = static_cast<int32_t>(b.rng().uniform(1, 4));
  if (b.rng().one_in(2)) out.max_task_channels = b.pick({32, 64, 96});
}

Case finish(Builder& b, uint64_t seed, Case out) {
  out.seed = seed;
  out.graph = std::move(b.graph());
  for (const int32_t t : out.graph.inputs)
    out.inputs.push_back(b.random_bytes(out.graph.tensor(t).elements(), b.rng().one_in(5)));
  const Status ok = ir::verify(out.graph);
  EXPECT_TRUE(ok) << ok.error().text() << "\n" << out.text();
  return out;
}

}  // namespace

std::string Case::text() const {
  return fmt::format("seed {:#x}, tiles of {} rows, {} channels\n{}", seed, max_tile_rows, max_task_channels,
                     ir::print(graph));
}

compiler::Options Case::options(const std::string& strategy, num::Reference reference) const {
  compiler::Options out;
  out.strategy = strategy;
  out.reference = reference;
  out.no_fallback = true;
  out.max_tile_rows = max_tile_rows;
  out.max_task_channels = max_task_channels;
  return out;
}

uint64_t first_seed(uint64_t own) {
  constexpr uint64_t kDefault = 20;
  const char* given = std::getenv("PERAXIS_PROPERTY_SEED");
  return ((given != nullptr ? std::strtoull(given, nullptr, 10) : kDefault) << 32) + own;
}

Case random_layer(uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Layer l;
  l.kind = b.pick(
      {ir::OpKind::Conv2D, ir::OpKind::Conv2D, ir::OpKind::DepthwiseConv2D, ir::OpKind::FullyConnected});
  random_quantization(b, l);
  const int32_t depth = channel_count(b);
  l.outputs = channel_count(b);
  Case out;
  set_tiles(b, out);
  if (l.kind == ir::OpKind::FullyConnected) {
    l.keep_num_dims = b.rng().one_in(3);
    const int32_t rows = b.pick({1, 1, 2, 5, 9});
    const int32_t in = b.rng().one_in(3) ? b.input({1, rows, 1, depth}) : b.input({rows, depth});
    b.graph().outputs = {b.layer(in, l)};
    return finish(b, seed, std::move(out));
  }
  auto h = static_cast<int32_t>(b.rng().uniform(1, 12)), w = static_cast<int32_t>(b.rng().uniform(1, 17));
  if (h == w && h > 1) w += 1;
  random_geometry(b, l, h, w);
  // Over one channel every depth multiplier is an ordinary convolution; otherwise one kernel a channel.
  const bool depthwise = l.kind == ir::OpKind::DepthwiseConv2D;
  if (depthwise && depth > 1) l.outputs = depth;
  const int64_t macs_a_pixel = int64_t{l.kernel_h} * l.kernel_w * l.outputs * (depthwise ? 1 : depth);
  while (int64_t{h} * w * macs_a_pixel > kMaxMacs * l.attributes.stride_h * l.attributes.stride_w &&
         h * w > 1) {
    (h > w ? h : w) -= 1;
    if (h == w && h > 1) --w;
  }
  if (l.kernel_h > h || l.kernel_w > w) l.attributes.padding = ir::Padding::Same;
  const int32_t in = b.input({1, h, w, depth});
  b.graph().outputs = {b.layer(in, l)};
  return finish(b, seed, std::move(out));
}

namespace {

int32_t network_convolution(Builder& b, int32_t from, bool keep_map) {
  const std::vector<int32_t> in = b.shape(from);
  Layer l;
  l.kind = b.rng().one_in(3) ? ir::OpKind::DepthwiseConv2D : ir::OpKind::Conv2D;
  l.outputs = l.kind == ir::OpKind::DepthwiseConv2D && in[3] > 1 ? in[3] : b.pick({5, 16, 17, 33, 65});
  if (keep_map) {
    l.kind = ir::OpKind::Conv2D;
    l.outputs = in[3];
  }
  random_quantization(b, l);
  l.bias = true;
  l.gain = std::min(l.gain, 1.0);
  random_geometry(b, l, in[1], in[2]);
  l.attributes.stride_h = keep_map ? 1 : b.pick({1, 1, 2});
  l.attributes.stride_w = 1;
  if (keep_map) l.attributes.padding = ir::Padding::Same;
  return b.layer(from, l);
}

int32_t network_pool(Builder& b, int32_t from, bool keep_map) {
  const std::vector<int32_t> in = b.shape(from);
  const ir::QuantParams quant = b.graph().tensor(from).quant;
  ir::PoolAttributes a;
  a.filter_h = b.pick({1, 2, 3});
  a.filter_w = b.pick({2, 3});
  if (!keep_map) a.stride_h = b.pick({1, 2});
  if (!keep_map) a.stride_w = b.pick({1, 2});
  const auto rows = ir::spatial_axis(in[1], a.filter_h, a.stride_h, 1, a.padding);
  const auto columns = ir::spatial_axis(in[2], a.filter_w, a.stride_w, 1, a.padding);
  const int32_t out =
      b.add_tensor({1, static_cast<int32_t>(rows.out), static_cast<int32_t>(columns.out), in[3]},
                   quant.scale[0], quant.zero_point[0]);
  return b.op(b.rng().one_in(2) ? ir::OpKind::MaxPool2D : ir::OpKind::AveragePool2D, {from}, out, a);
}

int32_t network_join(Builder& b, int32_t from) {
  const std::vector<int32_t> in = b.shape(from);
  const ir::QuantParams quant = b.graph().tensor(from).quant;
  if (in[3] > 80 || b.rng().one_in(2)) {  // a residual block; no more channels than CBUF takes
    const int32_t other = network_convolution(b, from, true);
    const int32_t out = b.add_tensor(in, static_cast<float>(b.rng().uniform_real(0.01, 0.3)), b.zero_point());
    return b.op(ir::OpKind::Add, {from, other}, out, ir::BinaryAttributes{b.activation()});
  }
  std::vector<int32_t> parts{from, network_pool(b, from, true)};  // int8 parts must share their quantization
  if (b.is_uint8()) parts.push_back(network_convolution(b, from, true));
  std::vector<int32_t> joined = in;
  joined[3] = in[3] * static_cast<int32_t>(parts.size());
  const int32_t out = b.add_tensor(joined, quant.scale[0], quant.zero_point[0]);
  return b.op(ir::OpKind::Concatenation, parts, out, ir::ConcatenationAttributes{3, ir::Activation::None});
}

}  // namespace

Case random_network(uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Case out;
  set_tiles(b, out);
  const auto h = static_cast<int32_t>(b.rng().uniform(3, 9));
  int32_t x = b.input({1, h, h + static_cast<int32_t>(b.rng().uniform(1, 5)), b.pick({1, 3, 16, 19})});
  std::vector<int32_t> made;
  const int64_t steps = b.rng().uniform(4, 8);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t what = i == 0 ? 0 : b.rng().uniform(0, 4);
    x = what <= 2   ? network_convolution(b, x, false)
        : what == 3 ? network_pool(b, x, false)
                    : network_join(b, x);
    made.push_back(x);
  }
  if (b.rng().one_in(2)) {
    Layer l;
    l.kind = ir::OpKind::FullyConnected;
    l.outputs = b.pick({10, 33});
    l.per_axis = b.rng().one_in(2);
    x = b.layer(x, l);
  }
  b.graph().outputs = {x};
  const int32_t early = made[static_cast<size_t>(b.rng().uniform(0, steps - 1))];
  if (b.rng().one_in(2) && early != x) b.graph().outputs.push_back(early);
  return finish(b, seed, std::move(out));
}

Case chain_network(uint64_t seed, bool is_uint8) {
  Builder b(seed, is_uint8);
  b.set_mild();
  int32_t x = b.input({1, 6, 9, 19});
  Layer l;
  l.dead_channels = false;
  l.log2_spread = 2;
  l.outputs = 70;
  l.kernel_h = 3;
  l.kernel_w = 2;
  l.attributes.stride_w = 2;
  x = b.layer(x, l);
  l.kind = ir::OpKind::DepthwiseConv2D;
  l.attributes.stride_w = 1;
  l.gain = 3;  // its input no longer fills the range
  x = b.layer(x, l);
  l.kind = ir::OpKind::Conv2D;
  l.kernel_h = 1;
  l.outputs = 33;
  x = b.layer(x, l);
  l.kind = ir::OpKind::FullyConnected;
  l.kernel_w = 1;
  l.outputs = 12;
  x = b.layer(x, l);
  b.graph().outputs = {x};
  return finish(b, seed, {});
}

Result<std::vector<Bytes>> run_on_machine(const exe::Executable& executable, const std::vector<Bytes>& inputs,
                                          Activations* seen, machine::Options machine_options,
                                          int64_t occupied, int threads) {
  device::MachineDevice device(machine_options);
  if (occupied > 0) PERAXIS_TRY(device.allocate(occupied, "occupied"));
  runtime::SessionOptions options;
  options.threads = threads;
  if (seen != nullptr)
    options.observer = [seen](int32_t tensor, std::span<const uint8_t> values) {
      (*seen)[tensor].assign(values.begin(), values.end());
    };
  const auto session = PERAXIS_TRY(runtime::Session::create(executable, device, options));
  const std::vector<std::span<const uint8_t>> views(inputs.begin(), inputs.end());
  return session->run(views);
}

Result<std::vector<Bytes>> run_on_kernels(const Case& test, kernels::Path path, num::Reference reference,
                                          Activations* seen) {
  kernels::Options options;
  options.path = path;
  options.reference = reference;
  kernels::Observer observer;
  if (seen != nullptr)
    observer = [seen](int32_t tensor, kernels::Values values) {
      (*seen)[tensor].assign(values.begin(), values.end());
    };
  const std::vector<kernels::Values> views(test.inputs.begin(), test.inputs.end());
  return kernels::run_graph(test.graph, views, options, observer);
}

Result<Bytes> operator_reference(const Case& test, size_t op, const Activations& seen) {
  const ir::Op& o = test.graph.ops[op];
  std::vector<kernels::Values> inputs;
  for (const int32_t t : o.inputs)
    inputs.emplace_back(test.graph.tensor(t).is_constant ? test.graph.tensor(t).data : seen.at(t));
  Bytes out(static_cast<size_t>(test.graph.tensor(o.outputs[0]).bytes()));
  const std::vector<std::span<uint8_t>> outputs{out};
  kernels::Options options;
  options.path = kernels::Path::Reference;
  PERAXIS_TRY(kernels::run_op(test.graph, op, inputs, outputs, options));
  return out;
}

int largest_difference(ir::DataType type, std::span<const uint8_t> a, std::span<const uint8_t> b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool is_signed = type == ir::DataType::Int8;
    const int x = is_signed ? static_cast<int8_t>(a[i]) : a[i],
              y = is_signed ? static_cast<int8_t>(b[i]) : b[i];
    largest = std::max(largest, std::abs(x - y));
  }
  return largest;
}

std::string difference_text(std::span<const uint8_t> got, std::span<const uint8_t> want) {
  if (got.size() != want.size()) return fmt::format("{} bytes, expected {}", got.size(), want.size());
  size_t wrong = 0, first = 0;
  for (size_t i = got.size(); i-- > 0;)
    if (got[i] != want[i]) {
      ++wrong;
      first = i;
    }
  if (wrong == 0) return "equal";
  return fmt::format("{} of {} bytes differ, the first at {}: {:#x}, expected {:#x}", wrong, got.size(),
                     first, got[first], want[first]);
}

}  // namespace peraxis::property
