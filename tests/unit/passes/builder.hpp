// Tensors of small graphs.
#pragma once

#include <vector>

#include "ir/graph.hpp"

namespace peraxis::passes {

inline int32_t add(ir::Graph& g, ir::DataType type, std::vector<int32_t> shape, std::vector<float> scale,
                   int64_t zero_point) {
  ir::Tensor t;
  t.name = fmt::format("t{}", g.tensors.size());
  t.type = type;
  t.shape = std::move(shape);
  t.quant.scale = std::move(scale);
  t.quant.zero_point.assign(t.quant.scale.size(), zero_point);
  g.tensors.push_back(std::move(t));
  return static_cast<int32_t>(g.tensors.size() - 1);
}

template <class T>
int32_t constant(ir::Graph& g, ir::DataType type, std::vector<int32_t> shape, const std::vector<T>& values,
                 std::vector<float> scale = {}) {
  const int32_t t = add(g, type, std::move(shape), std::move(scale), 0);
  ir::Tensor& tensor = g.tensors[static_cast<size_t>(t)];
  tensor.is_constant = true;
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  tensor.data.assign(bytes, bytes + values.size() * sizeof(T));
  return t;
}

}  // namespace peraxis::passes
