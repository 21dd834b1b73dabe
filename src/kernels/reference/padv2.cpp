#include "kernels/reference/padding.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

// The fill value is the stored one of input 2.
Status padv2(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return pad_with(context, {context.inputs[2].begin(), context.inputs[2].end()});
}

}  // namespace peraxis::kernels::reference
