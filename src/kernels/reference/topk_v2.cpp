// TOPK_V2: the largest values of each row, falling, and where they stood; of equal ones the first comes
// first.
#include <algorithm>
#include <numeric>

#include "kernels/elements.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status topk_v2(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const int64_t depth = context.input(0).shape.back();
  const int64_t kept = context.output().shape.back();
  return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t>(
      context, context.input(0), [&]<class T>(std::type_identity<T>) -> Status {
        const Reader<T> in(context.inputs[0]);
        const Writer<T> values(context.outputs[0]);
        const Writer<int32_t> indices(context.outputs[1]);
        std::vector<int32_t> order(static_cast<size_t>(depth));
        for (int64_t row = 0; row * depth < context.input(0).elements(); ++row) {
          std::iota(order.begin(), order.end(), 0);
          // NaN compares as equal to everything, which no sort survives: it goes last.
          std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
            const T x = in[row * depth + a];
            const T y = in[row * depth + b];
            return x > y || (x == x && y != y);
          });
          for (int64_t k = 0; k < kept; ++k) {
            const int32_t index = order[static_cast<size_t>(k)];
            values.set(row * kept + k, in[row * depth + index]);
            indices.set(row * kept + k, index);
          }
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference
