// Products are added in LiteRT's order (rows, columns, channels of the kernel), which float32 results depend
// on; the bias comes last.
#include "kernels/reference/wide_convolution.hpp"

#include <cmath>

#include "kernels/reference/accumulator.hpp"

namespace peraxis::kernels::reference {
namespace {

template <class Rule>
typename Rule::Sum sum_of_taps(const Context& context, const ConvolutionShape& conv, int64_t n, int64_t y,
                               int64_t x, int64_t channel) {
  const Reader<typename Rule::Input> input(context.inputs[0]);
  const Reader<typename Rule::Weight> weights(context.inputs[1]);
  const bool depthwise = context.op().kind == ir::OpKind::DepthwiseConv2D;
  const int64_t group = channel / conv.outputs_per_group;
  typename Rule::Sum sum{0};
  for (int64_t ky = 0; ky < conv.kernel_h; ++ky) {
    const int64_t row = y * conv.stride_h - conv.pad_top + ky * conv.dilation_h;
    if (row < 0 || row >= conv.input.h) continue;
    for (int64_t kx = 0; kx < conv.kernel_w; ++kx) {
      const int64_t col = x * conv.stride_w - conv.pad_left + kx * conv.dilation_w;
      if (col < 0 || col >= conv.input.w) continue;
      const int64_t pixel = ((n * conv.input.h + row) * conv.input.w + col) * conv.input.c;
      if (depthwise) {
        const int64_t weight = (ky * conv.kernel_w + kx) * conv.output.c + channel;
        sum = accumulate(sum, input[pixel + group], weights[weight]);
        continue;
      }
      const int64_t first = ((channel * conv.kernel_h + ky) * conv.kernel_w + kx) * conv.depth;
      for (int64_t d = 0; d < conv.depth; ++d)
        sum = accumulate(sum, input[pixel + group * conv.depth + d], weights[first + d]);
    }
  }
  return sum;
}

// FULLY_CONNECTED of int16 rounds once, from a product in double.
int16_t store_once(double sum, double scale, ir::StoredRange range) {
  return clamp_to<int16_t>(float_to_int32(std::round(sum * scale)), range);
}

template <class Rule>
typename Rule::Sum sum_of_row(const Context& context, int64_t batch, int64_t unit, int64_t depth) {
  const Reader<typename Rule::Input> input(context.inputs[0]);
  const Reader<typename Rule::Weight> weights(context.inputs[1]);
  // Per-axis weights have the zero point 0; float ones none.
  const std::vector<int64_t>& zeros = context.input(1).quant.zero_point;
  const auto zero = std::is_same_v<Rule, FloatSum> || zeros.empty() ? 0 : static_cast<int32_t>(zeros[0]);
  typename Rule::Sum sum{0};
  for (int64_t d = 0; d < depth; ++d) {
    const auto weight = weights[unit * depth + d];
    if constexpr (std::is_same_v<Rule, FloatSum>) {
      sum = accumulate(sum, input[batch * depth + d], weight);
    } else {
      sum = accumulate(sum, input[batch * depth + d], weight - zero);
    }
  }
  return sum;
}

}  // namespace

Status wide_convolution(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::ConvAttributes>(context));
  const ConvolutionShape conv = PERAXIS_TRY(prepare_convolution_shape(context));
  return with_sum(context, 0, a->activation, a->int32_bias, conv.output.c, [&]<class Rule>(const Rule& rule) {
    const auto bias = bias_values<typename Rule::Bias>(context, 2, conv.output.c);
    const Writer<typename Rule::Input> out(context.outputs[0]);
    int64_t at = 0;
    for (int64_t n = 0; n < conv.output.n; ++n) {
      for (int64_t y = 0; y < conv.output.h; ++y) {
        for (int64_t x = 0; x < conv.output.w; ++x) {
          for (int64_t c = 0; c < conv.output.c; ++c) {
            const auto channel = static_cast<size_t>(c);
            const auto sum = add_bias(sum_of_taps<Rule>(context, conv, n, y, x, c), bias[channel]);
            out.set(at++, rule.store(sum, channel));
          }
        }
      }
    }
    return Status{};
  });
}

Status wide_fully_connected(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::FullyConnectedAttributes>(context));
  const ir::Tensor& weights = context.input(1);
  const int64_t units = weights.shape[0];
  const int64_t depth = weights.shape[1];
  const int64_t batches = context.input(0).elements() / depth;
  return with_sum(context, 0, a->activation, a->int32_bias, units, [&]<class Rule>(const Rule& rule) {
    const auto bias = bias_values<typename Rule::Bias>(context, 2, units);
    const Writer<typename Rule::Input> out(context.outputs[0]);
    for (int64_t batch = 0; batch < batches; ++batch) {
      for (int64_t unit = 0; unit < units; ++unit) {
        const auto channel = static_cast<size_t>(unit);
        const auto sum = add_bias(sum_of_row<Rule>(context, batch, unit, depth), bias[channel]);
        if constexpr (std::is_same_v<Rule, FloatSum>) {
          out.set(batch * units + unit, rule.store(sum, channel));
        } else {
          const float weight_scale = weights.quant.scale[weights.quant.per_axis() ? channel : 0];
          const double scale = static_cast<double>(quant_of(context.input(0)).scale) *
                               static_cast<double>(weight_scale) /
                               static_cast<double>(quant_of(context.output()).scale);
          out.set(batch * units + unit, store_once(static_cast<double>(sum), scale, rule.range));
        }
      }
    }
    return Status{};
  });
}

}  // namespace peraxis::kernels::reference
