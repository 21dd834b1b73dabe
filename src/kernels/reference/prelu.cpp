// PRELU: one multiplier for values at or above the zero point, another for the product with the slope below.
#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

template <class T>
Status quantized_prelu(const Context& context) {
  const Quant x = quant_of(context.input(0));
  const Quant slope = quant_of(context.input(1));
  const Quant y = quant_of(context.output());
  const float above_ratio = x.scale / y.scale;
  const float product = x.scale * slope.scale;
  const float below_ratio = product / y.scale;
  const num::Multiplier above = num::quantize_multiplier(static_cast<double>(above_ratio));
  const num::Multiplier below = num::quantize_multiplier(static_cast<double>(below_ratio));
  const ir::StoredRange range = ir::type_range(context.output().type);
  return combine<T>(context, [&](T q, T alpha) {
    const int32_t v = q - x.zero_point;
    const int32_t scaled = v >= 0 ? num::multiply_two_roundings(v, above)
                                  : num::multiply_two_roundings(v * (alpha - slope.zero_point), below);
    return clamp_to<T>(int64_t{scaled} + y.zero_point, range);
  });
}

}  // namespace

Status prelu(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return with_type<float, int8_t, uint8_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        if constexpr (!std::is_same_v<T, float>) return quantized_prelu<T>(context);
        return combine<T>(context, [](T x, T slope) { return x >= T{0} ? x : x * slope; });
      });
}

}  // namespace peraxis::kernels::reference
