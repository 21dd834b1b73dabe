// SQUARED_DIFFERENCE of int8 brings both operands to twice the larger scale with 7 extra bits, subtracts,
// squares and goes to the output scale.
#include <algorithm>

#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

Status quantized_squared_difference(const Context& context) {
  constexpr int kFractionBits = 7;
  const Quant a = quant_of(context.input(0));
  const Quant b = quant_of(context.input(1));
  const Quant y = quant_of(context.output());
  const double twice_larger = 2 * static_cast<double>(std::max(a.scale, b.scale));
  const num::Multiplier of_a = num::quantize_multiplier(static_cast<double>(a.scale) / twice_larger);
  const num::Multiplier of_b = num::quantize_multiplier(static_cast<double>(b.scale) / twice_larger);
  const num::Multiplier of_output = num::quantize_multiplier(
      twice_larger * twice_larger / ((1 << (2 * kFractionBits)) * static_cast<double>(y.scale)));
  const ir::StoredRange range = ir::type_range(context.output().type);
  return combine<int8_t>(context, [&](int8_t p, int8_t q) {
    const int32_t qa = (p - a.zero_point) * (1 << kFractionBits);
    const int32_t qb = (q - b.zero_point) * (1 << kFractionBits);
    const int32_t difference = num::multiply_two_roundings(qa, of_a) - num::multiply_two_roundings(qb, of_b);
    const int32_t scaled = num::multiply_two_roundings(difference * difference, of_output);
    return clamp_to<int8_t>(int64_t{scaled} + y.zero_point, range);
  });
}

}  // namespace

Status squared_difference(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return with_type<float, int32_t, int8_t>(context, context.output(),
                                           [&]<class T>(std::type_identity<T>) -> Status {
                                             if constexpr (std::is_same_v<T, int8_t>)
                                               return quantized_squared_difference(context);
                                             return combine<T>(context, [](T a, T b) {
                                               if constexpr (std::is_same_v<T, float>) {
                                                 const float difference = a - b;
                                                 return difference * difference;
                                               } else {
                                                 const T difference = arithmetic<T>(a, b, '-');
                                                 return arithmetic<T>(difference, difference, '*');
                                               }
                                             });
                                           });
}

}  // namespace peraxis::kernels::reference
