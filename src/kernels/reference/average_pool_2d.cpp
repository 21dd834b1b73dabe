// AVERAGE_POOL_2D: the mean of the stored values of the real pixels, half away from zero. Quantization of
// input and output is neither compared nor used.
#include "kernels/reference/pool.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status average_pool_2d(const Context& context) {
  const Pool pool = PERAXIS_TRY(prepare_pool(context));
  const uint8_t* in = context.inputs[0].data();
  fill_output(pool, context.outputs[0].data(), [&](int64_t n, int64_t y, int64_t x, int64_t c) {
    int64_t sum = 0;
    const int64_t pixels = visit_window(pool, in, n, y, x, c, [&](int32_t q) { sum += q; });
    if (pixels == 0) return clamp_to_byte(0, pool.range);
    const int64_t rounded = (sum > 0 ? sum + pixels / 2 : sum - pixels / 2) / pixels;
    return clamp_to_byte(rounded, pool.range);
  });
  return {};
}

}  // namespace peraxis::kernels::reference
