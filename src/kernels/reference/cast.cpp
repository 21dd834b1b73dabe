// CAST of stored values. Float values are truncated towards zero: 8-bit types saturate, wider ones do what
// x86 does with a number outside the type. Bool is 0 or 1.
#include <cmath>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

struct Boolean {  // one byte; 0 is false
  uint8_t byte = 0;
};

template <class To>
To from_float(float x) {
  if constexpr (sizeof(To) == 8) {
    const bool fits = x >= -9223372036854775808.0F && x < 9223372036854775808.0F;
    return fits ? static_cast<To>(x) : INT64_MIN;
  } else {
    const double whole = std::trunc(static_cast<double>(x));
    if constexpr (sizeof(To) == 1) {
      if (std::isnan(x)) return To{0};
      return static_cast<To>(std::fmin(std::fmax(whole, static_cast<double>(std::numeric_limits<To>::min())),
                                       static_cast<double>(std::numeric_limits<To>::max())));
    }
    return static_cast<To>(float_to_int32(whole));
  }
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<From, Boolean>) {
    return convert<To>(static_cast<uint8_t>(x.byte != 0 ? 1 : 0));
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return Boolean{static_cast<uint8_t>(x != From{0} ? 1 : 0)};
  } else if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) {
    return from_float<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace

Status cast(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t, Boolean>(
      context, context.input(0), [&]<class From>(std::type_identity<From>) {
        return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t, Boolean>(
            context, context.output(), [&]<class To>(std::type_identity<To>) {
              return map_elements<From, To>(context, [](From x) { return convert<To>(x); });
            });
      });
}

}  // namespace peraxis::kernels::reference
