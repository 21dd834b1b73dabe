// SPLIT: equal parts along one axis. The axis is input 0, the tensor input 1.
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {

Status split(const Context& context) {
  const auto* a = PERAXIS_TRY(attributes<ir::SplitAttributes>(context));
  const size_t parts = context.op().outputs.size();
  PERAXIS_TRY(check_arity(context, 2, 2, parts));
  const ir::Tensor& in = context.input(1);
  const std::vector<int32_t> axes = PERAXIS_TRY(integer_operand(context, 0));
  if (axes.size() != 1 || a->num_splits < 1 || parts != static_cast<size_t>(a->num_splits)) {
    return fail(ErrorCode::InvalidModel, "{}: {} axes and {} outputs, expected one axis and {} outputs",
                context.label(), axes.size(), parts, a->num_splits);
  }
  const size_t axis = PERAXIS_TRY(normalized_axis(context, axes[0], in.shape.size()));
  std::vector<int32_t> expected = in.shape;
  expected[axis] = in.shape[axis] / a->num_splits;
  size_t outer = 1;
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(in.shape[d]);
  for (size_t i = 0; i < parts; ++i) {
    const ir::Tensor& out = context.output(i);
    if (in.shape[axis] % a->num_splits != 0 || out.shape != expected || out.type != in.type) {
      return fail(ErrorCode::InvalidModel, "{}: output {} is {}, {} in {} parts along axis {} gives {}",
                  context.label(), i, shape_text(out.shape), shape_text(in.shape), parts, axis,
                  shape_text(expected));
    }
    const std::span<uint8_t> to = context.outputs[i];
    if (to.empty()) continue;
    const size_t row = to.size() / outer;
    for (size_t slice = 0; slice < outer; ++slice) {
      std::memcpy(to.data() + slice * row, context.inputs[1].data() + (slice * parts + i) * row, row);
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference
