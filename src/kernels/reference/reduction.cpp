#include "kernels/reference/reduction.hpp"

namespace peraxis::kernels::reference {

Result<Reduction> make_reduction(const Context& context) {
  const std::vector<int32_t>& in = context.input(0).shape;
  const std::vector<int32_t> values = PERAXIS_TRY(integer_operand(context, 1));
  const std::vector<int64_t> axes =
      PERAXIS_TRY_NOTE(ir::reduce_axes(values, static_cast<int64_t>(in.size())), "in {}", context.label());
  std::vector<bool> reduced(in.size(), false);
  for (const int64_t axis : axes) reduced[static_cast<size_t>(axis)] = true;
  Reduction reduction;
  reduction.input.strides = dense_strides(in);
  reduction.shape.assign(in.begin(), in.end());
  std::vector<int32_t> kept;
  for (size_t d = 0; d < in.size(); ++d) {
    if (reduced[d]) {
      reduction.count *= in[d];
    } else {
      kept.push_back(in[d]);
    }
  }
  const std::vector<int64_t> strides = dense_strides(kept);
  for (size_t d = 0, next = 0; d < in.size(); ++d) {
    reduction.output.strides.push_back(reduced[d] ? 0 : strides[next++]);
  }
  return reduction;
}

Status reduce_extremum(const Context& context, int sign) {
  PERAXIS_TRY(check_rule(context));
  const Reduction reduction = PERAXIS_TRY(make_reduction(context));
  return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        using Limits = std::numeric_limits<T>;
        const std::vector<T> found =
            sign > 0
                ? fold<T, T>(context, reduction, Limits::lowest(), [](T a, T b) { return b > a ? b : a; })
                : fold<T, T>(context, reduction, Limits::max(), [](T a, T b) { return b < a ? b : a; });
        const Writer<T> out(context.outputs[0]);
        for (size_t i = 0; i < found.size(); ++i) out.set(static_cast<int64_t>(i), found[i]);
        return {};
      });
}

}  // namespace peraxis::kernels::reference
