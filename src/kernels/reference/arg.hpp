// ARG_MAX and ARG_MIN compare stored values; of equal ones the first wins.
#pragma once

#include "kernels/elements.hpp"

namespace peraxis::kernels::reference {

inline Status arg_extremum(const Context& context, int sign) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int32_t>& shape = context.input(0).shape;
  const size_t axis = PERAXIS_TRY(normalized_axis(context, integers(context, 1)[0], shape.size()));
  int64_t outer = 1;
  int64_t inner = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
  const int64_t depth = shape[axis];
  return with_type<float, int8_t, uint8_t, int32_t>(
      context, context.input(0), [&]<class T>(std::type_identity<T>) -> Status {
        const Reader<T> in(context.inputs[0]);
        for (int64_t i = 0; i < outer * inner; ++i) {
          const int64_t first = i / inner * depth * inner + i % inner;
          int64_t best = 0;
          for (int64_t k = 1; k < depth; ++k) {
            const T value = in[first + k * inner];
            const T so_far = in[first + best * inner];
            if (sign > 0 ? value > so_far : value < so_far) best = k;
          }
          if (context.output().type == ir::DataType::Int64) {
            Writer<int64_t>(context.outputs[0]).set(i, best);
          } else {
            Writer<int32_t>(context.outputs[0]).set(i, static_cast<int32_t>(best));
          }
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference
