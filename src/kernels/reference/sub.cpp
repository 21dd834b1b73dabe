#include "kernels/reference/add_sub.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status sub(const Context& context) {
  return add_or_subtract(context, -1);
}

}  // namespace peraxis::kernels::reference
