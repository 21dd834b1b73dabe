#include "kernels/context.hpp"

#include <cmath>

namespace peraxis::kernels {

Status check_arity(const Context& context, size_t required, size_t limit, size_t outputs) {
  const ir::Op& op = context.op();
  if (op.inputs.size() > limit || op.inputs.size() < required) {
    return fail(ErrorCode::InvalidModel, "{}: has {} inputs, expected {} to {}", context.label(),
                op.inputs.size(), required, limit);
  }
  for (size_t i = 0; i < required; ++i) {
    if (!context.has_input(i)) {
      return fail(ErrorCode::InvalidModel, "{}: input {} is missing", context.label(), i);
    }
  }
  if (op.outputs.size() != outputs) {
    return fail(ErrorCode::InvalidModel, "{}: has {} outputs, expected {}", context.label(),
                op.outputs.size(), outputs);
  }
  return {};
}

bool is_8bit(ir::DataType type) {
  return type == ir::DataType::Int8 || type == ir::DataType::UInt8;
}

Result<Quant> byte_quant(const Context& context, const ir::Tensor& tensor) {
  if (!is_8bit(tensor.type)) {
    return fail(ErrorCode::Unsupported, "{}: tensor '{}' is {}, only int8 and uint8 are supported",
                context.label(), tensor.name, ir::data_type_name(tensor.type));
  }
  return activation_quant(context, tensor);
}

Result<Quant> activation_quant(const Context& context, const ir::Tensor& tensor) {
  if (!is_8bit(tensor.type) && tensor.type != ir::DataType::Int16) {
    return fail(ErrorCode::Unsupported, "{}: tensor '{}' is {}, only int8, uint8 and int16 are supported",
                context.label(), tensor.name, ir::data_type_name(tensor.type));
  }
  if (tensor.quant.scale.size() != 1 || tensor.quant.zero_point.size() != 1) {
    return fail(ErrorCode::Unsupported, "{}: tensor '{}' has {} scales and {} zero points, expected one each",
                context.label(), tensor.name, tensor.quant.scale.size(), tensor.quant.zero_point.size());
  }
  const float scale = tensor.quant.scale[0];
  const int64_t zero_point = tensor.quant.zero_point[0];
  if (!std::isfinite(scale) || scale <= 0.0F) {
    return fail(ErrorCode::InvalidModel, "{}: the scale {} of tensor '{}' is not a positive number",
                context.label(), scale, tensor.name);
  }
  const ir::StoredRange range = ir::type_range(tensor.type);
  if (zero_point < range.low || zero_point > range.high) {
    return fail(ErrorCode::InvalidModel, "{}: the zero point {} of tensor '{}' is outside {}..{}",
                context.label(), zero_point, tensor.name, range.low, range.high);
  }
  return Quant{scale, static_cast<int32_t>(zero_point)};
}

Result<std::vector<int32_t>> integer_operand(const Context& context, size_t input) {
  const ir::Tensor& tensor = context.input(input);
  if (tensor.type != ir::DataType::Int32) {
    return fail(ErrorCode::Unsupported, "{}: operand '{}' is {}, expected int32", context.label(),
                tensor.name, ir::data_type_name(tensor.type));
  }
  const Values bytes = context.inputs[input];
  std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Result<size_t> normalized_axis(const Context& context, int64_t axis, size_t rank) {
  return static_cast<size_t>(
      PERAXIS_TRY_NOTE(ir::normalize_axis(axis, static_cast<int64_t>(rank)), "in {}", context.label()));
}

}  // namespace peraxis::kernels
