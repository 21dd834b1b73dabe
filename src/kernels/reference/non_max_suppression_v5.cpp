#include "kernels/elements.hpp"
#include "kernels/reference/non_max_suppression.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status non_max_suppression_v5(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const float sigma = Reader<float>(context.inputs[5])[0];
  if (sigma < 0.0F) {
    return fail(ErrorCode::InvalidArgument, "{}: sigma is {}; it must be 0 or more", context.label(), sigma);
  }
  return suppress_boxes(
      context, {Reader<float>(context.inputs[3])[0], Reader<float>(context.inputs[4])[0], sigma}, true);
}

}  // namespace peraxis::kernels::reference
