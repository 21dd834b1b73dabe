// PAD fills with the output's zero point: real zero, whatever the input's parameters say.
#include <algorithm>

#include "kernels/registry.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {

Status pad(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  const ir::Tensor& in = context.input(0);
  const ir::Tensor& out = context.output();
  const Quant y = PERAXIS_TRY(activation_quant(context, out));
  const size_t rank = in.shape.size();
  const std::vector<int32_t> values = PERAXIS_TRY(integer_operand(context, 1));
  const std::vector<ir::AxisPadding> paddings =
      PERAXIS_TRY_NOTE(ir::pad_amounts(values, static_cast<int64_t>(rank)), "in {}", context.label());
  if (in.type != out.type || out.shape.size() != rank) {
    return fail(ErrorCode::InvalidModel, "{}: input {} {} and output {} {} do not fit", context.label(),
                ir::data_type_name(in.type), shape_text(in.shape), ir::data_type_name(out.type),
                shape_text(out.shape));
  }
  Offsets to{0, dense_strides(out.shape)};
  const Offsets from{0, dense_strides(in.shape)};
  for (size_t d = 0; d < rank; ++d) {
    const ir::AxisPadding padding = paddings[d];
    if (padding.before < 0 || padding.after < 0 ||
        in.shape[d] + padding.before + padding.after != out.shape[d]) {
      return fail(ErrorCode::InvalidModel, "{}: dimension {} of size {} padded by {} and {} is not {}",
                  context.label(), d, in.shape[d], padding.before, padding.after, out.shape[d]);
    }
    to.base += padding.before * to.strides[d];
  }
  const Values source = context.inputs[0];
  const std::span<uint8_t> destination = context.outputs[0];
  std::ranges::fill(destination, static_cast<uint8_t>(y.zero_point));
  walk({in.shape.begin(), in.shape.end()}, from, to,
       [&](int64_t i, int64_t o) { destination[static_cast<size_t>(o)] = source[static_cast<size_t>(i)]; });
  return {};
}

}  // namespace peraxis::kernels::reference
