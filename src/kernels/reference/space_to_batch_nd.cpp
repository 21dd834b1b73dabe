#include "kernels/reference/batch_block.hpp"
#include "kernels/reference/padding.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status space_to_batch_nd(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const Pixels in = pixels_of(context.input(0));
  const Pixels out = pixels_of(context.output());
  fill_with(context, zero_of(context.output()));
  visit_blocks(context, out, in, [&](int64_t to, int64_t from) {
    std::memcpy(context.outputs[0].data() + to * in.bytes, context.inputs[0].data() + from * in.bytes,
                static_cast<size_t>(in.bytes));
  });
  return {};
}

}  // namespace peraxis::kernels::reference
