// ADD and SUB bring both operands to twice the larger input scale with 20 extra fraction bits, combine,
// and go to the output scale: three multipliers, each applied with two roundings.
#include "kernels/reference/add_sub.hpp"

#include <algorithm>

#include "kernels/reference/broadcast.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {

Status add_or_subtract(const Context& context, int sign) {
  constexpr int kFractionBits = 20;
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
  const double twice_larger = 2 * static_cast<double>(std::max(a.scale, b.scale));
  const num::Multiplier of_a = num::quantize_multiplier(static_cast<double>(a.scale) / twice_larger);
  const num::Multiplier of_b = num::quantize_multiplier(static_cast<double>(b.scale) / twice_larger);
  const double output_ratio = twice_larger / ((1 << kFractionBits) * static_cast<double>(y.scale));
  const num::Multiplier of_output = num::quantize_multiplier(output_ratio);
  if (output_ratio >= 1.0 || of_output.exponent > 0) {
    return fail(ErrorCode::Unsupported,
                "{}: the output scale {} is more than 2^19 times finer than the input scales {} and {}",
                context.label(), y.scale, a.scale, b.scale);
  }
  const ir::StoredRange range = ir::activation_range(context.output(), attributes_of_op->activation);
  const uint8_t* values_a = context.inputs[0].data();
  const uint8_t* values_b = context.inputs[1].data();
  uint8_t* out = context.outputs[0].data();
  walk(shapes.shape, shapes.first, shapes.second, [&](int64_t i, int64_t j) {
    const int32_t qa = (stored(values_a[i], type) - a.zero_point) * (1 << kFractionBits);
    const int32_t qb = (stored(values_b[j], type) - b.zero_point) * (1 << kFractionBits);
    const int32_t sum = num::multiply_two_roundings(qa, of_a) + sign * num::multiply_two_roundings(qb, of_b);
    *out++ = clamp_to_byte(int64_t{num::multiply_two_roundings(sum, of_output)} + y.zero_point, range);
  });
  return {};
}

}  // namespace peraxis::kernels::reference
