// LOGISTIC in float32 around a correctly rounded exponential: taken from the double one, so that the table
// does not depend on the C library's expf.
#include <cmath>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status logistic(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 1));
  const Quant x = PERAXIS_TRY(activation_quant(context, context.input(0)));
  const Quant y = PERAXIS_TRY(activation_quant(context, context.output()));
  if (context.input(0).type != context.output().type) {
    return fail(ErrorCode::Unsupported, "{}: input and output types differ", context.label());
  }
  if (y.scale != 1.0F / 256.0F) {
    return fail(ErrorCode::Unsupported, "{}: output scale {}, only 1/256 is supported", context.label(),
                y.scale);
  }
  const ir::StoredRange range = ir::type_range(context.output().type);
  return apply_table(context, [&](int32_t q) {
    const float real = x.scale * static_cast<float>(q - x.zero_point);
    const auto exponential = static_cast<float>(std::exp(-static_cast<double>(real)));
    const float value = 1.0F / (1.0F + exponential);
    const float rounded = std::round(value * (1.0F / y.scale));
    return clamp_to_byte(float_to_int32(static_cast<double>(rounded)) + int64_t{y.zero_point}, range);
  });
}

}  // namespace peraxis::kernels::reference
