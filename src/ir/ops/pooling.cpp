// average_pool_2d, max_pool_2d, resize_nearest_neighbor and resize_bilinear. They work on stored values:
// differing parameters of input and output are accepted and ignored, as LiteRT does
// (docs/arithmetic.md#average_pool_2d).
#include "ir/layouts.hpp"
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

// Every window of an axis of `in` pixels has one of them.
bool windows_touch(const SpatialAxis& axis, int64_t in, int64_t filter, int64_t stride) {
  return axis.before < filter && (axis.out - 1) * stride - axis.before < in;
}

}  // namespace

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
  PERAXIS_TRY(expect_pads(attributes.pads, false));
  const std::vector<int32_t>& in = input.tensor->shape;
  const auto [rows, columns] = pool_axes(nhwc(*input.tensor), attributes);
  if (rows.out < 1 || columns.out < 1) {
    return fail(ErrorCode::InvalidModel, "the filter {}x{} is larger than {} of shape {}",
                attributes.filter_h, attributes.filter_w, input.text(), shape_text(in));
  }
  if (attributes.counts_padding && view.op().kind != OpKind::AveragePool2D)
    return fail(ErrorCode::InvalidModel, "counted padding; only averages count");
  // A maximum or an average of nothing has no value.
  if (!attributes.counts_padding &&
      (!windows_touch(rows, in[kRows], attributes.filter_h, attributes.stride_h) ||
       !windows_touch(columns, in[kColumns], attributes.filter_w, attributes.stride_w))) {
    return fail(
        ErrorCode::InvalidModel,
        "padding of {} above, {} below, {} left and {} right of {} of shape {}: some windows {}x{} hold "
        "padding alone",
        attributes.pads.top, attributes.pads.bottom, attributes.pads.left, attributes.pads.right,
        input.text(), shape_text(in), attributes.filter_h, attributes.filter_w);
  }
  return expect_shape(output, std::vector<int32_t>{in[kImages], static_cast<int32_t>(rows.out),
                                                   static_cast<int32_t>(columns.out), in[kChannels]});
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
  return expect_shape(output, std::vector<int32_t>{in[kImages], size[0], size[1], in[kChannels]});
}

}  // namespace peraxis::ir::rules
