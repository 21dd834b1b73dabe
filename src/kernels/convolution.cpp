#include "kernels/convolution.hpp"

#include <cmath>

namespace peraxis::kernels {
namespace {

Status check_weights(const Context& context, size_t channels, int32_t dimension) {
  const ir::Tensor& weights = context.input(1);
  const ir::QuantParams& quant = weights.quant;
  const ir::DataType type = context.output().type;
  if (context.input(0).type != type || weights.type != type) {
    return fail(ErrorCode::Unsupported, "{}: input {}, weights {} and output {} must have one type",
                context.label(), ir::data_type_name(context.input(0).type), ir::data_type_name(weights.type),
                ir::data_type_name(type));
  }
  const size_t scales = quant.scale.size();
  if ((scales != 1 && scales != channels) || quant.zero_point.size() != scales) {
    return fail(ErrorCode::InvalidModel, "{}: weights '{}' have {} scales and {} zero points for {} channels",
                context.label(), weights.name, scales, quant.zero_point.size(), channels);
  }
  if (scales > 1 && (type != ir::DataType::Int8 || quant.quantized_dimension != dimension)) {
    return fail(ErrorCode::Unsupported,
                "{}: per-axis weights '{}' must be int8 along dimension {}, not {} along {}", context.label(),
                weights.name, dimension, ir::data_type_name(type), quant.quantized_dimension);
  }
  const ir::StoredRange range = ir::type_range(type);
  for (size_t i = 0; i < scales; ++i) {
    if (!std::isfinite(quant.scale[i]) || quant.scale[i] < 0.0F || quant.zero_point[i] < range.low ||
        quant.zero_point[i] > range.high) {
      return fail(ErrorCode::InvalidModel,
                  "{}: weight scale {} and zero point {} of channel {} are impossible", context.label(),
                  quant.scale[i], quant.zero_point[i], i);
    }
  }
  return {};
}

Result<std::vector<int32_t>> read_bias(const Context& context, size_t channels) {
  std::vector<int32_t> bias(channels, 0);
  if (!context.has_input(2)) return bias;
  const ir::Tensor& tensor = context.input(2);
  if (tensor.type != ir::DataType::Int32 || tensor.elements() != static_cast<int64_t>(channels)) {
    return fail(ErrorCode::Unsupported, "{}: bias '{}' is {} {}, expected {} int32 values", context.label(),
                tensor.name, ir::data_type_name(tensor.type), shape_text(tensor.shape), channels);
  }
  if (!bias.empty()) std::memcpy(bias.data(), context.inputs[2].data(), context.inputs[2].size());
  return bias;
}

Status check_geometry(const Context& context, const ConvolutionShape& conv, const ir::ConvAttributes& a,
                      bool depthwise) {
  const std::vector<int32_t>& weights = context.input(1).shape;
  const int64_t in_c = conv.input.c;
  const int64_t out_c = conv.output.c;
  bool channels_fit = false;
  if (depthwise) {
    channels_fit = weights[0] == 1 && weights[3] == out_c && in_c > 0 && out_c % in_c == 0;
  } else {
    const int64_t depth = weights[3];
    channels_fit =
        depth > 0 && weights[0] == out_c && in_c > 0 && in_c % depth == 0 && out_c % (in_c / depth) == 0;
  }
  if (!channels_fit) {
    return fail(ErrorCode::InvalidModel, "{}: weights {} do not fit {} input and {} output channels",
                context.label(), shape_text(weights), in_c, out_c);
  }
  const auto [rows, cols] = ir::conv_axes(conv.input, weights[1], weights[2], a);
  if (conv.output.n != conv.input.n || conv.output.h != rows.out || conv.output.w != cols.out) {
    return fail(ErrorCode::InvalidModel, "{}: output shape {}, expected [{},{},{},{}]", context.label(),
                shape_text(context.output().shape), conv.input.n, rows.out, cols.out, out_c);
  }
  return {};
}

}  // namespace

// uint8 convolutions round the product of the two scales to float32 first; int8 ones stay in double.
std::vector<num::Multiplier> convolution_multipliers(const Context& context, size_t channels, Quant input,
                                                     Quant output) {
  const std::vector<float>& scales = context.input(1).quant.scale;
  std::vector<num::Multiplier> multipliers(channels);
  for (size_t c = 0; c < channels; ++c) {
    const float weight_scale = scales[scales.size() > 1 ? c : 0];
    const float narrow_product = input.scale * weight_scale;
    const double wide_product = static_cast<double>(input.scale) * static_cast<double>(weight_scale);
    const double product =
        context.output().type == ir::DataType::UInt8 ? static_cast<double>(narrow_product) : wide_product;
    multipliers[c] = num::quantize_multiplier(product / static_cast<double>(output.scale));
  }
  return multipliers;
}

Result<ConvolutionShape> prepare_convolution_shape(const Context& context) {
  const bool depthwise = context.op().kind == ir::OpKind::DepthwiseConv2D;
  PERAXIS_TRY(check_arity(context, depthwise ? 2 : 3, 3));
  const auto* a = PERAXIS_TRY(attributes<ir::ConvAttributes>(context));
  const std::vector<int32_t>& weights = context.input(1).shape;
  if (context.input(0).shape.size() != 4 || weights.size() != 4 || context.output().shape.size() != 4) {
    return fail(ErrorCode::InvalidModel, "{}: input {}, weights {} and output {} must have rank 4",
                context.label(), shape_text(context.input(0).shape), shape_text(weights),
                shape_text(context.output().shape));
  }
  if (a->stride_h < 1 || a->stride_w < 1 || a->dilation_h < 1 || a->dilation_w < 1 || weights[1] < 1 ||
      weights[2] < 1) {
    return fail(ErrorCode::InvalidModel, "{}: kernel {}x{}, stride {}x{} and dilation {}x{} must be positive",
                context.label(), weights[1], weights[2], a->stride_h, a->stride_w, a->dilation_h,
                a->dilation_w);
  }
  ConvolutionShape conv;
  conv.input = ir::nhwc(context.input(0));
  conv.output = ir::nhwc(context.output());
  PERAXIS_TRY(check_geometry(context, conv, *a, depthwise));
  conv.kernel_h = weights[1];
  conv.kernel_w = weights[2];
  conv.depth = depthwise ? 1 : weights[3];
  conv.outputs_per_group = conv.output.c / (conv.input.c / conv.depth);
  conv.stride_h = a->stride_h;
  conv.stride_w = a->stride_w;
  conv.dilation_h = a->dilation_h;
  conv.dilation_w = a->dilation_w;
  const auto [rows, cols] = ir::conv_axes(conv.input, weights[1], weights[2], *a);
  conv.pad_top = rows.before;
  conv.pad_left = cols.before;
  return conv;
}

Result<Convolution> prepare_convolution(const Context& context) {
  const bool depthwise = context.op().kind == ir::OpKind::DepthwiseConv2D;
  PERAXIS_TRY(check_arity(context, depthwise ? 2 : 3, 3));
  const auto* a = PERAXIS_TRY(attributes<ir::ConvAttributes>(context));
  const Quant input = PERAXIS_TRY(byte_quant(context, context.input(0)));
  const Quant output = PERAXIS_TRY(byte_quant(context, context.output()));
  Convolution conv;
  static_cast<ConvolutionShape&>(conv) = PERAXIS_TRY(prepare_convolution_shape(context));
  const auto channels = static_cast<size_t>(conv.output.c);
  PERAXIS_TRY(check_weights(context, channels, depthwise ? 3 : 0));
  conv.type = context.output().type;
  conv.input_zero = input.zero_point;
  // int8 kernels never look at the weights' zero point; LiteRT refuses conv_2d models that have one.
  const auto weight_zero = static_cast<int32_t>(context.input(1).quant.zero_point[0]);
  if (conv.type == ir::DataType::Int8 && !depthwise && weight_zero != 0) {
    return fail(ErrorCode::Unsupported, "{}: int8 weights with zero point {}, expected 0", context.label(),
                weight_zero);
  }
  conv.weight_zero = conv.type == ir::DataType::UInt8 ? weight_zero : 0;
  conv.input_values = context.inputs[0].data();
  conv.weight_values = context.inputs[1].data();
  conv.output_values = context.outputs[0].data();
  conv.bias = PERAXIS_TRY(read_bias(context, channels));
  conv.requantize.multipliers = convolution_multipliers(context, channels, input, output);
  conv.requantize.zero_point = output.zero_point;
  conv.requantize.range = ir::activation_range(context.output(), a->activation);
  conv.requantize.reference = context.options.reference;
  return conv;
}

Result<FullyConnected> prepare_fully_connected(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 3));
  const auto* a = PERAXIS_TRY(attributes<ir::FullyConnectedAttributes>(context));
  const Quant input = PERAXIS_TRY(byte_quant(context, context.input(0)));
  const Quant output = PERAXIS_TRY(byte_quant(context, context.output()));
  const ir::Tensor& weights = context.input(1);
  if (weights.shape.size() != 2 || weights.shape[0] < 1 || weights.shape[1] < 1) {
    return fail(ErrorCode::InvalidModel, "{}: weights have shape {}, expected [units,depth]", context.label(),
                shape_text(weights.shape));
  }
  FullyConnected fc;
  fc.units = weights.shape[0];
  fc.depth = weights.shape[1];
  const auto input_elements = static_cast<int64_t>(context.inputs[0].size());
  fc.batches = input_elements / fc.depth;
  if (input_elements % fc.depth != 0 ||
      static_cast<int64_t>(context.outputs[0].size()) != fc.batches * fc.units) {
    return fail(ErrorCode::InvalidModel, "{}: input {} and output {} do not fit weights {}", context.label(),
                shape_text(context.input(0).shape), shape_text(context.output().shape),
                shape_text(weights.shape));
  }
  const auto channels = static_cast<size_t>(fc.units);
  PERAXIS_TRY(check_weights(context, channels, 0));
  fc.type = context.output().type;
  fc.input_zero = input.zero_point;
  fc.weight_zero = weights.quant.per_axis() ? 0 : static_cast<int32_t>(weights.quant.zero_point[0]);
  fc.output_zero = output.zero_point;
  fc.input_values = context.inputs[0].data();
  fc.weight_values = context.inputs[1].data();
  fc.output_values = context.outputs[0].data();
  fc.bias = PERAXIS_TRY(read_bias(context, channels));
  for (size_t c = 0; c < channels; ++c) {
    const float weight_scale = weights.quant.scale[weights.quant.per_axis() ? c : 0];
    const double product = static_cast<double>(input.scale) * static_cast<double>(weight_scale);
    fc.scales.push_back(product / static_cast<double>(output.scale));
    fc.requantize.multipliers.push_back(num::quantize_multiplier(fc.scales.back()));
  }
  fc.requantize.zero_point = output.zero_point;
  fc.requantize.range = ir::activation_range(context.output(), a->activation);
  fc.requantize.reference = context.options.reference;
  return fc;
}

uint8_t FullyConnected::store(int32_t accumulator, size_t unit) const {
  if (requantize.reference == Reference::SingleRounding) return requantize(accumulator, unit);
  const int32_t rounded = float_to_int32(std::round(static_cast<double>(accumulator) * scales[unit]));
  return clamp_to_byte(num::wrap_int32(int64_t{rounded} + output_zero), requantize.range);
}

}  // namespace peraxis::kernels
