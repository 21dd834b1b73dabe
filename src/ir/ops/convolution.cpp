// conv_2d, depthwise_conv_2d, transpose_conv and what fully_connected shares with them
// (docs/arithmetic.md#convolutions-in-common). Where LiteRT accepts a model but reads bytes as another type
// or skips a zero point, the rule refuses it.
#include <cmath>

#include "ir/layouts.hpp"
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

Status verify_channels(bool depthwise, const Operand& input, const Operand& weights) {
  const int32_t in = input.tensor->shape[kChannels];
  const std::vector<int32_t>& shape = weights.tensor->shape;
  if (depthwise) {
    if (shape[kDepthwiseWeights.inputs] != 1) {
      return fail(ErrorCode::InvalidModel, "{} have shape {}; the first dimension must be 1", weights.text(),
                  shape_text(shape));
    }
    if (shape[kDepthwiseWeights.outputs] % in != 0) {
      return fail(ErrorCode::InvalidModel, "{} have {} channels, no multiple of the input's {}",
                  weights.text(), shape[kDepthwiseWeights.outputs], in);
    }
    return {};
  }
  const int32_t outputs = shape[kConvWeights.outputs], depth = shape[kConvWeights.inputs];
  if (in % depth != 0) {
    return fail(ErrorCode::InvalidModel, "{} have depth {}, which does not divide the input's {} channels",
                weights.text(), depth, in);
  }
  const int32_t groups = in / depth;
  if (outputs % groups != 0) {
    return fail(ErrorCode::InvalidModel, "{} output channels in {} groups ({} of shape {})", outputs, groups,
                weights.text(), shape_text(shape));
  }
  return {};
}

Status verify_weight_quantization(OpKind kind, const Operand& weights) {
  const QuantParams& quant = weights.tensor->quant;
  const auto dimension = static_cast<int32_t>(weight_layout(kind).outputs);
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
  PERAXIS_TRY(expect_pads(attributes.pads, false));
  const auto [rows, columns] =
      conv_axes(nhwc(*input.tensor), kernel[kConvWeights.rows], kernel[kConvWeights.columns], attributes);
  if (rows.out < 1 || columns.out < 1) {
    return fail(ErrorCode::InvalidModel, "{} of shape {} are larger than {} of shape {}", weights.text(),
                shape_text(kernel), input.text(), shape_text(in));
  }
  return expect_shape(output, std::vector<int32_t>{in[kImages], static_cast<int32_t>(rows.out),
                                                   static_cast<int32_t>(columns.out), channels});
}

Status verify_transposed_size(const TransposeConvAttributes& a, const Operand& input,
                              const std::vector<int32_t>& kernel, const Operand& output) {
  PERAXIS_TRY(expect_pads(a.pads, true));
  const Nhwc in = nhwc(*input.tensor), out = nhwc(*output.tensor);
  const int64_t rows =
      (in.h - 1) * a.stride_h + kernel[kConvWeights.rows] - (int64_t{a.pads.top} + a.pads.bottom);
  const int64_t columns =
      (in.w - 1) * a.stride_w + kernel[kConvWeights.columns] - (int64_t{a.pads.left} + a.pads.right);
  if (rows == out.h && columns == out.w) return {};
  return fail(ErrorCode::InvalidModel, "{} of shape {}: {} of shape {} make {} rows and {} columns of it",
              output.text(), shape_text(output.tensor->shape), input.text(), shape_text(input.tensor->shape),
              rows, columns);
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
  PERAXIS_TRY(verify_weight_quantization(view.op().kind, weights));
  const int32_t channels = weights.tensor->shape[weight_layout(view.op().kind).outputs];
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
  PERAXIS_TRY(verify_weight_quantization(view.op().kind, weights));
  const std::vector<int32_t>& kernel = weights.tensor->shape;
  if (kernel[kConvWeights.inputs] != input.tensor->shape[kChannels]) {
    return fail(ErrorCode::InvalidModel, "{} have depth {}, the input has {} channels", weights.text(),
                kernel[kConvWeights.inputs], input.tensor->shape[kChannels]);
  }
  if (attributes.stride_h < 1 || attributes.stride_w < 1) {
    return fail(ErrorCode::InvalidModel, "strides {}x{}; both must be at least 1", attributes.stride_h,
                attributes.stride_w);
  }
  const auto shape = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[0], "the shape input"));
  PERAXIS_TRY(expect_shape(output, shape));
  const int32_t channels = kernel[kConvWeights.outputs], images = input.tensor->shape[kImages];
  if (output.tensor->shape[kChannels] != channels || output.tensor->shape[kImages] != images) {
    return fail(ErrorCode::InvalidModel, "{} of shape {} does not fit {} kernels and batch {}", output.text(),
                shape_text(output.tensor->shape), channels, images);
  }
  PERAXIS_TRY(verify_transposed_size(attributes, input, kernel, output));
  if (!view.has_input(3)) return {};
  return verify_bias(view, 3, {input, weights, output, channels, attributes.int32_bias});
}

}  // namespace peraxis::ir::rules
