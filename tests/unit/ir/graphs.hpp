// Small valid graphs, one an operator, for tests that then break one thing at a time.
#pragma once

#include "graph_parts.hpp"
#include "operator_graphs.hpp"

namespace peraxis::ir::test {

// Input [1,7,9,3], 2x3 kernel, 4 output channels, stride 2x1, padding for 4x9 outputs.
inline Graph conv_2d() {
  ConvAttributes attributes;
  attributes.pads = {0, 1, 1, 1};
  attributes.stride_h = 2;
  attributes.activation = Activation::Relu;
  return single(OpKind::Conv2D, attributes,
                {activation("in", {1, 7, 9, 3}), weights({4, 2, 3, 3}, {0.1F, 0.2F, 0.3F, 0.0F}, 0),
                 constant_int32("bias", {4}, {1, -2, 3, -4})},
                {activation("out", {1, 4, 9, 4}, 0.25F, -5)});
}

inline Graph conv_2d_uint8() {
  ConvAttributes attributes;
  attributes.pads = {0, 1, 1, 1};
  Graph graph =
      single(OpKind::Conv2D, attributes,
             {activation("in", {1, 7, 9, 3}, 0.5F, 100, DataType::UInt8),
              weights({4, 2, 3, 3}, {0.1F}, 0, DataType::UInt8), constant_int32("bias", {4}, {1, 2, 3, 4})},
             {activation("out", {1, 7, 9, 4}, 0.25F, 7, DataType::UInt8)});
  graph.tensors[1].quant.zero_point = {120};
  graph.tensors[2].quant = {{0.05F}, {0}, 0};
  return graph;
}

inline Graph depthwise_conv_2d() {
  ConvAttributes attributes;
  attributes.dilation_h = 2;
  return single(OpKind::DepthwiseConv2D, attributes,
                {activation("in", {1, 7, 9, 2}), weights({1, 3, 3, 4}, {0.1F, 0.2F, 0.3F, 0.4F}, 3),
                 constant_int32("bias", {4}, {1, 2, 3, 4})},
                {activation("out", {1, 3, 7, 4})});
}

inline Graph fully_connected() {
  return single(OpKind::FullyConnected, FullyConnectedAttributes{},
                {activation("in", {2, 3, 5}), weights({4, 5}, {0.1F, 0.2F, 0.3F, 0.4F}, 0),
                 constant_int32("bias", {4}, {1, 2, 3, 4})},
                {activation("out", {6, 4})});
}

inline Graph binary(OpKind kind) {
  return single(kind, BinaryAttributes{}, {activation("a", {1, 5, 1, 3}), activation("b", {7, 3}, 0.25F, 0)},
                {activation("out", {1, 5, 7, 3}, 1.0F)});
}

inline Graph concatenation() {
  ConcatenationAttributes attributes;
  attributes.axis = -1;
  return single(OpKind::Concatenation, attributes, {activation("a", {1, 5, 3}), activation("b", {1, 5, 4})},
                {activation("out", {1, 5, 7})});
}

inline Graph pool(OpKind kind) {
  PoolAttributes attributes;
  attributes.filter_h = 3;
  attributes.filter_w = 2;
  attributes.stride_w = 2;
  return single(kind, attributes, {activation("in", {1, 7, 9, 3})}, {activation("out", {1, 5, 4, 3})});
}

inline Graph softmax() {
  return single(OpKind::Softmax, SoftmaxAttributes{1.0F}, {activation("in", {2, 10}, 0.1F)},
                {activation("out", {2, 10}, 1.0F / 256, -128)});
}

inline Graph logistic() {
  return single(OpKind::Logistic, NoAttributes{}, {activation("in", {2, 10}, 0.1F)},
                {activation("out", {2, 10}, 1.0F / 256, -128)});
}

inline Graph leaky_relu() {
  return single(OpKind::LeakyRelu, LeakyReluAttributes{0.1F}, {activation("in", {2, 10})},
                {activation("out", {2, 10}, 0.4F)});
}

inline Graph quantize() {
  return single(OpKind::Quantize, NoAttributes{}, {activation("in", {2, 10})},
                {activation("out", {2, 10}, 0.4F, 131, DataType::UInt8)});
}

inline Graph mean() {
  return single(OpKind::Mean, ReduceAttributes{false},
                {activation("in", {1, 7, 9, 3}), constant_int32("axes", {3}, {1, -2, 1})},
                {activation("out", {1, 3}, 0.25F)});
}

inline Graph resize_of(OpKind kind) {
  return single(kind, ResizeAttributes{},
                {activation("in", {1, 7, 9, 3}), constant_int32("size", {2}, {14, 18})},
                {activation("out", {1, 14, 18, 3})});
}

inline Graph resize() {
  return resize_of(OpKind::ResizeNearestNeighbor);
}

inline Graph reshape() {
  return single(OpKind::Reshape, NoAttributes{},
                {activation("in", {1, 7, 9, 3}), constant_int32("shape", {2}, {-1, 27})},
                {activation("out", {7, 27})});
}

inline Graph transpose() {
  return single(OpKind::Transpose, NoAttributes{},
                {activation("in", {1, 7, 9, 3}), constant_int32("permutation", {4}, {0, 3, 1, 2})},
                {activation("out", {1, 3, 7, 9})});
}

inline Graph pad() {
  return single(
      OpKind::Pad, NoAttributes{},
      {activation("in", {1, 7, 9, 3}), constant_int32("paddings", {4, 2}, {0, 0, 1, 2, 0, 3, 0, 0})},
      {activation("out", {1, 10, 12, 3})});
}

inline Graph strided_slice() {
  StridedSliceAttributes attributes;
  attributes.begin_mask = 1;
  attributes.end_mask = 1;
  attributes.shrink_axis_mask = 8;
  return single(OpKind::StridedSlice, attributes,
                {activation("in", {1, 7, 9, 3}), constant_int32("begin", {4}, {0, 1, -1, 2}),
                 constant_int32("end", {4}, {0, 6, 0, 3}), constant_int32("strides", {4}, {1, 2, -3, 1})},
                {activation("out", {1, 3, 3})});
}

inline Graph split() {
  return single(OpKind::Split, SplitAttributes{2},
                {constant_int32("axis", {}, {-1}), activation("in", {1, 7, 6})},
                {activation("left", {1, 7, 3}), activation("right", {1, 7, 3})});
}

// One valid graph an operator.
inline Graph valid(OpKind kind) {
  switch (kind) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
      return binary(kind);
    case OpKind::AveragePool2D:
    case OpKind::MaxPool2D:
      return pool(kind);
    case OpKind::Concatenation:
      return concatenation();
    case OpKind::Conv2D:
      return conv_2d();
    case OpKind::DepthwiseConv2D:
      return depthwise_conv_2d();
    case OpKind::FullyConnected:
      return fully_connected();
    case OpKind::Logistic:
      return logistic();
    case OpKind::Reshape:
      return reshape();
    case OpKind::Softmax:
      return softmax();
    case OpKind::Pad:
      return pad();
    case OpKind::Transpose:
      return transpose();
    case OpKind::Mean:
      return mean();
    case OpKind::StridedSlice:
      return strided_slice();
    case OpKind::Split:
      return split();
    case OpKind::ResizeNearestNeighbor:
    case OpKind::ResizeBilinear:
      return resize_of(kind);
    case OpKind::LeakyRelu:
      return leaky_relu();
    case OpKind::Quantize:
      return quantize();
    default:
      return cpu_operator(kind);
  }
}

inline constexpr OpKind kAllKinds[] = {
#define PERAXIS_OP(kind, name, rule, attributes) OpKind::kind,
#include "ir/ops.def"
#undef PERAXIS_OP
};

}  // namespace peraxis::ir::test
