#include <cmath>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status cos(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return map_elements<float>(context, [](float x) { return std::cos(x); });
}

}  // namespace peraxis::kernels::reference
