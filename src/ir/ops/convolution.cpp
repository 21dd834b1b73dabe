// CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV and what FULLY_CONNECTED shares with them
// (docs/arithmetic.md#convolutions-in-common). Where LiteRT accepts a model but reads bytes as another type
// or skips a zero point, the rule refuses it.
#include <cmath>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

Status verify_weighted_types(const Operand& input, const Operand& weights, const Operand& output) {
  if (input.tensor->type == DataType::Int8 && output.tensor->type == DataType::Int16) {
    return fail(ErrorCode::Unsupported,
                "int8 input with int16 output ({}): LiteRT has no result for it and the hardware times out "
                "on silicon",
                output.text());
  }
  PERAXIS_TRY(expect_numbers(input, kReal));
  PERAXIS_TRY(expect_numbers(output, kReal));
  PERAXIS_TRY(expect_same_type(input, output));
  const DataType type = input.tensor->type;
  if (type == DataType::Float32 && is_quantized_type(weights.tensor->type)) {
    return fail(
        ErrorCode::Unsupported,
        "{} are {} beside a float32 input: the model is quantized dynamically (hybrid), its activations "
        "are not; quantize it fully (TFLiteConverter: a representative_dataset; ai-edge-quantizer: "
        "static_wi8_ai8 in place of dynamic_wi8_afp32; Ultralytics: int8=True with data=)",
        weights.text(), data_type_name(weights.tensor->type));
  }
  if (weights.tensor->type != (type == DataType::Int16 ? DataType::Int8 : type)) {
    return fail(ErrorCode::Unsupported,
                "{} are {} for an {} input; only equal types, and int8 for int16, are supported",
                weights.text(), data_type_name(weights.tensor->type), data_type_name(type));
  }
  if (type == DataType::Float32) return {};
  const QuantParams& quant = weights.tensor->quant;
  if (!quant.quantized()) return fail(ErrorCode::InvalidModel, "{} have no scale", weights.text());
  if (quant.per_axis() && input.tensor->type == DataType::UInt8) {
    return fail(ErrorCode::InvalidModel, "uint8 {} have {} scales; LiteRT takes one", weights.text(),
                quant.scale.size());
  }
  for (const float scale : quant.scale) {
    const double effective = static_cast<double>(input.tensor->quant.scale[0]) * static_cast<double>(scale) /
                             static_cast<double>(output.tensor->quant.scale[0]);
    constexpr const char* kFormula = "input scale * weight scale / output scale";
    PERAXIS_TRY(expect_multiplier(effective, kFormula));
    if (type == DataType::Int16) PERAXIS_TRY(expect_int16_multiplier(effective, kFormula));
  }
  return {};
}

Status verify_bias(const OpView& view, size_t slot, const Weighted& weighted) {
  const auto& [input, weights, output, channels, int32_bias] = weighted;
  const Operand bias = view.input(slot, "the bias");
  PERAXIS_TRY(expect_constant(bias));
  // LiteRT reads an int32 bias of an int16 operator as int64, beyond its end, unless the options name int32.
  const DataType type = input.tensor->type;
  const DataType wanted = type == DataType::Float32                ? DataType::Float32
                          : type == DataType::Int16 && !int32_bias ? DataType::Int64
                                                                   : DataType::Int32;
  if (bias.tensor->type != wanted) {
    return fail(ErrorCode::InvalidModel, "{} is {}; it must be {}", bias.text(),
                data_type_name(bias.tensor->type), data_type_name(wanted));
  }
  if (bias.tensor->elements() != channels) {
    return fail(ErrorCode::InvalidModel, "{} has {} values for {} output channels", bias.text(),
                bias.tensor->elements(), channels);
  }
  const QuantParams& quant = bias.tensor->quant;
  for (const int64_t zero_point : quant.zero_point) {
    if (zero_point != 0) {
      return fail(ErrorCode::InvalidModel, "{} has the zero point {}; it must be 0", bias.text(), zero_point);
    }
  }
  if (type == DataType::Float32) return {};
  // LiteRT adds the bias as an integer and looks at its scale only in these cases, for plausibility.
  const bool fully_connected = view.op().kind == OpKind::FullyConnected;
  const bool compared =
      fully_connected ? !weights.tensor->quant.per_axis() : input.tensor->type == DataType::UInt8;
  if (!compared) return {};
  constexpr double kLimit = 0.02;
  const double product =
      static_cast<double>(input.tensor->quant.scale[0]) * static_cast<double>(weights.tensor->quant.scale[0]);
  const double bias_scale = quant.quantized() ? static_cast<double>(quant.scale[0]) : 0.0;
  const double difference =
      std::fabs(product - bias_scale) / static_cast<double>(output.tensor->quant.scale[0]);
  if (!(difference <= kLimit)) {
    return fail(
        ErrorCode::InvalidModel,
        "{} has the scale {:.9g}, input scale * weight scale is {:.9g}: apart by {:.3g} of the output scale, "
        "the limit is {}",
        bias.text(), bias_scale, product, difference, kLimit);
  }
  return {};
}

