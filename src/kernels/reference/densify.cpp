// DENSIFY: the importer has spread the sparse values; they are copied.
#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status densify(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return copy_all(context);
}

}  // namespace peraxis::kernels::reference
