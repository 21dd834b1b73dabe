// The vocabulary of the rules: types, quantization and shapes of one operand.
#include "ir/ops/rules.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace peraxis::ir::rules {

std::string Operand::text() const {
  return fmt::format("{} (tensor {} '{}')", role, index, tensor == nullptr ? "" : tensor->name);
}

Status OpView::expect_counts(size_t least, size_t most, size_t outputs) const {
  if (op_.inputs.size() < least || op_.inputs.size() > most) {
    return fail(ErrorCode::InvalidModel, "{} inputs; it takes {}", op_.inputs.size(),
                least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most));
  }
  for (size_t slot = 0; slot < least; ++slot) {
    if (op_.inputs[slot] == kAbsent) return fail(ErrorCode::InvalidModel, "input {} is absent", slot);
  }
  if (op_.outputs.size() != outputs) {
    return fail(ErrorCode::InvalidModel, "{} outputs; it has {}", op_.outputs.size(), outputs);
  }
  return {};
}

Operand OpView::input(size_t slot, const char* role) const {
  const int32_t index = op_.inputs[slot];
  return {&graph_.tensor(index), index, role};
}

Operand OpView::output(size_t slot, const char* role) const {
  const int32_t index = op_.outputs[slot];
  return {&graph_.tensor(index), index, role, slot < open_.size() ? &open_[slot] : nullptr};
}

bool is_quantized_type(DataType type) {
  return type == DataType::Int8 || type == DataType::UInt8 || type == DataType::Int16;
}

Status expect_type(const Operand& operand, Types types) {
  std::string names;
  for (const DataType type : types) {
    if (operand.tensor->type == type) return {};
    names += fmt::format("{}{}", names.empty() ? "" : ", ", data_type_name(type));
  }
  return fail(ErrorCode::Unsupported, "{} is {}; supported here: {}", operand.text(),
              data_type_name(operand.tensor->type), names);
}

Status expect_quantization(const Operand& operand) {
  const QuantParams& quant = operand.tensor->quant;
  if (!quant.quantized()) return fail(ErrorCode::InvalidModel, "{} has no scale", operand.text());
  if (quant.per_axis()) {
    return fail(ErrorCode::Unsupported, "{} has {} scales; per-axis quantization is for weights only",
                operand.text(), quant.scale.size());
  }
  if (!(quant.scale[0] > 0.0F)) {
    return fail(ErrorCode::InvalidModel, "{} has the scale {}; it must be above 0", operand.text(),
                quant.scale[0]);
  }
  if (operand.tensor->type == DataType::Int16 && quant.zero_point[0] != 0) {
    return fail(ErrorCode::InvalidModel, "{} has the zero point {}; int16 takes 0", operand.text(),
                quant.zero_point[0]);
  }
  return {};
}

Status expect_numbers(const Operand& operand, Types types) {
  PERAXIS_TRY(expect_type(operand, types));
  return is_quantized_type(operand.tensor->type) ? expect_quantization(operand) : Status{};
}

Status expect_constant(const Operand& operand) {
  if (operand.tensor->is_constant) return {};
  return fail(ErrorCode::Unsupported, "{} is computed at run time; only a constant is supported",
              operand.text());
}

Status expect_same_type(const Operand& a, const Operand& b) {
  if (a.tensor->type == b.tensor->type) return {};
  return fail(ErrorCode::InvalidModel, "{} is {}, {} is {}; they must be the same", a.text(),
              data_type_name(a.tensor->type), b.text(), data_type_name(b.tensor->type));
}

Status expect_rank(const Operand& operand, size_t least, size_t most) {
  if (operand.shape_pending()) {
    operand.open->least_rank = std::max(operand.open->least_rank, least);
    operand.open->most_rank = std::min(operand.open->most_rank, most);
    return {};
  }
  const size_t rank = operand.tensor->shape.size();
  if (rank >= least && rank <= most) return {};
  return fail(rank > most ? ErrorCode::Unsupported : ErrorCode::InvalidModel,
              "{} of shape {} has rank {}; it must be {}", operand.text(), shape_text(operand.tensor->shape),
              rank, least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most));
}

namespace {

Status state_shape(const Operand& operand, std::span<const int32_t> shape) {
  PERAXIS_TRY_NOTE(check_shape(shape), "in the shape of {}", operand.text());
  Tensor& tensor = *operand.open->tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.open_shape = false;
  return expect_rank(operand, operand.open->least_rank, operand.open->most_rank);
}

}  // namespace

Status expect_stated_shape(const Operand& output) {
  if (!output.shape_pending()) return {};
  return fail(ErrorCode::Unsupported,
              "{} has no declared shape, and the operator's depends on values known at run time; convert the "
              "model with fixed shapes",
              output.text());
}

Status expect_shape(const Operand& operand, std::span<const int32_t> shape) {
  if (operand.shape_pending()) return state_shape(operand, shape);
  if (std::equal(shape.begin(), shape.end(), operand.tensor->shape.begin(), operand.tensor->shape.end()))
    return {};
  return fail(ErrorCode::InvalidModel, "{} has shape {}; the operator gives {}", operand.text(),
              shape_text(operand.tensor->shape), shape_text(shape));
}

Status expect_same_shape(const Operand& a, const Operand& b) {
  if (a.shape_pending()) return state_shape(a, b.tensor->shape);
  if (b.shape_pending()) return state_shape(b, a.tensor->shape);
  if (a.tensor->shape == b.tensor->shape) return {};
  return fail(ErrorCode::InvalidModel, "{} has shape {}, {} has {}; they must be the same", a.text(),
              shape_text(a.tensor->shape), b.text(), shape_text(b.tensor->shape));
}

Status verify_same(const Operand& input, const Operand& output, Types types) {
  PERAXIS_TRY(expect_numbers(input, types));
  PERAXIS_TRY(expect_numbers(output, types));
  PERAXIS_TRY(expect_same_type(input, output));
  return expect_same_shape(input, output);
}

Status verify_alike(const OpView& view, Types types) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  return verify_same(view.input(0), view.output(), types);
}

Status expect_multiplier(double multiplier, const char* formula) {
  if (std::isfinite(multiplier) && std::fabs(multiplier) < 2147483648.0) return {};
  return fail(
      ErrorCode::InvalidModel,
      "{} is {:.9g}; LiteRT's result is undefined from 2^31 on (it shifts an int32 by as many places or "
      "more): a scale is dead or broken; quantize again with data that reach this tensor",
      formula, multiplier);
}

Status expect_int16_multiplier(double multiplier, const char* formula) {
  if (multiplier < 128.0) return {};
  return fail(ErrorCode::Unsupported, "{} is {:.9g}; the int16 kernels take less than 128", formula,
              multiplier);
}

Status expect_pads(const Pads& pads, bool may_miss) {
  if (pads.rule != Pads::Rule::Stated)
    return fail(ErrorCode::InvalidModel,
                "its padding is a rule ({}) whose shapes are not stated, or more than {} of a side",
                pad_rule_name(pads.rule), kMostPadding);
  const int32_t least = may_miss ? -kMostPadding : 0;
  for (const auto& [name, amount, low] : {std::tuple("above", pads.top, 0),
                                          {"below", pads.bottom, least},
                                          {"left", pads.left, 0},
                                          {"right", pads.right, least}}) {
    if (amount >= low && amount <= kMostPadding) continue;
    return fail(ErrorCode::InvalidModel, "padding of {} {}; it must be {}..{}", amount, name, low,
                kMostPadding);
  }
  return {};
}

}  // namespace peraxis::ir::rules
