#include <cmath>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status sin(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  return map_elements<float>(context, [](float x) { return std::sin(x); });
}

}  // namespace peraxis::kernels::reference
