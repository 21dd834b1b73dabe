// Figures about a graph that reports show: multiplications and weight scales of its layers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.hpp"

namespace peraxis::engine {

// Multiply-accumulates of a convolution-like operator, padding taps included; 0 for others.
int64_t op_macs(const ir::Graph& graph, size_t op);
int64_t graph_macs(const ir::Graph& graph);

struct ScaleSpread {
  int64_t channels = 0;  // scales; 1 when per-tensor
  int64_t dead = 0;      // channels whose weights are all zero: left out of the ratio
  double min = 0, max = 0;
  double ratio = 1;  // max / min over the others
};
// Of the weights of a convolution-like operator; none when they are not quantized or not in the file.
std::optional<ScaleSpread> scale_spread(const ir::Graph& graph, size_t op);

// Tensors that a run can produce or read: inputs, outputs and everything between, no constants.
std::vector<bool> activations(const ir::Graph& graph);

}  // namespace peraxis::engine