namespace {

// [out,kh,kw,in/groups] for conv_2d, [1,kh,kw,out] for depthwise_conv_2d.
Status verify_channels(bool depthwise, const Operand& input, const Operand& weights) {
  const int32_t in = input.tensor->shape[3];
  const std::vector<int32_t>& shape = weights.tensor->shape;
  if (depthwise) {
    if (shape[0] != 1) {
      return fail(ErrorCode::InvalidModel, "{} have shape {}; the first dimension must be 1", weights.text(),
                  shape_text(shape));
    }
    if (shape[3] % in != 0) {
      return fail(ErrorCode::InvalidModel, "{} have {} channels, no multiple of the input's {}",
                  weights.text(), shape[3], in);
    }
    return {};
  }
  if (in % shape[3] != 0) {
    return fail(ErrorCode::InvalidModel, "{} have depth {}, which does not divide the input's {} channels",
                weights.text(), shape[3], in);
  }
  const int32_t groups = in / shape[3];
  if (shape[0] % groups != 0) {
    return fail(ErrorCode::InvalidModel, "{} output channels in {} groups ({} of shape {})", shape[0], groups,
                weights.text(), shape_text(shape));
  }
  return {};
}

Status verify_weight_quantization(bool depthwise, const Operand& weights) {
  const QuantParams& quant = weights.tensor->quant;
  const int32_t dimension = depthwise ? 3 : 0;
  if (quant.per_axis() && quant.quantized_dimension != dimension) {
    return fail(ErrorCode::InvalidModel,
                "{} have quantized_dimension {}; the output channels are dimension {}", weights.text(),
                quant.quantized_dimension, dimension);
  }
  if (weights.tensor->type != DataType::Int8) return {};
  for (const int64_t zero_point : quant.zero_point) {
    if (zero_point != 0) {
      return fail(ErrorCode::InvalidModel, "int8 {} have the zero point {}; it must be 0", weights.text(),
                  zero_point);
    }
  }
  return {};
}

Status verify_spatial(const ConvAttributes& attributes, const Operand& input, const Operand& weights,
                      const Operand& output, int32_t channels) {
  if (attributes.stride_h < 1 || attributes.stride_w < 1 || attributes.dilation_h < 1 ||
      attributes.dilation_w < 1) {
    return fail(ErrorCode::InvalidModel, "strides {}x{} and dilations {}x{}; all must be at least 1",
                attributes.stride_h, attributes.stride_w, attributes.dilation_h, attributes.dilation_w);
  }
  const std::vector<int32_t>& in = input.tensor->shape;
  const std::vector<int32_t>& kernel = weights.tensor->shape;
  constexpr int32_t kMostPadding = 1 << 16;
  for (const int32_t pad :
       {attributes.pad_top, attributes.pad_left, attributes.pad_bottom, attributes.pad_right})
    if (pad < 0 || pad > kMostPadding)
      return fail(ErrorCode::InvalidModel, "explicit padding of {}; it must be 0..{}", pad, kMostPadding);
  const auto [rows, columns] = conv_axes(in[1], in[2], kernel[1], kernel[2], attributes);
  if (rows.out < 1 || columns.out < 1) {
    return fail(ErrorCode::InvalidModel, "{} of shape {} are larger than {} of shape {}", weights.text(),
                shape_text(kernel), input.text(), shape_text(in));
  }
  return expect_shape(output, std::vector<int32_t>{in[0], static_cast<int32_t>(rows.out),
                                                   static_cast<int32_t>(columns.out), channels});
}

}  // namespace

