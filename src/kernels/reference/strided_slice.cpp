// STRIDED_SLICE copies the view that ir::resolve_strided_slice describes.
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status strided_slice(const Context& context) {
  PERAXIS_TRY(check_arity(context, 4, 4));
  const auto* a = PERAXIS_TRY(attributes<ir::StridedSliceAttributes>(context));
  const ir::Tensor& in = context.input(0);
  const std::vector<int32_t> begin = PERAXIS_TRY(integer_operand(context, 1));
  const std::vector<int32_t> end = PERAXIS_TRY(integer_operand(context, 2));
  const std::vector<int32_t> stride = PERAXIS_TRY(integer_operand(context, 3));
  const ir::ResolvedSlice slice =
      PERAXIS_TRY_NOTE(ir::resolve_strided_slice(in.shape, begin, end, stride, *a), "in {}", context.label());
  if (context.output().shape != slice.output_shape || context.output().type != in.type) {
    return fail(ErrorCode::InvalidModel, "{}: the slice of {} is {}, the output is {}", context.label(),
                shape_text(in.shape), shape_text(slice.output_shape), shape_text(context.output().shape));
  }
  const std::vector<int64_t> strides = dense_strides(in.shape);
  std::vector<int64_t> shape;
  Offsets view;
  for (size_t d = 0; d < slice.axes.size(); ++d) {
    shape.push_back(slice.axes[d].size);
    view.base += slice.axes[d].begin * strides[d];
    view.strides.push_back(slice.axes[d].stride * strides[d]);
  }
  copy_view(context, 0, 0, shape, view);
  return {};
}

}  // namespace peraxis::kernels::reference
