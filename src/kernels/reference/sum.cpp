// SUM of quantized values. uint8: one multiplier on the centred sum, as in LiteRT's reference kernel. That
// kernel reads the bytes of int8 and int16 as uint8, which is no sum at all: for these two types this is
// LiteRT's built-in optimised kernel, a sum of stored values scaled and shifted in float32.
#include <cmath>

#include "kernels/reference/reduction.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

// From a sum of stored values to the output's stored value, before the clamp.
class CentredSum {
 public:
  CentredSum(Quant x, Quant y, int64_t count)
      : multiplier_(num::quantize_multiplier(static_cast<double>(x.scale) / static_cast<double>(y.scale))),
        centre_(x.zero_point * count),
        zero_point_(y.zero_point) {}
  int64_t operator()(int64_t sum) const {
    const int32_t centred = num::wrap_int32(sum - centre_);
    return num::wrap_int32(int64_t{num::multiply_two_roundings(centred, multiplier_)} + zero_point_);
  }

 private:
  num::Multiplier multiplier_;
  int64_t centre_;
  int32_t zero_point_;
};

class FloatSumOfStored {
 public:
  FloatSumOfStored(Quant x, Quant y, int64_t count) : scale_(x.scale / y.scale), zero_point_(y.zero_point) {
    const float shift = static_cast<float>(-x.zero_point) * scale_;
    bias_ = shift * static_cast<float>(count);
  }
  int64_t operator()(int64_t sum) const {
    const float scaled = static_cast<float>(num::wrap_int32(sum)) * scale_;
    const float shifted = scaled + bias_;
    return num::wrap_int32(int64_t{float_to_int32(static_cast<double>(std::round(shifted)))} + zero_point_);
  }

 private:
  float scale_;
  float bias_ = 0.0F;
  int32_t zero_point_;
};

template <class T>
void quantized_sum(const Context& context, const Reduction& reduction) {
  using ToStored = std::conditional_t<std::is_same_v<T, uint8_t>, CentredSum, FloatSumOfStored>;
  const ToStored to_stored(quant_of(context.input(0)), quant_of(context.output()), reduction.count);
  const auto sums = fold<T, int64_t>(context, reduction, 0, [](int64_t sum, T value) { return sum + value; });
  const ir::StoredRange range = ir::type_range(context.output().type);
  const Writer<T> out(context.outputs[0]);
  for (size_t i = 0; i < sums.size(); ++i)
    out.set(static_cast<int64_t>(i), clamp_to<T>(to_stored(sums[i]), range));
}

}  // namespace

Status sum(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const Reduction reduction = PERAXIS_TRY(make_reduction(context));
  return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        if constexpr (sizeof(T) <= 2) {
          quantized_sum<T>(context, reduction);
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
