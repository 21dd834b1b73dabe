// Which dimension of a tensor is what. The graph has one layout for each operand; an importer of a format
// that has others turns shapes, constants and axes into these, with a transpose where a value is computed.
//
//   maps                      [images, rows, columns, channels]      NHWC, channels next to each other
//   weights of conv_2d        [outputs, rows, columns, inputs of a group]                        OHWI
//              transpose_conv [outputs, rows, columns, inputs]                                   OHWI
//              depthwise      [1, rows, columns, outputs]; output o reads channel o / (outputs / channels)
//              fully_connected [outputs, inputs]; its input is matrices of rows of `inputs` values
//   biases                    [outputs]
//   everything else           as its operator says (docs/arithmetic.md); axes count from the outermost
//
// Kernels are not turned: the first row of weights meets the first row of a window (a correlation), and of a
// transposed convolution the first row of what an input pixel adds.
#pragma once

#include <cstddef>

#include "ir/graph.hpp"

namespace peraxis::ir {

inline constexpr size_t kImages = 0, kRows = 1, kColumns = 2, kChannels = 3;  // of a map

struct WeightLayout {
  size_t rank, outputs, rows, columns, inputs;
};
inline constexpr WeightLayout kConvWeights{4, 0, 1, 2, 3};
inline constexpr WeightLayout kDepthwiseWeights{4, 3, 1, 2, 0};       // one input each: dimension 0 is 1
inline constexpr WeightLayout kFullyConnectedWeights{2, 0, 0, 0, 1};  // no rows and columns

// Of a convolution-like operator.
constexpr const WeightLayout& weight_layout(OpKind kind) {
  if (kind == OpKind::DepthwiseConv2D) return kDepthwiseWeights;
  return kind == OpKind::FullyConnected ? kFullyConnectedWeights : kConvWeights;
}

}  // namespace peraxis::ir
