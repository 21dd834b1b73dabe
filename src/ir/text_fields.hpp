// The fields of every attribute type by name, once for printer and parser: visit(name, field) for each.
#pragma once

#include "ir/graph.hpp"

namespace peraxis::ir::text {

template <class Visit, class T>
void visit_fields(Visit&& visit, T& a) {
  using Type = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Type, BinaryAttributes>) {
    visit("activation", a.activation);
    visit("pot_scale_int16", a.pot_scale_int16);
  } else if constexpr (std::is_same_v<Type, ConvAttributes>) {
    visit("padding", a.padding);
    visit("stride_h", a.stride_h);
    visit("stride_w", a.stride_w);
    visit("dilation_h", a.dilation_h);
    visit("dilation_w", a.dilation_w);
    visit("activation", a.activation);
    visit("int32_bias", a.int32_bias);
    visit("pad_top", a.pad_top);
    visit("pad_left", a.pad_left);
    visit("pad_bottom", a.pad_bottom);
    visit("pad_right", a.pad_right);
  } else if constexpr (std::is_same_v<Type, FullyConnectedAttributes>) {
    visit("activation", a.activation);
    visit("keep_num_dims", a.keep_num_dims);
    visit("int32_bias", a.int32_bias);
  } else if constexpr (std::is_same_v<Type, PoolAttributes>) {
    visit("padding", a.padding);
    visit("stride_h", a.stride_h);
    visit("stride_w", a.stride_w);
    visit("filter_h", a.filter_h);
    visit("filter_w", a.filter_w);
    visit("activation", a.activation);
  } else if constexpr (std::is_same_v<Type, ConcatenationAttributes>) {
    visit("axis", a.axis);
    visit("activation", a.activation);
  } else if constexpr (std::is_same_v<Type, SoftmaxAttributes>) {
    visit("beta", a.beta);
  } else if constexpr (std::is_same_v<Type, ReduceAttributes>) {
    visit("keep_dims", a.keep_dims);
  } else if constexpr (std::is_same_v<Type, StridedSliceAttributes>) {
    visit("begin_mask", a.begin_mask);
    visit("end_mask", a.end_mask);
    visit("ellipsis_mask", a.ellipsis_mask);
    visit("new_axis_mask", a.new_axis_mask);
    visit("shrink_axis_mask", a.shrink_axis_mask);
    visit("offset", a.offset);
  } else if constexpr (std::is_same_v<Type, SplitAttributes>) {
    visit("num_splits", a.num_splits);
  } else if constexpr (std::is_same_v<Type, ResizeAttributes>) {
    visit("align_corners", a.align_corners);
    visit("half_pixel_centers", a.half_pixel_centers);
  } else if constexpr (std::is_same_v<Type, LeakyReluAttributes>) {
    visit("alpha", a.alpha);
  } else if constexpr (std::is_same_v<Type, TransposeConvAttributes>) {
    visit("padding", a.padding);
    visit("stride_h", a.stride_h);
    visit("stride_w", a.stride_w);
    visit("activation", a.activation);
    visit("int32_bias", a.int32_bias);
  } else if constexpr (std::is_same_v<Type, BlockAttributes>) {
    visit("block_size", a.block_size);
  } else if constexpr (std::is_same_v<Type, GatherAttributes>) {
    visit("axis", a.axis);
    visit("batch_dims", a.batch_dims);
  } else if constexpr (std::is_same_v<Type, PackAttributes>) {
    visit("axis", a.axis);
    visit("count", a.count);
  } else if constexpr (std::is_same_v<Type, SqueezeAttributes>) {
    visit("dims", a.dims);
  } else if constexpr (std::is_same_v<Type, MirrorPadAttributes>) {
    visit("symmetric", a.symmetric);
  } else if constexpr (std::is_same_v<Type, BatchMatmulAttributes>) {
    visit("adj_x", a.adj_x);
    visit("adj_y", a.adj_y);
  } else if constexpr (std::is_same_v<Type, CumSumAttributes>) {
    visit("exclusive", a.exclusive);
    visit("reverse", a.reverse);
  } else if constexpr (std::is_same_v<Type, GeluAttributes>) {
    visit("approximate", a.approximate);
  } else if constexpr (std::is_same_v<Type, DetectionAttributes>) {
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
  } else {
    static_assert(std::is_same_v<Type, NoAttributes>, "list the fields of a new attribute type here");
  }
}

// The attribute type of an operator kind, default-initialised.
inline Attributes default_attributes(OpKind kind) {
  switch (kind) {
#define PERAXIS_OP(kind, name, code, attributes) \
  case OpKind::kind:                             \
    return attributes{};
#include "ir/ops.def"
#undef PERAXIS_OP
  }
  return NoAttributes{};
}

}  // namespace peraxis::ir::text
