#include "kernels/reference/arg.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status arg_min(const Context& context) {
  return arg_extremum(context, -1);
}

}  // namespace peraxis::kernels::reference
