// PACK: the inputs side by side along a new axis.
#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status pack(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::PackAttributes>(context));
  const size_t axis = PERAXIS_TRY(normalized_axis(context, a->axis, context.output().shape.size()));
  const Around out = around(context.output(), axis);
  for (int64_t slice = 0; slice < out.outer; ++slice) {
    for (int64_t i = 0; i < out.size; ++i) {
      std::memcpy(context.outputs[0].data() + (slice * out.size + i) * out.inner,
                  context.inputs[static_cast<size_t>(i)].data() + slice * out.inner,
                  static_cast<size_t>(out.inner));
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference
