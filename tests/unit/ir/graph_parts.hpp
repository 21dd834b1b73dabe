// Tensors and graphs of one operator, for tests that then break one thing at a time.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace peraxis::ir::test {

inline Tensor activation(const char* name, std::vector<int32_t> shape, float scale = 0.5F,
                         int64_t zero_point = 3, DataType type = DataType::Int8) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.quant = {{scale}, {zero_point}, 0};
  return tensor;
}

inline Tensor constant_int32(const char* name, std::vector<int32_t> shape, std::vector<int32_t> values) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = DataType::Int32;
  tensor.shape = std::move(shape);
  tensor.is_constant = true;
  tensor.data.resize(values.size() * 4);
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

// int8 or uint8 weights filled with ones.
inline Tensor weights(std::vector<int32_t> shape, std::vector<float> scale, int32_t dimension,
                      DataType type = DataType::Int8) {
  Tensor tensor;
  tensor.name = "weights";
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.quant.zero_point.assign(scale.size(), 0);
  tensor.quant.scale = std::move(scale);
  tensor.quant.quantized_dimension = dimension;
  tensor.is_constant = true;
  tensor.data.assign(static_cast<size_t>(tensor.elements()), 1);
  return tensor;
}

// Tensors 0.. are the operator's inputs, then its outputs; graph inputs are the inputs that are no constants.
inline Graph single(OpKind kind, Attributes attributes, std::vector<Tensor> inputs,
                    std::vector<Tensor> outputs) {
  Graph graph;
  graph.name = "single";
  Op op;
  op.kind = kind;
  op.attributes = attributes;
  for (Tensor& tensor : inputs) {
    const auto index = static_cast<int32_t>(graph.tensors.size());
    if (!tensor.is_constant) graph.inputs.push_back(index);
    op.inputs.push_back(index);
    graph.tensors.push_back(std::move(tensor));
  }
  for (Tensor& tensor : outputs) {
    const auto index = static_cast<int32_t>(graph.tensors.size());
    op.outputs.push_back(index);
    graph.outputs.push_back(index);
    graph.tensors.push_back(std::move(tensor));
  }
  graph.ops.push_back(std::move(op));
  return graph;
}

}  // namespace peraxis::ir::test
