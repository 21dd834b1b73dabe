// MEAN of quantized values: the division by the number of elements is folded into the multiplier, whose
// mantissa is truncated, not rounded. float32: a sum in order, then one division.
#include "kernels/reference/reduction.hpp"
#include "kernels/registry.hpp"
#include "num/elementwise.hpp"

namespace peraxis::kernels::reference {
namespace {

template <class T>
void quantized_mean(const Context& context, const Reduction& reduction) {
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const num::Multiplier multiplier = num::divided(
      num::quantize_multiplier(static_cast<double>(x.scale) / static_cast<double>(y.scale)), reduction.count);
  const auto sums = fold<T, int64_t>(context, reduction, 0, [](int64_t sum, T value) { return sum + value; });
  const ir::StoredRange range = ir::type_range(context.output().type);
  const Writer<T> out(context.outputs[0]);
  for (size_t i = 0; i < sums.size(); ++i) {
    const int32_t centred = num::wrap_int32(num::wrap_int32(sums[i]) - x.zero_point * reduction.count);
    const int32_t scaled = num::multiply_two_roundings(centred, multiplier);
    out.set(static_cast<int64_t>(i), clamp_to<T>(num::wrap_int32(int64_t{scaled} + y.zero_point), range));
  }
}

}  // namespace

Status mean(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  PERAXIS_TRY(check_rule(context));
  const Reduction reduction = PERAXIS_TRY(make_reduction(context));
  return with_type<float, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        if constexpr (std::is_same_v<T, float>) {
          const auto sums =
              fold<float, float>(context, reduction, 0.0F, [](float a, float b) { return a + b; });
          const Writer<float> out(context.outputs[0]);
          for (size_t i = 0; i < sums.size(); ++i)
            out.set(static_cast<int64_t>(i), sums[i] / static_cast<float>(reduction.count));
        } else {
          quantized_mean<T>(context, reduction);
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference
