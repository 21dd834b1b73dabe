// RSQRT of int8: an inverse square root of the centred value in fixed point, then one multiplier. int16 is a
// table. The zero point gives the largest value; a negative input is refused, as LiteRT does.
#include "kernels/reference/fixed_point.hpp"
#include "kernels/reference/float_table.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

template <class T>
bool has_negative(const Context& context, int32_t zero_point) {
  const Reader<T> in(context.inputs[0]);
  for (int64_t i = 0; i < context.input(0).elements(); ++i) {
    if (in[i] < zero_point) return true;
  }
  return false;
}

Status int8_rsqrt(const Context& context) {
  constexpr int kFractionBits = 20;
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const float root = std::sqrt(x.scale) * y.scale;
  const num::Multiplier outer = num::quantize_multiplier(1.0 / static_cast<double>(root));
  const ir::StoredRange range = ir::type_range(context.output().type);
  return apply_table(context, [&](int32_t q) {
    const int32_t v = q - x.zero_point;
    if (v <= 0) return static_cast<uint8_t>(range.high);
    const num::Multiplier inverse = inverse_square_root(v);
    const int32_t wide = num::multiply_two_roundings(1, {inverse.mantissa, inverse.exponent + kFractionBits});
    const int32_t scaled =
        num::multiply_two_roundings(wide, {outer.mantissa, outer.exponent - kFractionBits});
    return clamp_to_byte(int64_t{scaled} + y.zero_point, range);
  });
}

}  // namespace

Status rsqrt(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto function = [](float x) { return 1.0F / std::sqrt(x); };
  if (context.output().type == ir::DataType::Float32) return map_elements<float>(context, function);
  const bool narrow = context.output().type == ir::DataType::Int8;
  const Quant x = quant_of(context.input(0));
  if (narrow ? has_negative<int8_t>(context, x.zero_point) : has_negative<int16_t>(context, x.zero_point)) {
    return fail(ErrorCode::InvalidArgument, "{}: an input is negative", context.label());
  }
  if (narrow) return int8_rsqrt(context);
  const float largest = 32767.0F * quant_of(context.output()).scale;
  return tabulate(context, [&](float value) { return value <= 0.0F ? largest : function(value); });
}

}  // namespace peraxis::kernels::reference
