#include "requant/layer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "ir/operands.hpp"
#include "num/rounding.hpp"

namespace peraxis::requant {
namespace {

constexpr double kBoundedDecay = 64.0;  // as kActivationDecay, of RELU6 and RELU_N1_TO_1
// Calibrated histograms: half width of the smoothing window, and the share of the default model mixed in.
constexpr int32_t kSmoothing = 2;
constexpr double kDefaultShare = 0.1;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr int64_t kInt32Min = std::numeric_limits<int32_t>::min();

// Effective scale of output channel c, with LiteRT's own order of float operations.
double effective_multiplier(const ir::Tensor& input, const ir::Tensor& weights, const ir::Tensor& output,
                            ir::OpKind kind, size_t c) {
  const float s_in = input.quant.scale[0];
  const float s_w = weights.quant.scale[weights.quant.per_axis() ? c : 0];
  const float s_out = output.quant.scale[0];
  if (input.type == ir::DataType::UInt8 && kind != ir::OpKind::FullyConnected)
    return static_cast<double>(s_in * s_w) / static_cast<double>(s_out);
  return static_cast<double>(s_in) * static_cast<double>(s_w) / static_cast<double>(s_out);
}

bool product_can_wrap(const Channel& channel) {
  const int64_t reach = std::max(std::abs(channel.acc_min()), std::abs(channel.acc_max()));
  if (reach > kInt32Max) return true;
  // Room for the zero point that is added afterwards.
  if (static_cast<double>(reach) * channel.multiplier > static_cast<double>(kInt32Max - 512)) return true;
  if (channel.fixed.exponent > 0) {
    if (channel.fixed.exponent >= 31) return true;
    return reach > (kInt32Max >> channel.fixed.exponent) - 512;
  }
  return false;
}

}  // namespace

Status set_histograms(Layer& layer, const std::vector<int64_t>& counts) {
  if (counts.size() != layer.channels.size() * 256)
    return fail(ErrorCode::InvalidArgument, "{}: histograms of {} values for {} channels, expected {}",
                layer.label, counts.size(), layer.channels.size(), layer.channels.size() * 256);
  for (size_t c = 0; c < layer.channels.size(); ++c) {
    const int64_t* seen = counts.data() + c * 256;
    const auto total = static_cast<double>(std::accumulate(seen, seen + 256, int64_t{0}));
    std::vector<float>& histogram = layer.channels[c].histogram;
    histogram.clear();
    if (total <= 0) continue;
    histogram.resize(256);
    for (size_t q = 0; q < 256; ++q) histogram[q] = static_cast<float>(static_cast<double>(seen[q]) / total);
  }
  return {};
}

namespace {

double default_density(const Layer& layer, int32_t distance) {
  const auto make = [](double decay) {
    std::array<double, 512> t{};
    for (size_t i = 0; i < t.size(); ++i) t[i] = std::exp(-static_cast<double>(i) / decay);
    return t;
  };
  static const std::array<double, 512> open = make(kActivationDecay), bounded = make(kBoundedDecay);
  return (layer.bounded ? bounded : open)[static_cast<size_t>(std::abs(distance))];
}

}  // namespace

OutputDensity::OutputDensity(const Layer& layer, const Channel& channel) {
  // The default model, over the outputs the channel can reach.
  int32_t first = layer.low, last = layer.high;
  if (!channel.wraps) {
    first = reference_output(layer, channel, channel.acc_min());
    last = reference_output(layer, channel, channel.acc_max());
  }
  double total = 0;
  for (int32_t q = first; q <= last; ++q) total += default_density(layer, q - layer.z_out);
  for (int32_t q = first + 1; q <= last; ++q)
    steps_[output_index(q)] = default_density(layer, std::abs(2 * (q - layer.z_out) - 1) / 2) / total;
  if (channel.histogram.empty()) return;
  for (int32_t q = first + 1; q <= last; ++q) {
    // The outermost values collect what was clipped: no density.
    double sum = 0;
    int32_t width = 0;
    for (int32_t near = q - 1 - kSmoothing; near <= q + kSmoothing; ++near) {
      if (near <= layer.low || near >= layer.high) continue;
      sum += static_cast<double>(channel.histogram[output_index(near)]);
      ++width;
    }
    double& step = steps_[output_index(q)];
    step = kDefaultShare * step + (width > 0 ? (1 - kDefaultShare) * sum / width : 0);
  }
}

int32_t reference_output(const Layer& layer, const Channel& channel, int64_t acc) {
  int64_t scaled = 0;
  switch (layer.rounding) {
    case Rounding::Two:
      scaled = num::multiply_two_roundings(num::wrap_int32(acc), channel.fixed);
      break;
    case Rounding::Once:
      scaled = num::multiply_one_rounding(num::wrap_int32(acc), channel.fixed);
      break;
    case Rounding::Double: {
      const double value = std::round(static_cast<double>(num::wrap_int32(acc)) * channel.multiplier);
      scaled = std::abs(value) <= static_cast<double>(kInt32Max) ? static_cast<int64_t>(value) : kInt32Min;
      break;
    }
  }
  const int32_t stored = num::wrap_int32(scaled + layer.z_out + layer.stored_offset);
  return static_cast<int32_t>(num::saturate(int64_t{stored} - layer.stored_offset, layer.low, layer.high));
}

std::vector<int64_t> reference_thresholds(const Layer& layer, const Channel& channel) {
  if (channel.thresholds != nullptr) return *channel.thresholds;
  std::vector<int64_t> thresholds(static_cast<size_t>(layer.high - layer.low));
  const int64_t first = channel.acc_min(), last = channel.acc_max() + 1;
  int64_t from = first;
  for (size_t i = 0; i < thresholds.size(); ++i) {
    const int32_t q = layer.low + 1 + static_cast<int32_t>(i);
    // The real threshold is a good guess; gallop from it, then bisect. The output never decreases.
    const double real = (q - layer.z_out - 0.5) / channel.multiplier;
    int64_t guess = last;
    if (channel.multiplier > 0 && real < static_cast<double>(last))
      guess = static_cast<int64_t>(std::floor(std::max(real, static_cast<double>(from))));
    int64_t low = from, high = last;  // answer in [low, high]
    for (int64_t step = 1; low < high && guess >= low && guess < high; step *= 4) {
      if (reference_output(layer, channel, guess) >= q) {
        high = guess;
        guess -= step;
        if (guess < low) break;
      } else {
        low = guess + 1;
        guess += step;
      }
    }
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (reference_output(layer, channel, middle) >= q)
        high = middle;
      else
        low = middle + 1;
    }
    thresholds[i] = from = low;
  }
  return thresholds;
}

