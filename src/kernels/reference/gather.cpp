// GATHER: entries of one axis by index; leading batch dimensions go along with those of the indices. An index
// outside the axis is an error.
#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status gather(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::GatherAttributes>(context));
  const ir::Tensor& picked = context.input(1);
  const size_t axis = PERAXIS_TRY(normalized_axis(context, a->axis, context.input(0).shape.size()));
  const auto batch_dims = static_cast<size_t>(
      a->batch_dims < 0 ? a->batch_dims + static_cast<int32_t>(picked.shape.size()) : a->batch_dims);
  const Around in = around(context.input(0), axis);
  int64_t batches = 1;
  for (size_t d = 0; d < batch_dims; ++d) batches *= picked.shape[d];
  const int64_t outer = in.outer / batches;
  const int64_t each = picked.elements() / batches;
  const std::vector<int64_t> indices = integers(context, 1);
  uint8_t* to = context.outputs[0].data();
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t slice = 0; slice < outer; ++slice) {
      for (int64_t i = 0; i < each; ++i) {
        const int64_t index = indices[static_cast<size_t>(batch * each + i)];
        if (index < 0 || index >= in.size) {
          return fail(ErrorCode::InvalidArgument, "{}: index {} is outside axis {} of size {}",
                      context.label(), index, axis, in.size);
        }
        std::memcpy(to, context.inputs[0].data() + ((batch * outer + slice) * in.size + index) * in.inner,
                    static_cast<size_t>(in.inner));
        to += in.inner;
      }
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference
