// Equality of graphs to the bit, for round-trip tests.
#pragma once

#include <algorithm>

#include "ir/graph.hpp"

namespace peraxis::ir::test {

inline bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.type == b.type && a.shape == b.shape && a.quant == b.quant &&
         a.is_constant == b.is_constant && a.data == b.data;
}

inline bool same_op(const Op& a, const Op& b) {
  return a.kind == b.kind && a.inputs == b.inputs && a.outputs == b.outputs && a.attributes == b.attributes;
}

inline bool same_graph(const Graph& a, const Graph& b) {
  return a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), same_tensor) &&
         std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same_op);
}

}  // namespace peraxis::ir::test
