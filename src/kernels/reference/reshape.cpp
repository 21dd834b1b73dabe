// RESHAPE: the stored values do not move.
#include "kernels/elements.hpp"
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status reshape(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 2));
  const ir::Tensor& in = context.input(0);
  const ir::Tensor& out = context.output();
  if (context.inputs[0].size() != context.outputs[0].size() || in.type != out.type) {
    return fail(ErrorCode::InvalidModel, "{}: {} {} cannot become {} {}", context.label(),
                ir::data_type_name(in.type), shape_text(in.shape), ir::data_type_name(out.type),
                shape_text(out.shape));
  }
  if (context.has_input(1) && !context.input(1).is_constant) {
    const std::vector<int32_t> wanted = PERAXIS_TRY(integer_operand(context, 1));
    const auto shape = PERAXIS_TRY_NOTE(ir::reshape_shape(in.shape, wanted), "in {}", context.label());
    if (shape != out.shape) {
      return fail(ErrorCode::Unsupported,
                  "{}: the shape computed at run time is {}, the model's output is {}", context.label(),
                  shape_text(shape), shape_text(out.shape));
    }
  }
  return copy_all(context);
}

}  // namespace peraxis::kernels::reference
