// TRANSPOSE: output dimension d walks input dimension permutation[d].
#include "kernels/reference/move.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status transpose(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  const ir::Tensor& in = context.input(0);
  const ir::Tensor& out = context.output();
  const size_t rank = in.shape.size();
  const std::vector<int32_t> values = PERAXIS_TRY(integer_operand(context, 1));
  const std::vector<int64_t> permutation = PERAXIS_TRY_NOTE(
      ir::transpose_permutation(values, static_cast<int64_t>(rank)), "in {}", context.label());
  if (out.shape.size() != rank || in.type != out.type) {
    return fail(ErrorCode::InvalidModel, "{}: input {} {} and output {} {} do not fit", context.label(),
                ir::data_type_name(in.type), shape_text(in.shape), ir::data_type_name(out.type),
                shape_text(out.shape));
  }
  const std::vector<int64_t> strides = dense_strides(in.shape);
  Offsets view;
  for (size_t d = 0; d < rank; ++d) {
    const auto source = static_cast<size_t>(permutation[d]);
    if (in.shape[source] != out.shape[d]) {
      return fail(ErrorCode::InvalidModel, "{}: output dimension {} is {}, input dimension {} is {}",
                  context.label(), d, out.shape[d], source, in.shape[source]);
    }
    view.strides.push_back(strides[source]);
  }
  copy_view(context, 0, 0, {out.shape.begin(), out.shape.end()}, view);
  return {};
}

}  // namespace peraxis::kernels::reference
