// MAX_POOL_2D: the largest stored value of the real pixels.
#include "kernels/reference/pool.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status max_pool_2d(const Context& context) {
  const Pool pool = PERAXIS_TRY(prepare_pool(context));
  return with_type<float, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        const Reader<T> in(context.inputs[0]);
        const Bounds<T> bounds = activation_bounds<T>(pool.activation);
        fill_output<T>(pool, context, [&](const OutputElement& element) {
          T largest = std::numeric_limits<T>::lowest();
          visit_window(pool, in, element, [&](T q) { largest = q > largest ? q : largest; });
          if constexpr (std::is_same_v<T, float>) return bounds(largest);
          return clamp_to<T>(static_cast<int64_t>(largest), pool.range);
        });
        return {};
      });
}

}  // namespace peraxis::kernels::reference
