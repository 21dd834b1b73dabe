// NEG negates stored values, also quantized ones; the lowest value stays what it is.
#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status neg(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return with_type<float, int32_t, int64_t, int8_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        if constexpr (std::is_same_v<T, float>) {
          return map_elements<float>(context, [](float x) { return -x; });
        } else {
          using Unsigned = std::make_unsigned_t<T>;
          return map_elements<T>(context, [](T x) {
            return static_cast<T>(static_cast<Unsigned>(Unsigned{0} - static_cast<Unsigned>(x)));
          });
        }
      });
}

}  // namespace peraxis::kernels::reference
