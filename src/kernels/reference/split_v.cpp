// SPLIT_V: parts of stated sizes along one axis, input 2.
#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status split_v(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const size_t axis =
      PERAXIS_TRY(normalized_axis(context, integers(context, 2)[0], context.input(0).shape.size()));
  const Around in = around(context.input(0), axis);
  int64_t first = 0;
  for (size_t i = 0; i < context.op().outputs.size(); ++i) {
    const int64_t part = context.output(i).shape[axis];
    const int64_t row = part * in.inner;
    for (int64_t slice = 0; slice < in.outer; ++slice) {
      std::memcpy(context.outputs[i].data() + slice * row,
                  context.inputs[0].data() + (slice * in.size + first) * in.inner, static_cast<size_t>(row));
    }
    first += part;
  }
  return {};
}

}  // namespace peraxis::kernels::reference
