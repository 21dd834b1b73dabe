// FILL: one value everywhere. A shape computed at run time must be the one the model states.
#include <algorithm>

#include "kernels/reference/padding.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status fill(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int32_t>& out = context.output().shape;
  const std::vector<int64_t> wanted = integers(context, 0);
  if (!std::equal(wanted.begin(), wanted.end(), out.begin(), out.end())) {
    return fail(ErrorCode::Unsupported, "{}: the shape computed at run time is {}, the model's output is {}",
                context.label(), shape_text(wanted), shape_text(out));
  }
  fill_with(context, {context.inputs[1].begin(), context.inputs[1].end()});
  return {};
}

}  // namespace peraxis::kernels::reference
