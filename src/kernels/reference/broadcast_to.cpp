// BROADCAST_TO repeats dimensions of size 1. A shape computed at run time must be the one the model states.
#include <algorithm>

#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status broadcast_to(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int32_t>& in = context.input(0).shape;
  const std::vector<int32_t>& out = context.output().shape;
  const std::vector<int64_t> wanted = integers(context, 1);
  if (!std::equal(wanted.begin(), wanted.end(), out.begin(), out.end())) {
    return fail(ErrorCode::Unsupported, "{}: the shape computed at run time is {}, the model's output is {}",
                context.label(), shape_text(wanted), shape_text(out));
  }
  const std::vector<int64_t> dense = dense_strides(in);
  Offsets view{0, std::vector<int64_t>(out.size(), 0)};
  for (size_t d = 0; d < in.size(); ++d) {
    if (in[d] != 1) view.strides[out.size() - in.size() + d] = dense[d];
  }
  copy_view(context, 0, 0, {out.begin(), out.end()}, view);
  return {};
}

}  // namespace peraxis::kernels::reference