Status verify_convolution(const OpView& view) {
  const bool depthwise = view.op().kind == OpKind::DepthwiseConv2D;
  PERAXIS_TRY(view.expect_counts(depthwise ? 2 : 3, 3));
  if (view.inputs() == 3 && !view.has_input(2)) {
    return fail(ErrorCode::InvalidModel, "the bias is absent (index -1); LiteRT needs it here");
  }
  const ConvAttributes attributes = PERAXIS_TRY(view.attributes<ConvAttributes>());
  const Operand input = view.input(0);
  const Operand weights = view.input(1, "the weights");
  const Operand output = view.output();
  PERAXIS_TRY(expect_constant(weights));
  PERAXIS_TRY(verify_weighted_types(input, weights, output));
  PERAXIS_TRY(expect_rank(input, 4, 4));
  PERAXIS_TRY(expect_rank(weights, 4, 4));
  PERAXIS_TRY(expect_rank(output, 4, 4));
  PERAXIS_TRY(verify_channels(depthwise, input, weights));
  PERAXIS_TRY(verify_weight_quantization(depthwise, weights));
  const int32_t channels = weights.tensor->shape[depthwise ? 3 : 0];
  PERAXIS_TRY(verify_spatial(attributes, input, weights, output, channels));
  if (depthwise && attributes.int32_bias) {
    return fail(ErrorCode::InvalidModel, "an int16 depthwise convolution takes an int64 bias only");
  }
  if (view.inputs() == 3) {
    PERAXIS_TRY(verify_bias(view, 2, {input, weights, output, channels, attributes.int32_bias}));
  }
  return {};
}

// The shape of the output is input 0; weights are input 1, the map input 2.
Status verify_transpose_conv(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(3, 4));
  const auto attributes = PERAXIS_TRY(view.attributes<TransposeConvAttributes>());
  const Operand weights = view.input(1, "the weights");
  const Operand input = view.input(2);
  const Operand output = view.output();
  PERAXIS_TRY(expect_constant(weights));
  PERAXIS_TRY(verify_weighted_types(input, weights, output));
  for (const Operand& operand : {input, weights, output}) PERAXIS_TRY(expect_rank(operand, 4, 4));
  PERAXIS_TRY(verify_weight_quantization(false, weights));
  const std::vector<int32_t>& kernel = weights.tensor->shape;
  if (kernel[3] != input.tensor->shape[3]) {
    return fail(ErrorCode::InvalidModel, "{} have depth {}, the input has {} channels", weights.text(),
                kernel[3], input.tensor->shape[3]);
  }
  if (attributes.stride_h < 1 || attributes.stride_w < 1) {
    return fail(ErrorCode::InvalidModel, "strides {}x{}; both must be at least 1", attributes.stride_h,
                attributes.stride_w);
  }
  const auto shape = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[0], "the shape input"));
  PERAXIS_TRY(expect_shape(output, shape));
  if (output.tensor->shape[3] != kernel[0] || output.tensor->shape[0] != input.tensor->shape[0]) {
    return fail(ErrorCode::InvalidModel, "{} of shape {} does not fit {} kernels and batch {}", output.text(),
                shape_text(output.tensor->shape), kernel[0], input.tensor->shape[0]);
  }
  if (!view.has_input(3)) return {};
  return verify_bias(view, 3, {input, weights, output, kernel[0], attributes.int32_bias});
}

}  // namespace peraxis::ir::rules
