// Operators of two tensors, CONCATENATION, and the changes of type: QUANTIZE, DEQUANTIZE and CAST. Their
// arithmetic is in docs/arithmetic.md#operators, each under its name.
#include <algorithm>
#include <cmath>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

constexpr size_t kBroadcastRank = 6;
constexpr Types kAddable = {DataType::Float32, DataType::Int32, DataType::Int64,
                            DataType::Int8,    DataType::UInt8, DataType::Int16};
constexpr Types kDivisible = {DataType::Float32, DataType::Int32, DataType::Int8, DataType::UInt8,
                              DataType::Int16};

double scale_of(const Operand& operand) {
  return static_cast<double>(operand.tensor->quant.scale[0]);
}

// ADD and SUB bring both inputs to 20 extra bits (15 for int16) under twice the larger scale; the step back
// must be a multiplier below 1. LiteRT aborts or shifts by a negative count otherwise.
Status verify_sum_scales(const Operand& a, const Operand& b, const Operand& output) {
  const int bits = output.tensor->type == DataType::Int16 ? 15 : 20;
  const double twice_larger = 2.0 * std::max(scale_of(a), scale_of(b));
  const double ratio = twice_larger / ((1 << bits) * scale_of(output));
  if (ratio < 1.0) return {};
  return fail(
      ErrorCode::InvalidModel,
      "{} has the scale {:.9g}, more than 2^{} times finer than the larger input scale {:.9g}: LiteRT aborts",
      output.text(), scale_of(output), bits - 1, twice_larger / 2.0);
}

// Types and shapes of two operands that spread over one output of their type.
Status verify_pair(const Operand& a, const Operand& b, const Operand& output, Types types) {
  for (const Operand& operand : {a, b, output}) {
    PERAXIS_TRY(expect_type(operand, types));
    PERAXIS_TRY(expect_rank(operand, 0, kBroadcastRank));
  }
  PERAXIS_TRY(expect_same_type(a, b));
  PERAXIS_TRY(expect_same_type(a, output));
  const auto shape = PERAXIS_TRY(broadcast_shape(a.tensor->shape, b.tensor->shape));
  return expect_shape(output, shape);
}

struct Pair {
  Operand a, b, output;
};

Result<Pair> operands(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  return Pair{view.input(0, "the first input"), view.input(1, "the second input"), view.output()};
}

}  // namespace

Status verify_binary(const OpView& view) {
  const auto [a, b, output] = PERAXIS_TRY(operands(view));
  PERAXIS_TRY(view.attributes<BinaryAttributes>());
  const OpKind kind = view.op().kind;
  PERAXIS_TRY(verify_pair(a, b, output, kind == OpKind::Div ? kDivisible : kAddable));
  if (!is_quantized_type(output.tensor->type)) return {};
  for (const Operand& operand : {a, b, output}) PERAXIS_TRY(expect_quantization(operand));
  if (kind == OpKind::Add || kind == OpKind::Sub) return verify_sum_scales(a, b, output);
  return {};
}

// Stored values are compared; scales and zero points are ignored, also when they differ.
Status verify_extremum(const OpView& view) {
  const auto [a, b, output] = PERAXIS_TRY(operands(view));
  return verify_pair(a, b, output, kAddable);
}

// Stored values are divided, whatever the quantization says.
Status verify_floor(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int32, DataType::Int8, DataType::Int16};
  const Types kModTypes = {DataType::Float32, DataType::Int32, DataType::Int64, DataType::Int8,
                           DataType::Int16};
  const auto [a, b, output] = PERAXIS_TRY(operands(view));
  return verify_pair(a, b, output, view.op().kind == OpKind::FloorMod ? kModTypes : kTypes);
}

Status verify_squared_difference(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int32, DataType::Int8};
  const auto [a, b, output] = PERAXIS_TRY(operands(view));
  PERAXIS_TRY(verify_pair(a, b, output, kTypes));
  if (!is_quantized_type(output.tensor->type)) return {};
  for (const Operand& operand : {a, b, output}) PERAXIS_TRY(expect_quantization(operand));
  const double twice_larger = 2.0 * std::max(scale_of(a), scale_of(b));
  const double multiplier = twice_larger * twice_larger / ((1 << 14) * scale_of(output));
  if (multiplier < 1.0) return {};
  return fail(
      ErrorCode::InvalidModel,
      "(twice the larger input scale)^2 / (2^14 * output scale) is {:.9g}, not below 1: LiteRT aborts",
      multiplier);
}

// LiteRT refuses slopes whose shape would make the output larger than the input.
Status verify_prelu(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int8, DataType::UInt8};
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  const Operand alpha = view.input(1, "the slopes");
  const Operand output = view.output();
  PERAXIS_TRY(verify_pair(input, alpha, output, kTypes));
  PERAXIS_TRY(expect_same_shape(input, output));
  if (!is_quantized_type(output.tensor->type)) return {};
  for (const Operand& operand : {input, alpha, output}) PERAXIS_TRY(expect_quantization(operand));
  return {};
}

