#include "kernels/elements.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status shape(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int32_t>& in = context.input(0).shape;
  for (size_t i = 0; i < in.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (context.output().type == ir::DataType::Int64) {
      Writer<int64_t>(context.outputs[0]).set(at, in[i]);
    } else {
      Writer<int32_t>(context.outputs[0]).set(at, in[i]);
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference
