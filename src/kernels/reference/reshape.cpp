// RESHAPE: the stored values do not move.
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status reshape(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 2));
  if (context.inputs[0].size() != context.outputs[0].size() ||
      context.input(0).type != context.output().type) {
    return fail(ErrorCode::InvalidModel, "{}: {} {} cannot become {} {}", context.label(),
                ir::data_type_name(context.input(0).type), shape_text(context.input(0).shape),
                ir::data_type_name(context.output().type), shape_text(context.output().shape));
  }
  if (!context.inputs[0].empty()) {
    std::memcpy(context.outputs[0].data(), context.inputs[0].data(), context.inputs[0].size());
  }
  return {};
}

}  // namespace peraxis::kernels::reference