Status verify_concatenation(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, std::max<size_t>(view.inputs(), 1)));
  const auto attributes = PERAXIS_TRY(view.attributes<ConcatenationAttributes>());
  if (attributes.activation != Activation::None) {
    return fail(ErrorCode::InvalidModel, "the fused activation {}; LiteRT takes none here",
                activation_name(attributes.activation));
  }
  const Operand output = view.output();
  PERAXIS_TRY(expect_numbers(output, kAnyType));
  for (size_t slot = 0; slot < view.inputs(); ++slot) {
    if (!view.has_input(slot)) return fail(ErrorCode::InvalidModel, "input {} is absent", slot);
  }
  const size_t axis = static_cast<size_t>(PERAXIS_TRY(concatenation_axis(view.graph(), view.op())));
  std::vector<int32_t> expected = view.input(0).tensor->shape;
  int64_t total = 0;
  for (size_t slot = 0; slot < view.inputs(); ++slot) {
    const std::string role = fmt::format("input {}", slot);
    const Operand input = view.input(slot, role.c_str());
    PERAXIS_TRY(expect_numbers(input, kAnyType));
    PERAXIS_TRY(expect_same_type(input, output));
    const std::vector<int32_t>& shape = input.tensor->shape;
    bool fits = shape.size() == expected.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = i == axis || shape[i] == expected[i];
    if (!fits) {
      return fail(ErrorCode::InvalidModel,
                  "{} has shape {}, input 0 has {}; they may differ only in dimension {}", input.text(),
                  shape_text(shape), shape_text(view.input(0).tensor->shape), axis);
    }
    total += shape[axis];
    // uint8 inputs are requantised; the others are copied, and only int8 ones are compared.
    const bool copied = output.tensor->type == DataType::Int8;
    if (copied && (input.tensor->quant.scale[0] != output.tensor->quant.scale[0] ||
                   input.tensor->quant.zero_point[0] != output.tensor->quant.zero_point[0])) {
      return fail(ErrorCode::InvalidModel,
                  "{} has scale {:.9g} and zero point {}, {} has {:.9g} and {}; int8 needs them equal",
                  input.text(), input.tensor->quant.scale[0], input.tensor->quant.zero_point[0],
                  output.text(), output.tensor->quant.scale[0], output.tensor->quant.zero_point[0]);
    }
  }
  if (total > kMaxElements)
    return fail(ErrorCode::Unsupported, "the inputs together are too large ({})", total);
  expected[axis] = static_cast<int32_t>(total);
  return expect_shape(output, expected);
}

namespace {

// Scales of a per-tensor or per-channel tensor of LiteRT's QUANTIZE from and DEQUANTIZE to float32.
Status expect_any_quantization(const Operand& operand) {
  const QuantParams& quant = operand.tensor->quant;
  if (!quant.per_axis()) return expect_quantization(operand);
  for (const float scale : quant.scale) {
    if (!(scale > 0.0F)) {
      return fail(ErrorCode::InvalidModel, "{} has the scale {}; it must be above 0", operand.text(), scale);
    }
  }
  return {};
}

// What LiteRT requantizes into what.
bool requantizes(DataType from, DataType to) {
  switch (from) {
    case DataType::Int8:
    case DataType::UInt8:
      return is_quantized_type(to);
    case DataType::Int16:
      return to == DataType::Int8 || to == DataType::Int16 || to == DataType::Int32;
    case DataType::Int32:
      return to == DataType::Int8 || to == DataType::Int16;
    default:
      return false;
  }
}

}  // namespace

Status verify_quantize(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_same_shape(input, output));
  if (input.tensor->type == DataType::Float32) {
    PERAXIS_TRY(expect_type(output, kQuantized));
    return expect_any_quantization(output);
  }
  if (!requantizes(input.tensor->type, output.tensor->type)) {
    return fail(ErrorCode::Unsupported, "{} is {} and {} is {}; LiteRT has no such conversion", input.text(),
                data_type_name(input.tensor->type), output.text(), data_type_name(output.tensor->type));
  }
  PERAXIS_TRY(expect_quantization(input));
  return expect_quantization(output);
}

Status verify_dequantize(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_type(output, {DataType::Float32}));
  PERAXIS_TRY(expect_same_shape(input, output));
  if (input.tensor->type == DataType::Float16) return expect_constant(input);
  PERAXIS_TRY(expect_type(input, kQuantized));
  if (input.tensor->type == DataType::Int16) return expect_quantization(input);
  return expect_any_quantization(input);
}

// The importer has spread the values of a sparse constant over its shape; what is left is a copy.
Status verify_densify(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_constant(input));
  PERAXIS_TRY(expect_type(input, {DataType::Float32, DataType::Int8, DataType::Float16}));
  PERAXIS_TRY(expect_same_type(input, output));
  return expect_same_shape(input, output);
}

Status verify_cast(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  PERAXIS_TRY(expect_type(view.input(0), kAnyType));
  PERAXIS_TRY(expect_type(view.output(), kAnyType));
  return expect_same_shape(view.input(0), view.output());
}

}  // namespace peraxis::ir::rules
