#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status squeeze(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return copy_all(context);
}

}  // namespace peraxis::kernels::reference
