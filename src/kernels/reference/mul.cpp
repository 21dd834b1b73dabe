// MUL: the product of the centred values times one multiplier. The real multiplier is computed in float32
// (double gives other mantissas now and then), then widened.
#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

template <class T>
Status quantized(const Context& context, ir::Activation activation) {
  const Quant a = PERAXIS_TRY(activation_quant(context, context.input(0)));
  const Quant b = PERAXIS_TRY(activation_quant(context, context.input(1)));
  const Quant y = PERAXIS_TRY(activation_quant(context, context.output()));
  const float product = a.scale * b.scale;
  const float ratio = product / y.scale;
  const num::Multiplier multiplier = num::quantize_multiplier(static_cast<double>(ratio));
  const ir::StoredRange range = ir::activation_range(context.output(), activation);
  return combine<T>(context, [&](T p, T q) {
    const int32_t x = num::wrap_int32(int64_t{p - a.zero_point} * (q - b.zero_point));
    return clamp_to<T>(int64_t{num::multiply_two_roundings(x, multiplier)} + y.zero_point, range);
  });
}

}  // namespace

Status mul(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  const auto* attributes_of_op = PERAXIS_TRY(attributes<ir::BinaryAttributes>(context));
  const ir::Activation activation = attributes_of_op->activation;
  const ir::DataType type = context.output().type;
  if (context.input(0).type != type || context.input(1).type != type) {
    return fail(ErrorCode::Unsupported, "{}: inputs and output must have one type", context.label());
  }
  return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        if constexpr (std::is_same_v<T, float>) {
          const Bounds<float> bounds = activation_bounds<float>(activation);
          return combine<float>(context, [&](float a, float b) { return bounds(a * b); });
        } else if constexpr (sizeof(T) >= 4) {
          const Bounds<T> bounds = activation_bounds<T>(activation);
          return combine<T>(context, [&](T a, T b) { return bounds(wrapping<T>(a, b, '*')); });
        } else {
          return quantized<T>(context, activation);
        }
      });
}

}  // namespace peraxis::kernels::reference
