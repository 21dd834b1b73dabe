// LOGISTIC in float32 around an exponential. The 8-bit table takes it from the double one, correctly rounded,
// so that it does not depend on the C library's expf; on float32 tensors the C library's is LiteRT's too.
#include <cmath>

#include "kernels/reference/sigmoid_table.hpp"
#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

// LiteRT's limits: above the first the result is 1 in float32, below the second the exponential itself.
float logistic_of(float x) {
  constexpr float kOneFrom = 16.619047164916992188F;
  constexpr float kExponentialTo = -9.0F;
  if (x > kOneFrom) return 1.0F;
  if (x < kExponentialTo) return std::exp(x);
  return 1.0F / (1.0F + std::exp(-x));
}

Status int16_logistic(const Context& context) {
  const auto table = sigmoid_table();
  const SigmoidScale scale = sigmoid_scale(context.input(0).quant.scale[0], false);
  return map_elements<int16_t>(context, [&](int16_t q) {
    const int32_t x = scale(q);
    const uint32_t magnitude = x < 0 ? 0U - static_cast<uint32_t>(x) : static_cast<uint32_t>(x);
    const int32_t value = interpolated_sigmoid(table, magnitude, 9, 0x7FFF * 1024);
    return (x >= 0 ? value + 512 : (1 << 25) - value + 511) >> 10;
  });
}

}  // namespace

Status logistic(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 1));
  PERAXIS_TRY(check_rule(context));
  const ir::DataType type = context.output().type;
  if (type == ir::DataType::Float32) return map_elements<float>(context, logistic_of);
  if (type == ir::DataType::Int16) return int16_logistic(context);
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const ir::StoredRange range = ir::type_range(type);
  return apply_table(context, [&](int32_t q) {
    const float real = x.scale * static_cast<float>(q - x.zero_point);
    const auto exponential = static_cast<float>(std::exp(-static_cast<double>(real)));
    const float value = 1.0F / (1.0F + exponential);
    const float rounded = std::round(value * (1.0F / y.scale));
    return clamp_to_byte(float_to_int32(static_cast<double>(rounded)) + int64_t{y.zero_point}, range);
  });
}

}  // namespace peraxis::kernels::reference
