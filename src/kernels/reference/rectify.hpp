// RELU and its bounded relatives as operators of their own: one multiplier, and the range of the activation
// in the output's steps.
#pragma once

#include "kernels/reference/unary.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {

inline Status rectify(const Context& context, ir::Activation activation) {
  PERAXIS_TRY(check_rule(context));
  if (context.output().type == ir::DataType::Float32) {
    Bounds<float> bounds = activation_bounds<float>(activation);
    if (activation == ir::Activation::Relu) bounds.high = std::numeric_limits<float>::infinity();
    return map_elements<float>(context, bounds);
  }
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const float ratio = x.scale / y.scale;
  const num::Multiplier multiplier = num::quantize_multiplier(static_cast<double>(ratio));
  const ir::StoredRange range = ir::activation_range(context.output(), activation);
  return map_stored(context, [&](int32_t q) {
    const int32_t scaled = num::multiply_two_roundings(q - x.zero_point, multiplier);
    return clamp_to<int32_t>(int64_t{scaled} + y.zero_point, range);
  });
}

}  // namespace peraxis::kernels::reference
