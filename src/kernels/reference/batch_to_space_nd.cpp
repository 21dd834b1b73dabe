#include "kernels/reference/batch_block.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status batch_to_space_nd(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const Pixels in = pixels_of(context.input(0));
  const Pixels out = pixels_of(context.output());
  visit_blocks(context, in, out, [&](int64_t from, int64_t to) {
    std::memcpy(context.outputs[0].data() + to * in.bytes, context.inputs[0].data() + from * in.bytes,
                static_cast<size_t>(in.bytes));
  });
  return {};
}

}  // namespace peraxis::kernels::reference
