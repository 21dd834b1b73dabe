// FLOOR_MOD: the remainder with the sign of the divisor, of stored values.
#include <cmath>

#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status floor_mod(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return with_type<float, int32_t, int64_t, int8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        const auto remainder = [](T a, T b) {
          if constexpr (std::is_same_v<T, float>) {
            const float r = std::fmod(a, b);
            return r != 0.0F && (b < 0.0F) != (r < 0.0F) ? r + b : r;
          } else {
            if (b == -1) return T{0};
            const auto r = static_cast<T>(a % b);
            return static_cast<T>(r != 0 && (b < 0) != (r < 0) ? r + b : r);
          }
        };
        if constexpr (std::is_same_v<T, float>) return combine<T>(context, remainder);
        return combine_checked<T>(context, "a divisor is 0", [](T, T b) { return b != T{0}; }, remainder);
      });
}

}  // namespace peraxis::kernels::reference
