// FULLY_CONNECTED as dot products of int16 rows. The input is widened once; weight rows one at a time, and
// each is used for the whole batch.
#include "kernels/fast/widen.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::fast {
namespace {

[[gnu::always_inline]] inline uint32_t dot(const int16_t* a, const int16_t* b, int64_t count) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<uint32_t>(int32_t{a[i]} * int32_t{b[i]});
  return sum;
}

uint32_t dot_plain(const int16_t* a, const int16_t* b, int64_t count) {
  return dot(a, b, count);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] uint32_t dot_avx2(const int16_t* a, const int16_t* b, int64_t count) {
  return dot(a, b, count);
}
#endif

using Dot = uint32_t (*)(const int16_t*, const int16_t*, int64_t);

Dot best_dot() {
#if defined(__x86_64__)
  if (has_avx2()) return dot_avx2;
#endif
  return dot_plain;
}

}  // namespace

Status fully_connected(const Context& context) {
  if (!takes_bytes(context)) return reference::fully_connected(context);
  const FullyConnected fc = PERAXIS_TRY(prepare_fully_connected(context));
  std::vector<int16_t> input(static_cast<size_t>(fc.batches * fc.depth));
  widen_run(fc.input_values, fc.batches * fc.depth, fc.type, fc.input_zero, input.data());
  Rows(context.options.pool, fc.units).run([&](int64_t first, int64_t last) {
    const Dot best = best_dot();
    std::vector<int16_t> weights(static_cast<size_t>(fc.depth));
    for (int64_t unit = first; unit < last; ++unit) {
      widen_run(fc.weight_values + unit * fc.depth, fc.depth, fc.type, fc.weight_zero, weights.data());
      for (int64_t batch = 0; batch < fc.batches; ++batch) {
        const uint32_t sum = static_cast<uint32_t>(fc.bias[static_cast<size_t>(unit)]) +
                             best(input.data() + batch * fc.depth, weights.data(), fc.depth);
        fc.output_values[batch * fc.units + unit] =
            fc.store(static_cast<int32_t>(sum), static_cast<size_t>(unit));
      }
    }
  });
  return {};
}

}  // namespace peraxis::kernels::fast
