// SUM of quantized values: one multiplier on the centred sum. LiteRT's reference kernel reads int8 and int16
// bytes as uint8; what its optimised one computes is done here.
#include "kernels/reference/reduction.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

template <class T>
void quantized(const Context& context, const Reduction& reduction) {
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const num::Multiplier multiplier =
      num::quantize_multiplier(static_cast<double>(x.scale) / static_cast<double>(y.scale));
  const auto sums = fold<T, int64_t>(context, reduction, 0, [](int64_t sum, T value) { return sum + value; });
  const ir::StoredRange range = ir::type_range(context.output().type);
  const Writer<T> out(context.outputs[0]);
  for (size_t i = 0; i < sums.size(); ++i) {
    const int32_t centred = num::wrap_int32(sums[i] - x.zero_point * reduction.count);
    const int32_t scaled = num::multiply_two_roundings(centred, multiplier);
    out.set(static_cast<int64_t>(i), clamp_to<T>(num::wrap_int32(int64_t{scaled} + y.zero_point), range));
  }
}

}  // namespace

Status sum(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const Reduction reduction = PERAXIS_TRY(make_reduction(context));
  return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        if constexpr (sizeof(T) <= 2) {
          quantized<T>(context, reduction);
        } else {
          const auto sums = fold<T, T>(context, reduction, T{0}, [](T a, T b) {
            if constexpr (std::is_same_v<T, float>) return a + b;
            using Unsigned = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, float>, int32_t, T>>;
            return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
          });
          const Writer<T> out(context.outputs[0]);
          for (size_t i = 0; i < sums.size(); ++i) out.set(static_cast<int64_t>(i), sums[i]);
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference
