// Small valid graphs of the operators that run on the CPU only; graphs.hpp has the others and the helpers.
#pragma once

#include "graph_parts.hpp"

namespace peraxis::ir::test {

inline Tensor plain(const char* name, std::vector<int32_t> shape, DataType type) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = std::move(shape);
  return tensor;
}
inline Tensor scalar_int32(const char* name, int32_t value) {
  return constant_int32(name, {}, {value});
}

inline Graph unary(OpKind kind) {
  return single(kind, NoAttributes{}, {activation("in", {2, 10})}, {activation("out", {2, 10}, 0.4F)});
}

inline Graph pair(OpKind kind) {
  return single(kind, NoAttributes{}, {activation("a", {1, 5, 1, 3}), activation("b", {7, 3})},
                {activation("out", {1, 5, 7, 3})});
}

inline Graph prelu() {
  return single(OpKind::Prelu, NoAttributes{},
                {activation("in", {1, 5, 7, 3}), activation("slopes", {1, 1, 3})},
                {activation("out", {1, 5, 7, 3})});
}

inline Graph transpose_conv() {
  TransposeConvAttributes attributes;
  attributes.stride_h = 2;
  attributes.stride_w = 3;
  return single(
      OpKind::TransposeConv, attributes,
      {constant_int32("shape", {4}, {1, 14, 27, 4}), weights({4, 2, 3, 3}, {0.1F, 0.2F, 0.3F, 0.4F}, 0),
       activation("in", {1, 7, 9, 3}), constant_int32("bias", {4}, {1, -2, 3, -4})},
      {activation("out", {1, 14, 27, 4})});
}

inline Graph batch_matmul() {
  BatchMatmulAttributes attributes;
  attributes.adj_y = true;
  return single(OpKind::BatchMatmul, attributes, {activation("a", {2, 3, 5}), activation("b", {7, 5})},
                {activation("out", {2, 3, 7}, 4.0F)});
}

inline Graph reduction(OpKind kind) {
  return single(kind, ReduceAttributes{true},
                {activation("in", {1, 7, 9, 3}), constant_int32("axes", {2}, {1, -1})},
                {activation("out", {1, 1, 9, 1})});
}

inline Graph arg(OpKind kind) {
  return single(kind, NoAttributes{}, {activation("in", {2, 7, 3}), scalar_int32("axis", 1)},
                {plain("out", {2, 3}, DataType::Int32)});
}

inline Graph topk() {
  return single(OpKind::TopK, NoAttributes{}, {activation("in", {2, 7}), scalar_int32("k", 3)},
                {activation("values", {2, 3}), plain("indices", {2, 3}, DataType::Int32)});
}

inline Graph padv2() {
  Tensor value = activation("value", {1});
  value.is_constant = true;
  value.data = {9};
  return single(OpKind::PadV2, NoAttributes{},
                {activation("in", {2, 3}), constant_int32("paddings", {2, 2}, {0, 1, 2, 0}), value},
                {activation("out", {3, 5})});
}

inline Graph mirror_pad() {
  return single(OpKind::MirrorPad, MirrorPadAttributes{false},
                {activation("in", {2, 3}), constant_int32("paddings", {2, 2}, {0, 1, 2, 0})},
                {activation("out", {3, 5})});
}

inline Graph slice() {
  return single(
      OpKind::Slice, NoAttributes{},
      {activation("in", {4, 5}), constant_int32("begin", {2}, {1, 2}), constant_int32("size", {2}, {2, -1})},
      {activation("out", {2, 3})});
}

inline Graph split_v() {
  return single(OpKind::SplitV, SplitAttributes{2},
                {activation("in", {4, 5}), constant_int32("sizes", {2}, {2, -1}), scalar_int32("axis", -1)},
                {activation("left", {4, 2}), activation("right", {4, 3})});
}

inline Graph pack() {
  return single(OpKind::Pack, PackAttributes{-1, 2}, {activation("a", {4, 5}), activation("b", {4, 5})},
                {activation("out", {4, 5, 2})});
}

inline Graph unpack() {
  return single(OpKind::Unpack, PackAttributes{0, 2}, {activation("in", {2, 5})},
                {activation("a", {5}), activation("b", {5})});
}

inline Graph gather() {
  return single(OpKind::Gather, GatherAttributes{-1, 1},
                {activation("in", {2, 3, 5}), plain("indices", {2, 4}, DataType::Int32)},
                {activation("out", {2, 3, 4})});
}

inline Graph gather_nd() {
  return single(OpKind::GatherNd, NoAttributes{},
                {activation("in", {2, 3, 5}), plain("indices", {7, 2}, DataType::Int64)},
                {activation("out", {7, 5})});
}

inline Graph block(OpKind kind) {
  const bool to_depth = kind == OpKind::SpaceToDepth;
  return single(
      kind, BlockAttributes{2}, {activation("in", {1, 4, 6, 8})},
      {activation("out", to_depth ? std::vector<int32_t>{1, 2, 3, 32} : std::vector<int32_t>{1, 8, 12, 2})});
}

inline Graph batch_block(OpKind kind) {
  const bool to_batch = kind == OpKind::SpaceToBatch;
  const std::vector<int32_t> small = {6, 2, 3, 5};
  const std::vector<int32_t> large = {1, 3, 9, 5};
  return single(kind, NoAttributes{},
                {activation("in", to_batch ? large : small), constant_int32("block", {2}, {2, 3}),
                 constant_int32("amounts", {2, 2}, {1, 0, 0, 0})},
                {activation("out", to_batch ? small : large)});
}

inline Graph broadcast_to() {
  return single(OpKind::BroadcastTo, NoAttributes{},
                {activation("in", {3, 1}), constant_int32("shape", {3}, {2, 3, 4})},
                {activation("out", {2, 3, 4})});
}

inline Graph range() {
  return single(OpKind::Range, NoAttributes{},
                {plain("start", {}, DataType::Int32), scalar_int32("limit", 7), scalar_int32("step", 2)},
                {plain("out", {4}, DataType::Int32)});
}

inline Graph detection() {
  DetectionAttributes attributes;
  attributes.max_detections = 5;
  attributes.num_classes = 2;
  return single(OpKind::DetectionPostProcess, attributes,
                {plain("boxes", {1, 9, 4}, DataType::Float32), plain("scores", {1, 9, 3}, DataType::Float32),
                 plain("anchors", {9, 4}, DataType::Float32)},
                {plain("b", {1, 5, 4}, DataType::Float32), plain("c", {1, 5}, DataType::Float32),
                 plain("s", {1, 5}, DataType::Float32), plain("n", {1}, DataType::Float32)});
}

inline Tensor fixed_scale(const char* name, std::vector<int32_t> shape, float scale, int64_t zero_point) {
  Tensor tensor = activation(name, std::move(shape), scale);
  tensor.quant.zero_point = {zero_point};
  return tensor;
}

inline Graph select() {
  return single(
      OpKind::Select, NoAttributes{},
      {plain("condition", {5, 1}, DataType::Bool), activation("yes", {2, 1, 3}), activation("no", {3})},
      {activation("out", {2, 5, 3})});
}

inline Graph scatter_nd() {
  return single(OpKind::ScatterNd, NoAttributes{},
                {plain("indices", {4, 2}, DataType::Int32), activation("updates", {4, 5}),
                 constant_int32("shape", {3}, {2, 3, 5})},
                {activation("out", {2, 3, 5})});
}

inline Tensor scalar_float(const char* name) {
  Tensor tensor = plain(name, {}, DataType::Float32);
  tensor.is_constant = true;
  tensor.data = {0, 0, 0, 0x3F};
  return tensor;
}

inline Graph non_max_suppression(OpKind kind) {
  const bool soft = kind == OpKind::NonMaxSuppressionV5;
  std::vector<Tensor> inputs = {plain("boxes", {9, 4}, DataType::Float32),
                                plain("scores", {9}, DataType::Float32), scalar_int32("most", 4),
                                scalar_float("overlap"), scalar_float("least")};
  std::vector<Tensor> outputs = {plain("kept", {4}, DataType::Int32)};
  if (soft) {
    inputs.push_back(scalar_float("sigma"));
    outputs.push_back(plain("kept_scores", {4}, DataType::Float32));
  }
  outputs.push_back(plain("number", {}, DataType::Int32));
  return single(kind, NoAttributes{}, inputs, outputs);
}

inline Graph cpu_operator(OpKind kind) {
  switch (kind) {
    case OpKind::Elu:
    case OpKind::Log:
      return unary(kind);
    case OpKind::Gelu:
      return single(kind, GeluAttributes{true}, {activation("in", {2, 10})},
                    {activation("out", {2, 10}, 0.4F)});
    case OpKind::Sin:
    case OpKind::Cos:
      return single(kind, NoAttributes{}, {plain("in", {2, 10}, DataType::Float32)},
                    {plain("out", {2, 10}, DataType::Float32)});
    case OpKind::L2Normalization:
      return single(kind, NoAttributes{}, {activation("in", {2, 10})},
                    {fixed_scale("out", {2, 10}, 1.0F / 128.0F, 0)});
    case OpKind::LogSoftmax:
      return single(kind, NoAttributes{}, {activation("in", {2, 10})},
                    {fixed_scale("out", {2, 10}, 1.0F / 16.0F, 127)});
    case OpKind::Tile:
      return single(kind, NoAttributes{}, {activation("in", {2, 3}), constant_int32("counts", {2}, {1, 4})},
                    {activation("out", {2, 12})});
    case OpKind::Reverse:
      return single(kind, NoAttributes{}, {activation("in", {2, 3, 4}), constant_int32("axes", {2}, {2, -2})},
                    {activation("out", {2, 3, 4})});
    case OpKind::Select:
      return select();
    case OpKind::CumSum:
      return single(kind, CumSumAttributes{true, false},
                    {plain("in", {2, 3}, DataType::Int32), scalar_int32("axis", -1)},
                    {plain("out", {2, 3}, DataType::Int32)});
    case OpKind::ScatterNd:
      return scatter_nd();
    case OpKind::NonMaxSuppressionV4:
    case OpKind::NonMaxSuppressionV5:
      return non_max_suppression(kind);
    case OpKind::Tanh:
    case OpKind::Relu:
    case OpKind::ReluN1To1:
    case OpKind::Relu6:
    case OpKind::HardSwish:
    case OpKind::Exp:
    case OpKind::Sqrt:
    case OpKind::Rsqrt:
    case OpKind::Abs:
    case OpKind::Neg:
    case OpKind::Cast:
      return unary(kind);
    case OpKind::Dequantize:
      return single(kind, NoAttributes{}, {activation("in", {2, 10})},
                    {plain("out", {2, 10}, DataType::Float32)});
    case OpKind::Densify:
      return single(kind, NoAttributes{}, {weights({2, 10}, {0.3F}, 0)}, {activation("out", {2, 10}, 0.3F)});
    case OpKind::Maximum:
    case OpKind::Minimum:
    case OpKind::FloorDiv:
    case OpKind::FloorMod:
    case OpKind::SquaredDifference:
      return pair(kind);
    case OpKind::Prelu:
      return prelu();
    case OpKind::TransposeConv:
      return transpose_conv();
    case OpKind::BatchMatmul:
      return batch_matmul();
    case OpKind::Sum:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:
      return reduction(kind);
    case OpKind::ArgMax:
    case OpKind::ArgMin:
      return arg(kind);
    case OpKind::TopK:
      return topk();
    case OpKind::PadV2:
      return padv2();
    case OpKind::MirrorPad:
      return mirror_pad();
    case OpKind::Slice:
      return slice();
    case OpKind::SplitV:
      return split_v();
    case OpKind::Pack:
      return pack();
    case OpKind::Unpack:
      return unpack();
    case OpKind::Gather:
      return gather();
    case OpKind::GatherNd:
      return gather_nd();
    case OpKind::DepthToSpace:
    case OpKind::SpaceToDepth:
      return block(kind);
    case OpKind::BatchToSpace:
    case OpKind::SpaceToBatch:
      return batch_block(kind);
    case OpKind::BroadcastTo:
      return broadcast_to();
    case OpKind::Squeeze:
      return single(kind, SqueezeAttributes{{0, -1}}, {activation("in", {1, 5, 1})},
                    {activation("out", {5})});
    case OpKind::ExpandDims:
      return single(kind, NoAttributes{}, {activation("in", {5, 3}), scalar_int32("axis", -1)},
                    {activation("out", {5, 3, 1})});
    case OpKind::Shape:
      return single(kind, NoAttributes{}, {activation("in", {5, 3})}, {plain("out", {2}, DataType::Int32)});
    case OpKind::Fill:
      return single(kind, NoAttributes{},
                    {constant_int32("dims", {2}, {5, 3}), plain("value", {}, DataType::Float32)},
                    {plain("out", {5, 3}, DataType::Float32)});
    case OpKind::Range:
      return range();
    case OpKind::DetectionPostProcess:
      return detection();
    default:
      return {};
  }
}

}  // namespace peraxis::ir::test
