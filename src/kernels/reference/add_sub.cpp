// ADD and SUB of quantized values bring both operands to twice the larger input scale with 20 extra fraction
// bits (15 for int16), combine, and go to the output scale: three multipliers, each applied with two
// roundings. int16 values whose three scales are powers of two are shifted instead, when the model allows it.
#include "kernels/reference/add_sub.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/reference/combine.hpp"
#include "num/elementwise.hpp"

namespace peraxis::kernels::reference {
namespace {

// log2 of a scale that is a power of two.
std::optional<int> exponent_of(float scale) {
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5F) return std::nullopt;
  return exponent - 1;
}

template <class T>
Status rescaled(const Context& context, ir::StoredRange range, int sign) {
  constexpr int kFractionBits = sizeof(T) == 2 ? num::kFractionBits16 : num::kFractionBits8;
  const Quant a = quant_of(context.input(0));
  const Quant b = quant_of(context.input(1));
  const Quant y = quant_of(context.output());
  const num::AddSub of_steps(a.scale, b.scale, y.scale, kFractionBits);
  if (!of_steps.in_range) {
    return fail(ErrorCode::Unsupported,
                "{}: the output scale {} is more than 2^{} times finer than the input scales {} and {}",
                context.label(), y.scale, kFractionBits - 1, a.scale, b.scale);
  }
  return combine<T>(context, [&](T p, T q) {
    const int32_t sum = of_steps(int32_t{p} - a.zero_point, int32_t{q} - b.zero_point, sign);
    return clamp_to<T>(int64_t{sum} + y.zero_point, range);
  });
}

Status int16_sum(const Context& context, const ir::BinaryAttributes& attributes, ir::StoredRange range,
                 int sign) {
  const auto a = exponent_of(context.input(0).quant.scale[0]);
  const auto b = exponent_of(context.input(1).quant.scale[0]);
  const auto y = exponent_of(context.output().quant.scale[0]);
  if (!attributes.pot_scale_int16 || !a || !b || !y) return rescaled<int16_t>(context, range, sign);
  const int shift_a = *y - *a;
  const int shift_b = *y - *b;
  if (std::min(shift_a, shift_b) != 0 || std::max(shift_a, shift_b) > 31) {
    return fail(
        ErrorCode::Unsupported,
        "{}: int16 scales 2^{} and 2^{} for an output of 2^{}; LiteRT takes one equal to the output's "
        "and none above it",
        context.label(), *a, *b, *y);
  }
  if (context.input(0).shape != context.input(1).shape) {
    return fail(
        ErrorCode::Unsupported,
        "{}: int16 operands of shapes {} and {} with scales that are powers of two; LiteRT aborts on that",
        context.label(), shape_text(context.input(0).shape), shape_text(context.input(1).shape));
  }
  return combine<int16_t>(context, [&](int16_t p, int16_t q) {
    const int64_t sum = num::shift_ties_away(p, shift_a) + sign * num::shift_ties_away(q, shift_b);
    return clamp_to<int16_t>(num::saturate(sum, -32768, 32767), range);
  });
}

}  // namespace

Status add_or_subtract(const Context& context, int sign) {
  return arithmetic_operator(
      context, sign > 0 ? '+' : '-',
      [&]<class T>(std::type_identity<T>, const ir::BinaryAttributes& attributes) -> Status {
        for (const ir::Tensor* tensor : {&context.input(0), &context.input(1), &context.output()})
          PERAXIS_TRY(activation_quant(context, *tensor));
        const ir::StoredRange range = ir::activation_range(context.output(), attributes.activation);
        if constexpr (sizeof(T) == 2) return int16_sum(context, attributes, range, sign);
        return rescaled<T>(context, range, sign);
      });
}

}  // namespace peraxis::kernels::reference
