// CUMSUM: running sums along one dimension, from either end, with or without a value's own part.
#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status cumsum(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* how = PERAXIS_TRY(attributes<ir::CumSumAttributes>(context));
  const std::vector<int32_t>& shape = context.input(0).shape;
  const size_t axis = PERAXIS_TRY(normalized_axis(context, integers(context, 1)[0], shape.size()));
  const int64_t depth = shape[axis];
  const int64_t inner = dense_strides(shape)[axis];
  const int64_t rows = context.input(0).elements() / depth;
  return with_type<float, int32_t, int64_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        const Reader<T> in(context.inputs[0]);
        const Writer<T> out(context.outputs[0]);
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t first = row / inner * depth * inner + row % inner;
          T sum{0};
          for (int64_t k = 0; k < depth; ++k) {
            const int64_t at = first + (how->reverse ? depth - 1 - k : k) * inner;
            const T with = arithmetic<T>(sum, in[at], '+');
            out.set(at, how->exclusive ? sum : with);
            sum = with;
          }
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference
