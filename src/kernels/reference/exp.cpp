#include "kernels/reference/float_table.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status exp(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto function = [](float x) { return std::exp(x); };
  if (context.output().type == ir::DataType::Float32) return map_elements<float>(context, function);
  return tabulate(context, function);
}

}  // namespace peraxis::kernels::reference
