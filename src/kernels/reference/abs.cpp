// ABS of quantized values rescales only when the scales differ.
#include <cmath>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {

Status abs(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  if (context.output().type == ir::DataType::Float32) {
    return map_elements<float>(context, [](float x) { return std::fabs(x); });
  }
  if (context.output().type == ir::DataType::Int32) {
    return map_elements<int32_t>(
        context, [](int32_t x) { return x < 0 ? static_cast<int32_t>(0U - static_cast<uint32_t>(x)) : x; });
  }
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const float ratio = x.scale / y.scale;
  const num::Multiplier multiplier = num::quantize_multiplier(static_cast<double>(ratio));
  const ir::StoredRange range = ir::type_range(context.output().type);
  return map_stored(context, [&](int32_t q) {
    const int32_t magnitude = q < x.zero_point ? x.zero_point - q : q - x.zero_point;
    const int32_t scaled =
        x.scale == y.scale ? magnitude : num::multiply_two_roundings(magnitude, multiplier);
    return clamp_to<int32_t>(int64_t{scaled} + y.zero_point, range);
  });
}

}  // namespace peraxis::kernels::reference
