// An activation that stands alone behind a convolution, a pool or arithmetic becomes that operator's own:
// one task less.
#pragma once

#include <cstdint>

#include "ir/graph.hpp"

namespace peraxis::passes {

// Takes RELU, RELU6 and RELU_N1_TO_1 of an 8-bit tensor into the operator that makes it, where nothing else
// reads it, that operator has no activation of its own and the clamp gives the values of the activation for
// all 256. The operator then makes the activation's output; the activation, dead, reads that and makes the
// tensor before it, which equals it. Returns how many were taken in.
int64_t fuse_activations(ir::Graph& graph);

}  // namespace peraxis::passes
