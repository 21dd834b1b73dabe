#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status slice(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int64_t> begin = integers(context, 1);
  Offsets view{0, dense_strides(context.input(0).shape)};
  for (size_t d = 0; d < begin.size(); ++d) view.base += begin[d] * view.strides[d];
  const std::vector<int32_t>& shape = context.output().shape;
  copy_view(context, 0, 0, {shape.begin(), shape.end()}, view);
  return {};
}

}  // namespace peraxis::kernels::reference
