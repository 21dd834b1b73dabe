// MAX_POOL_2D: the largest stored value of the real pixels.
#include "kernels/reference/pool.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status max_pool_2d(const Context& context) {
  const Pool pool = PERAXIS_TRY(prepare_pool(context));
  const uint8_t* in = context.inputs[0].data();
  const int32_t lowest = ir::type_range(pool.type).low;
  fill_output(pool, context.outputs[0].data(), [&](int64_t n, int64_t y, int64_t x, int64_t c) {
    int32_t largest = lowest;
    visit_window(pool, in, n, y, x, c, [&](int32_t q) { largest = std::max(largest, q); });
    return clamp_to_byte(largest, pool.range);
  });
  return {};
}

}  // namespace peraxis::kernels::reference
