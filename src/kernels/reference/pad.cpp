#include "kernels/reference/padding.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

// The fill value is real zero: the output's zero point, whatever the input's parameters say.
Status pad(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  PERAXIS_TRY(check_rule(context));
  return pad_with(context, zero_of(context.output()));
}

}  // namespace peraxis::kernels::reference
