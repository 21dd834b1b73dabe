// average_pool_2d: the mean of the stored values of the real pixels, half away from zero. Counted padding is
// pixels of the input's zero point. Quantization is neither compared nor used beyond that.
#include "kernels/reference/pool.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status average_pool_2d(const Context& context) {
  const Pool pool = PERAXIS_TRY(prepare_pool(context));
  return with_type<float, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        const Reader<T> in(context.inputs[0]);
        const Bounds<T> bounds = activation_bounds<T>(pool.activation);
        fill_output<T>(pool, context, [&](const OutputElement& element) {
          using Sum = std::conditional_t<std::is_same_v<T, float>, float, int64_t>;
          Sum sum{0};
          int64_t pixels = visit_window(pool, in, element, [&](T q) { sum = static_cast<Sum>(sum + q); });
          if (pool.counts_padding) {
            const int64_t window = pool.filter_h * pool.filter_w;
            if constexpr (std::is_integral_v<T>) sum += pool.input_zero * (window - pixels);
            pixels = window;
          }
          if constexpr (std::is_same_v<T, float>) {
            return bounds(pixels == 0 ? 0.0F : sum / static_cast<float>(pixels));
          } else {
            if (pixels == 0) return clamp_to<T>(0, pool.range);
            return clamp_to<T>((sum > 0 ? sum + pixels / 2 : sum - pixels / 2) / pixels, pool.range);
          }
        });
        return {};
      });
}

}  // namespace peraxis::kernels::reference
