// LEAKY_RELU: one multiplier for values at or above the zero point, another for those below; both real
// multipliers are float32. A negative alpha multiplies by its magnitude and negates afterwards.
#include <cmath>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {

Status leaky_relu(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 1));
  const auto* attributes_of_op = PERAXIS_TRY(attributes<ir::LeakyReluAttributes>(context));
  PERAXIS_TRY(check_rule(context));
  const float alpha = attributes_of_op->alpha;
  if (context.output().type == ir::DataType::Float32) {
    return map_elements<float>(context, [&](float x) { return x > 0.0F ? x : x * alpha; });
  }
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const float above_ratio = x.scale / y.scale;
  const float scaled_alpha = x.scale * std::fabs(alpha);
  const float below_ratio = scaled_alpha / y.scale;
  const num::Multiplier above = num::quantize_multiplier(static_cast<double>(above_ratio));
  const num::Multiplier below = num::quantize_multiplier(static_cast<double>(below_ratio));
  const ir::StoredRange range = ir::type_range(context.output().type);
  return map_stored(context, [&](int32_t q) {
    const int32_t v = q - x.zero_point;
    int64_t result = num::multiply_two_roundings(v, v >= 0 ? above : below);
    if (v < 0 && alpha < 0.0F) result = -result;
    return clamp_to<int32_t>(result + y.zero_point, range);
  });
}

}  // namespace peraxis::kernels::reference