void keep_thresholds(Layer& layer) {
  for (Channel& channel : layer.channels)
    if (!channel.wraps && !channel.constant)
      channel.thresholds = std::make_shared<const std::vector<int64_t>>(reference_thresholds(layer, channel));
}

void drop_thresholds(Layer& layer) {
  for (Channel& channel : layer.channels) channel.thresholds.reset();
}

namespace {

ir::Activation activation_of(const ir::Op& op) {
  if (const auto* fc = std::get_if<ir::FullyConnectedAttributes>(&op.attributes)) return fc->activation;
  if (const auto* t = std::get_if<ir::TransposeConvAttributes>(&op.attributes)) return t->activation;
  return std::get<ir::ConvAttributes>(op.attributes).activation;
}

// A channel's raw sums. In a transposed convolution a window has input pixels under every stride-th tap in
// both directions and the input's zero point under the others: the sums of each such class of taps count.
class Reach {
 public:
  Reach(const ir::Op& op, const ir::Tensor& weights, int32_t z_in) : z_in_(z_in) {
    const auto* a = std::get_if<ir::TransposeConvAttributes>(&op.attributes);
    if (a == nullptr) return;
    depth_ = weights.shape[3];
    kernel_w_ = weights.shape[2];
    stride_h_ = std::min(a->stride_h, weights.shape[1]);
    stride_w_ = std::min(a->stride_w, weights.shape[2]);
    classes_.resize(static_cast<size_t>(stride_h_) * static_cast<size_t>(stride_w_));
  }

  // Weight `tap` of the channel, less its zero point; taps in the order in which they are stored.
  void add(int64_t tap, int64_t w) {
    Class& c = classes_.size() == 1 ? classes_[0] : class_of(tap / depth_);
    sum += w;
    c.sum += w;
    c.min += w >= 0 ? -128 * w : 127 * w;
    c.max += w >= 0 ? 127 * w : -128 * w;
  }
  void set(Channel& channel) const {
    channel.raw_min = std::numeric_limits<int64_t>::max();
    channel.raw_max = std::numeric_limits<int64_t>::min();
    for (const Class& c : classes_) {
      channel.raw_min = std::min(channel.raw_min, c.min + z_in_ * (sum - c.sum));
      channel.raw_max = std::max(channel.raw_max, c.max + z_in_ * (sum - c.sum));
    }
  }
  void clear() {
    sum = 0;
    classes_.assign(classes_.size(), {});
  }

