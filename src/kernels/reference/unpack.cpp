// UNPACK: the entries of one axis, which disappears.
#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status unpack(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::PackAttributes>(context));
  const size_t axis = PERAXIS_TRY(normalized_axis(context, a->axis, context.input(0).shape.size()));
  const Around in = around(context.input(0), axis);
  for (int64_t slice = 0; slice < in.outer; ++slice) {
    for (int64_t i = 0; i < in.size; ++i) {
      std::memcpy(context.outputs[static_cast<size_t>(i)].data() + slice * in.inner,
                  context.inputs[0].data() + (slice * in.size + i) * in.inner, static_cast<size_t>(in.inner));
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference
