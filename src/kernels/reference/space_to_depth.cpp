// SPACE_TO_DEPTH: blocks of rows and columns become channels, outside the old ones.
#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status space_to_depth(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const int64_t block = PERAXIS_TRY(attributes<ir::BlockAttributes>(context))->block_size;
  const ir::Nhwc in = ir::nhwc(context.input(0));
  const int64_t row = in.w * in.c;
  // Output order: n, y, x, row of the block, column of the block, channel.
  copy_view(context, 0, 0, {in.n, in.h / block, in.w / block, block, block, in.c},
            {0, {in.h * row, block * row, block * in.c, row, in.c, 1}});
  return {};
}

}  // namespace peraxis::kernels::reference
