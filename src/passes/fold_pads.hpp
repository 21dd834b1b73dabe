// PAD in front of a convolution becomes the convolution's own padding: one map less in memory, and no
// operator of the host between two of the NPU. Models made by PyTorch exporters have one before every stride
// of two.
#pragma once

#include <cstdint>

#include "ir/graph.hpp"

namespace peraxis::passes {

// Takes every PAD of rows and columns of 8-bit maps whose reader is a conv_2d or depthwise_conv_2d into that
// reader; padding is then the input's zero point, as PAD writes it. Tensors and operators keep their indices:
// a PAD that nobody reads any more stays as a dead operator. Returns how many readers changed.
int64_t fold_pads(ir::Graph& graph);

}  // namespace peraxis::passes
