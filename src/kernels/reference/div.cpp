// DIV of quantized values is a product with a reciprocal in Q0.31 whose exponents are carried to the last
// shift. That shift exceeds 31 for tiny quotients, where LiteRT's C++ has no defined result; what x86 makes
// of it is done here.
#include <bit>

#include "kernels/reference/combine.hpp"
#include "kernels/reference/fixed_point.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

int sign_bits(int32_t x) {
  const uint32_t magnitude = x < 0 ? ~static_cast<uint32_t>(x) : static_cast<uint32_t>(x);
  return std::countl_zero(magnitude) - 1;
}

template <class T>
Status quantized_div(const Context& context, ir::Activation activation) {
  const Quant a = quant_of(context.input(0));
  const Quant b = quant_of(context.input(1));
  const Quant y = quant_of(context.output());
  const float product = b.scale * y.scale;
  const float ratio = a.scale / product;
  const num::Multiplier multiplier = num::quantize_multiplier(static_cast<double>(ratio));
  const ir::StoredRange range = ir::activation_range(context.output(), activation);
  return combine_checked<T>(
      context, "a divisor is 0", [&](T, T q) { return q != b.zero_point; },
      [&](T p, T q) {
        int32_t n = p - a.zero_point;
        int32_t d = q - b.zero_point;
        if (d < 0) {
          n = -n;
          d = -d;
        }
        const int headroom = sign_bits(n);
        const int zeros = std::countl_zero(static_cast<uint32_t>(d));
        const int32_t fraction = num::wrap_int32((int64_t{d} << zeros) - (int64_t{1} << 31));
        const int32_t inverse = reciprocal_of_one_plus(fraction);
        const int32_t shifted = num::wrap_int32(int64_t{n} * (int64_t{1} << headroom));
        const int32_t scaled = high_mul(high_mul(shifted, inverse), multiplier.mantissa);
        const int shift = 31 - zeros + headroom - multiplier.exponent;
        return clamp_to<T>(num::shift_ties_away_as_x86(scaled, shift) + y.zero_point, range);
      });
}

}  // namespace

Status div(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* attributes_of_op = PERAXIS_TRY(attributes<ir::BinaryAttributes>(context));
  const ir::Activation activation = attributes_of_op->activation;
  return with_type<float, int32_t, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        if constexpr (std::is_same_v<T, float>) {
          const Bounds<float> bounds = activation_bounds<float>(activation);
          return combine<float>(context, [&](float a, float b) { return bounds(a / b); });
        } else if constexpr (sizeof(T) == 4) {
          const Bounds<T> bounds = activation_bounds<T>(activation);
          return combine_checked<T>(
              context, "a divisor is 0, or -2^31 is divided by -1",
              [](T a, T b) { return b != 0 && (b != -1 || a != INT32_MIN); },
              [&](T a, T b) { return bounds(a / b); });
        } else {
          return quantized_div<T>(context, activation);
        }
      });
}

}  // namespace peraxis::kernels::reference
