// AVERAGE_POOL_2D, MAX_POOL_2D, RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR. They work on stored values:
// differing parameters of input and output are accepted and ignored, as LiteRT does
// (docs/arithmetic.md#average_pool_2d).
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

Status verify_pool(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const auto attributes = PERAXIS_TRY(view.attributes<PoolAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_numbers(input, kReal));
  PERAXIS_TRY(expect_numbers(output, kReal));
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

Status verify_resize(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const auto attributes = PERAXIS_TRY(view.attributes<ResizeAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_type(input, kReal));
  PERAXIS_TRY(expect_same_type(input, output));
  PERAXIS_TRY(expect_rank(input, 4, 4));
  if (view.op().kind == OpKind::ResizeBilinear && attributes.align_corners && attributes.half_pixel_centers) {
    return fail(ErrorCode::InvalidModel, "align_corners and half_pixel_centers exclude each other");
  }
  const auto size = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[1], "the size input"));
  if (size.size() != 2)
    return fail(ErrorCode::InvalidModel, "the size input has {} values, not 2", size.size());
  const std::vector<int32_t>& in = input.tensor->shape;
  return expect_shape(output, std::vector<int32_t>{in[0], size[0], size[1], in[3]});
}

}  // namespace peraxis::ir::rules
