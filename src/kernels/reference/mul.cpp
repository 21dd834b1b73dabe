// MUL: the product of the centred values times one multiplier. The real multiplier is computed in float32
// (double gives other mantissas now and then), then widened.
#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

template <class T>
Status quantized_mul(const Context& context, ir::Activation activation) {
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
  return arithmetic_operator(context, '*',
                             [&]<class T>(std::type_identity<T>, const ir::BinaryAttributes& attributes) {
                               return quantized_mul<T>(context, attributes.activation);
                             });
}

}  // namespace peraxis::kernels::reference
