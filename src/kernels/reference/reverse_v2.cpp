// REVERSE_V2 reads neighbouring dimensions from their ends.
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status reverse_v2(const Context& context) {
  PERAXIS_TRY(ir::verify_op(context.graph, context.op_index));
  const std::vector<int64_t> axes = PERAXIS_TRY(ir::reverse_axes(context.graph, context.op()));
  const std::vector<int32_t>& shape = context.input(0).shape;
  Offsets view{0, dense_strides(shape)};
  for (const int64_t axis : axes) {
    int64_t& stride = view.strides[static_cast<size_t>(axis)];
    view.base += stride * (shape[static_cast<size_t>(axis)] - 1);
    stride = -stride;
  }
  copy_view(context, 0, 0, {shape.begin(), shape.end()}, view);
  return {};
}

}  // namespace peraxis::kernels::reference
