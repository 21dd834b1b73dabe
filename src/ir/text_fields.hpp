// The fields of every attribute type by name, once for printer and parser: visit(name, field) for each.
#pragma once

#include "base/fields.hpp"
#include "ir/graph.hpp"

namespace peraxis::ir::text {

using base::Is;

template <class Visit, Is<BinaryAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("activation", a.activation);
  visit("pot_scale_int16", a.pot_scale_int16);
}
template <class Visit, Is<ConvAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("pads", a.pads);
  visit("stride_h", a.stride_h);
  visit("stride_w", a.stride_w);
  visit("dilation_h", a.dilation_h);
  visit("dilation_w", a.dilation_w);
  visit("activation", a.activation);
  visit("int32_bias", a.int32_bias);
}
template <class Visit, Is<FullyConnectedAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("activation", a.activation);
  visit("keep_num_dims", a.keep_num_dims);
  visit("int32_bias", a.int32_bias);
}
template <class Visit, Is<PoolAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("pads", a.pads);
  visit("stride_h", a.stride_h);
  visit("stride_w", a.stride_w);
  visit("filter_h", a.filter_h);
  visit("filter_w", a.filter_w);
  visit("activation", a.activation);
  visit("counts_padding", a.counts_padding);
}
template <class Visit, Is<ConcatenationAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("axis", a.axis);
  visit("activation", a.activation);
}
template <class Visit, Is<SoftmaxAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("beta", a.beta);
}
template <class Visit, Is<ReduceAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("keep_dims", a.keep_dims);
}
template <class Visit, Is<StridedSliceAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("begin_mask", a.begin_mask);
  visit("end_mask", a.end_mask);
  visit("ellipsis_mask", a.ellipsis_mask);
  visit("new_axis_mask", a.new_axis_mask);
  visit("shrink_axis_mask", a.shrink_axis_mask);
  visit("offset", a.offset);
}
template <class Visit, Is<SplitAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("num_splits", a.num_splits);
}
template <class Visit, Is<ResizeAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("align_corners", a.align_corners);
  visit("half_pixel_centers", a.half_pixel_centers);
}
template <class Visit, Is<LeakyReluAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("alpha", a.alpha);
}
template <class Visit, Is<TransposeConvAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("pads", a.pads);
  visit("stride_h", a.stride_h);
  visit("stride_w", a.stride_w);
  visit("activation", a.activation);
  visit("int32_bias", a.int32_bias);
}
template <class Visit, Is<BlockAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("block_size", a.block_size);
}
template <class Visit, Is<GatherAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("axis", a.axis);
  visit("batch_dims", a.batch_dims);
}
template <class Visit, Is<PackAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("axis", a.axis);
  visit("count", a.count);
}
template <class Visit, Is<SqueezeAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("dims", a.dims);
}
template <class Visit, Is<MirrorPadAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("symmetric", a.symmetric);
}
template <class Visit, Is<BatchMatmulAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("adj_x", a.adj_x);
  visit("adj_y", a.adj_y);
}
template <class Visit, Is<CumSumAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("exclusive", a.exclusive);
  visit("reverse", a.reverse);
}
template <class Visit, Is<GeluAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("approximate", a.approximate);
}
template <class Visit, Is<SvdfAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("rank", a.rank);
  visit("activation", a.activation);
}
template <class Visit, Is<LstmAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("cell_clip", a.cell_clip);
  visit("proj_clip", a.proj_clip);
  visit("time_major", a.time_major);
  visit("hidden_scale", a.hidden_scale);
  visit("hidden_zero_point", a.hidden_zero_point);
}
template <class Visit, Is<DetectionAttributes> T>
void visit_fields(Visit&& visit, T& a) {
  visit("max_detections", a.max_detections);
  visit("max_classes_per_detection", a.max_classes_per_detection);
  visit("detections_per_class", a.detections_per_class);
  visit("num_classes", a.num_classes);
  visit("use_regular_nms", a.use_regular_nms);
  visit("nms_score_threshold", a.nms_score_threshold);
  visit("nms_iou_threshold", a.nms_iou_threshold);
  visit("y_scale", a.y_scale);
  visit("x_scale", a.x_scale);
  visit("h_scale", a.h_scale);
  visit("w_scale", a.w_scale);
}
template <class Visit, Is<NoAttributes> T>
void visit_fields(Visit&&, T&) {}

// The attribute type of an operator kind, default-initialised.
inline Attributes default_attributes(OpKind kind) {
  switch (kind) {
#define PERAXIS_OP(kind, name, rule, attributes) \
  case OpKind::kind:                             \
    return attributes{};
#include "ir/ops.def"
#undef PERAXIS_OP
  }
  return NoAttributes{};
}

}  // namespace peraxis::ir::text
