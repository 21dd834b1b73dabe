// GATHER_ND: each row of the indices names a place in the leading dimensions; what lies behind it is copied.
#include "kernels/elements.hpp"
#include "kernels/registry.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {

Status gather_nd(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int32_t>& shape = context.input(0).shape;
  const auto depth = static_cast<size_t>(context.input(1).shape.back());
  const std::vector<int64_t> strides = dense_strides(shape);
  const int64_t slice = (depth == 0 ? context.input(0).elements() : strides[depth - 1]) *
                        ir::data_type_bytes(context.input(0).type);
  const std::vector<int64_t> indices = integers(context, 1);
  uint8_t* to = context.outputs[0].data();
  for (size_t row = 0; row + depth <= indices.size(); row += depth) {
    int64_t at = 0;
    for (size_t d = 0; d < depth; ++d) {
      const int64_t index = indices[row + d];
      if (index < 0 || index >= shape[d]) {
        return fail(ErrorCode::InvalidArgument, "{}: index {} is outside dimension {} of size {}",
                    context.label(), index, d, shape[d]);
      }
      at += index * strides[d];
    }
    std::memcpy(to, context.inputs[0].data() + at * ir::data_type_bytes(context.input(0).type),
                static_cast<size_t>(slice));
    to += slice;
  }
  return {};
}

}  // namespace peraxis::kernels::reference
