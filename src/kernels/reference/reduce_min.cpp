#include "kernels/reference/reduction.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status reduce_min(const Context& context) {
  return reduce_extremum(context, -1);
}

}  // namespace peraxis::kernels::reference
