// ADD, SUB, MUL, CONCATENATION and QUANTIZE (litert-arithmetic.md 3).
#include <algorithm>
#include <cmath>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

double scale_of(const Operand& operand) {
  return static_cast<double>(operand.tensor->quant.scale[0]);
}

// ADD and SUB bring both inputs to 20 extra bits under twice the larger scale; the step back must be a
// multiplier below 1. LiteRT aborts or shifts by a negative count otherwise.
Status verify_sum_scales(const Operand& a, const Operand& b, const Operand& output) {
  const double twice_larger = 2.0 * std::max(scale_of(a), scale_of(b));
  const double ratio = twice_larger / ((1 << 20) * scale_of(output));
  if (ratio < 1.0) return {};
  return fail(
      ErrorCode::InvalidModel,
      "{} has the scale {:.9g}, more than 2^19 times finer than the larger input scale {:.9g}: LiteRT aborts",
      output.text(), scale_of(output), twice_larger / 2.0);
}

}  // namespace

Status verify_binary(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  PERAXIS_TRY(view.attributes<BinaryAttributes>());
  const Operand a = view.input(0, "the first input");
  const Operand b = view.input(1, "the second input");
  const Operand output = view.output();
  for (const Operand& operand : {a, b, output}) {
    PERAXIS_TRY(expect_quantized(operand));
    PERAXIS_TRY(expect_rank(operand, 0, 4));
  }
  PERAXIS_TRY(expect_same_type(a, b));
  PERAXIS_TRY(expect_same_type(a, output));
  const auto shape = PERAXIS_TRY(broadcast_shape(a.tensor->shape, b.tensor->shape));
  PERAXIS_TRY(expect_shape(output, shape));
  if (view.op().kind != OpKind::Mul) return verify_sum_scales(a, b, output);
  const float product = a.tensor->quant.scale[0] * b.tensor->quant.scale[0];
  return expect_multiplier(static_cast<double>(product / output.tensor->quant.scale[0]),
                           "the product of the input scales / output scale");
}

Status verify_concatenation(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, std::max<size_t>(view.inputs(), 1)));
  const auto attributes = PERAXIS_TRY(view.attributes<ConcatenationAttributes>());
  if (attributes.activation != Activation::None) {
    return fail(ErrorCode::InvalidModel, "the fused activation {}; LiteRT takes none here",
                activation_name(attributes.activation));
  }
  const Operand output = view.output();
  PERAXIS_TRY(expect_quantized(output));
  for (size_t slot = 0; slot < view.inputs(); ++slot) {
    if (!view.has_input(slot)) return fail(ErrorCode::InvalidModel, "input {} is absent", slot);
  }
  const size_t axis = static_cast<size_t>(PERAXIS_TRY(concatenation_axis(view.graph(), view.op())));
  std::vector<int32_t> expected = view.input(0).tensor->shape;
  int64_t total = 0;
  for (size_t slot = 0; slot < view.inputs(); ++slot) {
    const std::string role = fmt::format("input {}", slot);
    const Operand input = view.input(slot, role.c_str());
    PERAXIS_TRY(expect_quantized(input));
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
    // uint8 inputs are requantised; int8 ones are copied.
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

Status verify_quantize(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_same_shape(input, output));
  PERAXIS_TRY(expect_quantized(output));
  if (input.tensor->type == DataType::Float32) return {};
  PERAXIS_TRY(expect_quantized(input));
  return expect_multiplier(scale_of(input) / scale_of(output), "input scale / output scale");
}

}  // namespace peraxis::ir::rules
