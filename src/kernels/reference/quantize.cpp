// QUANTIZE from float32 divides in float32 and rounds half away from zero; what int32 cannot hold becomes
// -2^31, so a large positive value ends at the lowest stored one (LiteRT on x86 does that). Between 8-bit
// types it is one multiplier with two roundings, whose real value is computed in double.
#include <cmath>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

Status check_float_output(const Context& context) {
  const ir::Tensor& out = context.output();
  const size_t scales = out.quant.scale.size();
  if (!is_8bit(out.type) || scales == 0 || out.quant.zero_point.size() != scales) {
    return fail(ErrorCode::Unsupported,
                "{}: output '{}' must be int8 or uint8 with a zero point for each scale", context.label(),
                out.name);
  }
  const int32_t dimension = out.quant.quantized_dimension;
  const bool placed = dimension >= 0 && static_cast<size_t>(dimension) < out.shape.size();
  if (scales > 1 && (!placed || static_cast<size_t>(out.shape[static_cast<size_t>(dimension)]) != scales)) {
    return fail(ErrorCode::InvalidModel, "{}: output '{}' has {} scales along dimension {} of shape {}",
                context.label(), out.name, scales, dimension, shape_text(out.shape));
  }
  return {};
}

Status quantize_float(const Context& context) {
  PERAXIS_TRY(check_float_output(context));
  const ir::Tensor& out = context.output();
  const std::vector<float>& scales = out.quant.scale;
  size_t inner = 1;  // elements that share one scale in a row
  if (scales.size() > 1) {
    for (size_t d = static_cast<size_t>(out.quant.quantized_dimension) + 1; d < out.shape.size(); ++d) {
      inner *= static_cast<size_t>(out.shape[d]);
    }
  }
  const ir::StoredRange range = ir::type_range(out.type);
  const std::span<uint8_t> bytes = context.outputs[0];
  for (size_t i = 0; i < bytes.size(); ++i) {
    float value = 0.0F;
    std::memcpy(&value, context.inputs[0].data() + i * sizeof(value), sizeof(value));
    const size_t channel = scales.size() > 1 ? i / inner % scales.size() : 0;
    const int32_t rounded = float_to_int32(static_cast<double>(std::round(value / scales[channel])));
    const int32_t shifted = num::wrap_int32(int64_t{rounded} + out.quant.zero_point[channel]);
    bytes[i] = clamp_to_byte(shifted, range);
  }
  return {};
}

}  // namespace

Status quantize(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 1));
  if (context.input(0).shape != context.output().shape) {
    return fail(ErrorCode::InvalidModel, "{}: input shape {} and output shape {} differ", context.label(),
                shape_text(context.input(0).shape), shape_text(context.output().shape));
  }
  if (context.input(0).type == ir::DataType::Float32) return quantize_float(context);
  const Quant x = PERAXIS_TRY(activation_quant(context, context.input(0)));
  const Quant y = PERAXIS_TRY(activation_quant(context, context.output()));
  const num::Multiplier multiplier =
      num::quantize_multiplier(static_cast<double>(x.scale) / static_cast<double>(y.scale));
  const ir::StoredRange range = ir::type_range(context.output().type);
  return apply_table(context, [&](int32_t q) {
    return clamp_to_byte(int64_t{num::multiply_two_roundings(q - x.zero_point, multiplier)} + y.zero_point,
                         range);
  });
}

}  // namespace peraxis::kernels::reference