  int64_t sum = 0;

 private:
  struct Class {
    int64_t sum = 0, min = 0, max = 0;
  };
  Class& class_of(int64_t pixel) {
    const int64_t row = pixel / kernel_w_ % stride_h_, column = pixel % kernel_w_ % stride_w_;
    return classes_[static_cast<size_t>(row * stride_w_ + column)];
  }

  int64_t z_in_, depth_ = 1, kernel_w_ = 1;
  int32_t stride_h_ = 1, stride_w_ = 1;
  std::vector<Class> classes_ = std::vector<Class>(1);
};

}  // namespace

Result<Layer> describe(const ir::Graph& graph, size_t op_index, num::Reference reference) {
  const ir::Op& op = graph.ops[op_index];
  const ir::ConvOperands operands = ir::conv_operands(op);
  const ir::Tensor& input = graph.tensor(operands.input);
  const ir::Tensor& weights = graph.tensor(operands.weights);
  const ir::Tensor& output = graph.tensor(op.outputs[0]);
  const bool depthwise = op.kind == ir::OpKind::DepthwiseConv2D;
  const bool is_uint8 = input.type == ir::DataType::UInt8;
  const int32_t shift = is_uint8 ? 128 : 0;

  Layer layer;
  layer.label = graph.op_label(op_index);
  layer.stored_offset = shift;
  layer.kind = op.kind;
  layer.rounding = reference == num::Reference::SingleRounding ? Rounding::Once
                   : op.kind == ir::OpKind::FullyConnected     ? Rounding::Double
                                                               : Rounding::Two;
  layer.z_in = static_cast<int32_t>(input.quant.zero_point[0]) - shift;
  layer.z_out = static_cast<int32_t>(output.quant.zero_point[0]) - shift;
  // Per-axis zero points are zero (LiteRT refuses or ignores others); int8 weights are symmetric in the
  // convolutions, FULLY_CONNECTED uses a per-tensor zero point.
  if (!weights.quant.per_axis() && (is_uint8 || op.kind == ir::OpKind::FullyConnected))
    layer.z_w = static_cast<int32_t>(weights.quant.zero_point[0]) - shift;
  const ir::Activation activation = activation_of(op);
  layer.bounded = activation == ir::Activation::Relu6 || activation == ir::Activation::ReluN1To1;
  const ir::StoredRange range = ir::activation_range(output, activation);
  layer.low = range.low - shift;
  layer.high = range.high - shift;

  const int64_t channels = depthwise ? weights.shape.back() : weights.shape.front();
  const int64_t taps = weights.elements() / std::max<int64_t>(channels, 1);
  const int32_t* bias = nullptr;
  if (operands.bias != ir::kAbsent)
    bias = reinterpret_cast<const int32_t*>(graph.tensor(operands.bias).data.data());

  Reach reach(op, weights, layer.z_in);
  layer.channels.resize(static_cast<size_t>(channels));
  for (int64_t c = 0; c < channels; ++c) {
    Channel& channel = layer.channels[static_cast<size_t>(c)];
    channel.multiplier = effective_multiplier(input, weights, output, op.kind, static_cast<size_t>(c));
    channel.fixed = num::quantize_multiplier(channel.multiplier);
    reach.clear();
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t at = depthwise ? t * channels + c : c * taps + t;
      const uint8_t byte = weights.data[static_cast<size_t>(at)];
      reach.add(t, (is_uint8 ? int64_t{byte} - 128 : int64_t{static_cast<int8_t>(byte)}) - layer.z_w);
    }
    reach.set(channel);
    if (bias != nullptr) std::memcpy(&channel.bias, bias + c, sizeof channel.bias);
    channel.addend = channel.bias - layer.z_in * reach.sum;
    channel.wraps = product_can_wrap(channel);
    if (!channel.wraps) {
      channel.constant_value = reference_output(layer, channel, channel.acc_min());
      channel.constant = channel.constant_value == reference_output(layer, channel, channel.acc_max());
    }
  }
  return layer;
}

}  // namespace peraxis::requant
