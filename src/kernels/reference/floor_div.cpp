// FLOOR_DIV divides stored values in double, whatever their quantization.
#include <algorithm>
#include <cmath>

#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status floor_div(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return with_type<float, int32_t, int8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        const auto divide = [](T a, T b) {
          const double floor = std::floor(static_cast<double>(a) / static_cast<double>(b));
          if constexpr (std::is_same_v<T, float>) return static_cast<float>(floor);
          return static_cast<T>(std::min(floor, static_cast<double>(std::numeric_limits<T>::max())));
        };
        return combine_checked<T>(context, "a divisor is 0", [](T, T b) { return b != T{0}; }, divide);
      });
}

}  // namespace peraxis::kernels::reference
