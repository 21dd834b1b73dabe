#include "kernels/elements.hpp"
#include "kernels/reference/non_max_suppression.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status non_max_suppression_v4(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return suppress_boxes(
      context, {Reader<float>(context.inputs[3])[0], Reader<float>(context.inputs[4])[0], 0.0F}, false);
}

}  // namespace peraxis::kernels::reference
