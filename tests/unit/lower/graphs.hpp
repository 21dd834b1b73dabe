// Tensors of small graphs for the tests of this folder.
#pragma once

#include <utility>
#include <vector>

#include "ir/graph.hpp"

namespace peraxis::lower {

// int8, scale 0.1, zero point 0; constants are zeros.
inline void add_tensor(ir::Graph& graph, std::vector<int32_t> shape, bool constant) {
  ir::Tensor t;
  t.shape = std::move(shape);
  t.quant = {{0.1F}, {0}, 0};
  t.is_constant = constant;
  if (constant) t.data.resize(static_cast<size_t>(t.elements()));
  graph.tensors.push_back(std::move(t));
}

}  // namespace peraxis::lower
