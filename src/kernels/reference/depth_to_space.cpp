// DEPTH_TO_SPACE: the channels are blocks of rows and columns; the innermost part stays the channel.
#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status depth_to_space(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const int64_t block = PERAXIS_TRY(attributes<ir::BlockAttributes>(context))->block_size;
  const ir::Nhwc in = ir::nhwc(context.input(0));
  const int64_t depth = in.c / (block * block);
  // Output order: n, y, row of the block, x, column of the block, channel.
  copy_view(context, 0, 0, {in.n, in.h, block, in.w, block, depth},
            {0, {in.h * in.w * in.c, in.w * in.c, block * depth, in.c, depth, 1}});
  return {};
}

}  // namespace peraxis::kernels::reference
