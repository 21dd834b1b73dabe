// AVERAGE_POOL_2D, MAX_POOL_2D, MEAN and RESIZE_NEAREST_NEIGHBOR (litert-arithmetic.md 6). Pools and resizes
// work on stored values: differing parameters of input and output are accepted and ignored, as LiteRT does.
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

Status verify_pool(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const auto attributes = PERAXIS_TRY(view.attributes<PoolAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_quantized(input));
  PERAXIS_TRY(expect_quantized(output));
  PERAXIS_TRY(expect_same_type(input, output));
  PERAXIS_TRY(expect_rank(input, 4, 4));
  if (attributes.stride_h < 1 || attributes.stride_w < 1 || attributes.filter_h < 1 ||
      attributes.filter_w < 1) {
    return fail(ErrorCode::InvalidModel, "strides {}x{} and filter {}x{}; all must be at least 1",
                attributes.stride_h, attributes.stride_w, attributes.filter_h, attributes.filter_w);
  }
  const std::vector<int32_t>& in = input.tensor->shape;
  const SpatialAxis rows =
      spatial_axis(in[1], attributes.filter_h, attributes.stride_h, 1, attributes.padding);
  const SpatialAxis columns =
      spatial_axis(in[2], attributes.filter_w, attributes.stride_w, 1, attributes.padding);
  if (rows.out < 1 || columns.out < 1) {
    return fail(ErrorCode::InvalidModel, "the filter {}x{} is larger than {} of shape {}",
                attributes.filter_h, attributes.filter_w, input.text(), shape_text(in));
  }
  return expect_shape(output, std::vector<int32_t>{in[0], static_cast<int32_t>(rows.out),
                                                   static_cast<int32_t>(columns.out), in[3]});
}

Status verify_mean(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const auto attributes = PERAXIS_TRY(view.attributes<ReduceAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_quantized(input));
  PERAXIS_TRY(expect_quantized(output));
  PERAXIS_TRY(expect_same_type(input, output));
  PERAXIS_TRY(expect_rank(input, 1, 4));
  const auto axes = PERAXIS_TRY(reduce_axes(view.graph(), view.op()));
  if (axes.empty()) return fail(ErrorCode::Unsupported, "the axes input names no axis");
  PERAXIS_TRY(expect_shape(output, reduced_shape(input.tensor->shape, axes, attributes.keep_dims)));
  return expect_multiplier(
      static_cast<double>(input.tensor->quant.scale[0]) / static_cast<double>(output.tensor->quant.scale[0]),
      "input scale / output scale");
}

Status verify_resize(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  PERAXIS_TRY(view.attributes<ResizeAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_8_bit(input));
  PERAXIS_TRY(expect_same_type(input, output));
  PERAXIS_TRY(expect_rank(input, 4, 4));
  const auto size = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[1], "the size input"));
  if (size.size() != 2)
    return fail(ErrorCode::InvalidModel, "the size input has {} values, not 2", size.size());
  const std::vector<int32_t>& in = input.tensor->shape;
  return expect_shape(output, std::vector<int32_t>{in[0], size[0], size[1], in[3]});
}

}  // namespace peraxis::ir::rules
