// QUANTIZE from float32 divides in float32 and rounds half away from zero; what int32 cannot hold becomes
// -2^31, so a large positive value ends at the lowest stored one (LiteRT on x86 does that). Between integer
// types it is one multiplier with two roundings, whose real value is computed in double.
#include <cmath>

#include "kernels/reference/channels.hpp"
#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

Status quantize_float(const Context& context) {
  const ir::QuantParams& quant = context.output().quant;
  const Channels channels(context.output());
  const ir::StoredRange range = ir::type_range(context.output().type);
  const Reader<float> in(context.inputs[0]);
  return with_type<int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        const Writer<T> out(context.outputs[0]);
        for (int64_t i = 0; i < context.output().elements(); ++i) {
          const size_t channel = channels.of(i);
          const float steps = std::round(in[i] / quant.scale[channel]);
          const int32_t rounded = float_to_int32(static_cast<double>(steps));
          const int32_t shifted = num::wrap_int32(int64_t{rounded} + quant.zero_point[channel]);
          out.set(i, clamp_to<T>(shifted, range));
        }
        return {};
      });
}

}  // namespace

Status quantize(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 1));
  PERAXIS_TRY(check_rule(context));
  if (context.input(0).type == ir::DataType::Float32) return quantize_float(context);
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const num::Multiplier multiplier =
      num::quantize_multiplier(static_cast<double>(x.scale) / static_cast<double>(y.scale));
  const ir::StoredRange range = ir::type_range(context.output().type);
  const auto convert = [&](int32_t q) {
    const int32_t centred = num::wrap_int32(int64_t{q} - x.zero_point);
    return clamp_to<int32_t>(int64_t{num::multiply_two_roundings(centred, multiplier)} + y.zero_point, range);
  };
  if (is_8bit(context.input(0).type) && is_8bit(context.output().type)) {
    return apply_table(context, [&](int32_t q) { return static_cast<uint8_t>(convert(q)); });
  }
  return with_type<int8_t, uint8_t, int16_t, int32_t>(
      context, context.input(0), [&]<class From>(std::type_identity<From>) {
        return with_type<int8_t, uint8_t, int16_t, int32_t>(
            context, context.output(),
            [&]<class To>(std::type_identity<To>) { return map_elements<From, To>(context, convert); });
      });
}

}  // namespace peraxis::kernels::reference
