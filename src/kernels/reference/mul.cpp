// MUL: the product of the centred values times one multiplier. The real multiplier is computed in float32
// (double gives other mantissas now and then), then widened.
#include "kernels/reference/broadcast.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {

Status mul(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  const auto* attributes_of_op = PERAXIS_TRY(attributes<ir::BinaryAttributes>(context));
  const Broadcast shapes = PERAXIS_TRY(broadcast(context));
  const Quant a = PERAXIS_TRY(activation_quant(context, context.input(0)));
  const Quant b = PERAXIS_TRY(activation_quant(context, context.input(1)));
  const Quant y = PERAXIS_TRY(activation_quant(context, context.output()));
  const ir::DataType type = context.output().type;
  if (context.input(0).type != type || context.input(1).type != type) {
    return fail(ErrorCode::Unsupported, "{}: inputs and output must have one type", context.label());
  }
  const float product = a.scale * b.scale;
  const float ratio = product / y.scale;
  const num::Multiplier multiplier = num::quantize_multiplier(static_cast<double>(ratio));
  const ir::StoredRange range = ir::activation_range(context.output(), attributes_of_op->activation);
  const uint8_t* values_a = context.inputs[0].data();
  const uint8_t* values_b = context.inputs[1].data();
  uint8_t* out = context.outputs[0].data();
  walk(shapes.shape, shapes.first, shapes.second, [&](int64_t i, int64_t j) {
    const int32_t x = (stored(values_a[i], type) - a.zero_point) * (stored(values_b[j], type) - b.zero_point);
    *out++ = clamp_to_byte(int64_t{num::multiply_two_roundings(x, multiplier)} + y.zero_point, range);
  });
  return {};
}

}  // namespace peraxis::kernels::reference
