// The vocabulary of the rules: types, quantization and shapes of one operand.
#include "ir/ops/rules.hpp"

#include <cmath>

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
  return {&graph_.tensor(index), index, role};
}

Status expect_8_bit(const Operand& operand) {
  const DataType type = operand.tensor->type;
  if (type == DataType::Int8 || type == DataType::UInt8) return {};
  if (type == DataType::Int16) {
    return fail(ErrorCode::Unsupported, "{} is int16; int16 activations are not supported in this version",
                operand.text());
  }
  if (type == DataType::Float32) {
    return fail(ErrorCode::Unsupported,
                "{} is float32; only quantized operators are supported (float and hybrid ones are not)",
                operand.text());
  }
  return fail(ErrorCode::Unsupported, "{} is {}; only int8 and uint8 are supported", operand.text(),
              data_type_name(type));
}

Status expect_quantized(const Operand& operand) {
  PERAXIS_TRY(expect_8_bit(operand));
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
  return {};
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
  const size_t rank = operand.tensor->shape.size();
  if (rank >= least && rank <= most) return {};
  return fail(rank > most ? ErrorCode::Unsupported : ErrorCode::InvalidModel,
              "{} of shape {} has rank {}; it must be {}", operand.text(), shape_text(operand.tensor->shape),
              rank, least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most));
}

Status expect_shape(const Operand& operand, std::span<const int32_t> shape) {
  if (std::equal(shape.begin(), shape.end(), operand.tensor->shape.begin(), operand.tensor->shape.end()))
    return {};
  return fail(ErrorCode::InvalidModel, "{} has shape {}; the operator gives {}", operand.text(),
              shape_text(operand.tensor->shape), shape_text(shape));
}

Status expect_same_shape(const Operand& a, const Operand& b) {
  if (a.tensor->shape == b.tensor->shape) return {};
  return fail(ErrorCode::InvalidModel, "{} has shape {}, {} has {}; they must be the same", a.text(),
              shape_text(a.tensor->shape), b.text(), shape_text(b.tensor->shape));
}

Status expect_multiplier(double multiplier, const char* formula) {
  if (std::isfinite(multiplier) && std::fabs(multiplier) < 2147483648.0) return {};
  return fail(ErrorCode::InvalidModel, "{} is {:.9g}; LiteRT's result is undefined from 2^31 on", formula,
              multiplier);
}

}  // namespace peraxis::ir::rules
