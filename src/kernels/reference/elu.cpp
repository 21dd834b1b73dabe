// ELU: x, and exp(x) - 1 below 0. LiteRT has no reference kernel; this is what its built-in one computes.
#include "kernels/reference/float_table.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status elu(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  if (context.output().type == ir::DataType::Float32)
    return map_elements<float>(context, [](float x) { return x < 0.0F ? std::expm1(x) : x; });
  // The double function, rounded, does not depend on the C library's float one.
  return tabulate(
      context, [](float x) { return x < 0.0F ? static_cast<float>(std::expm1(static_cast<double>(x))) : x; });
}

}  // namespace peraxis::kernels::reference
