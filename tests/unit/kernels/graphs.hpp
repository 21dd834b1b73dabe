// Small graphs for the kernel tests: tensors in a row, one operator over them.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "kernels/kernels.hpp"

namespace peraxis::kernels {

inline ir::Tensor tensor(ir::DataType type, std::vector<int32_t> shape, float scale, int64_t zero_point) {
  ir::Tensor t;
  t.name = std::string("t");
  t.type = type;
  t.shape = std::move(shape);
  t.quant.scale = {scale};
  t.quant.zero_point = {zero_point};
  return t;
}

inline ir::Tensor int8_tensor(std::vector<int32_t> shape, float scale, int64_t zero_point) {
  return tensor(ir::DataType::Int8, std::move(shape), scale, zero_point);
}

template <class T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const uint8_t*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

inline ir::Tensor int32_constant(std::vector<int32_t> shape, const std::vector<int32_t>& values) {
  ir::Tensor t;
  t.name = std::string("constant");
  t.type = ir::DataType::Int32;
  t.shape = std::move(shape);
  t.is_constant = true;
  t.data = bytes_of(values);
  return t;
}

inline void make_constant(ir::Tensor& t, std::vector<uint8_t> data) {
  t.is_constant = true;
  t.data = std::move(data);
}

// Tensors 0.. are the operator's inputs, the last `outputs` ones its outputs.
inline ir::Graph one_op(ir::OpKind kind, ir::Attributes attributes, std::vector<ir::Tensor> tensors,
                        size_t outputs = 1) {
  ir::Graph graph;
  graph.name = std::string("test");
  graph.tensors = std::move(tensors);
  ir::Op op;
  op.kind = kind;
  op.attributes = std::move(attributes);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    if (i + outputs < graph.tensors.size()) {
      op.inputs.push_back(index);
      if (!graph.tensors[i].is_constant) graph.inputs.push_back(index);
    } else {
      op.outputs.push_back(index);
      graph.outputs.push_back(index);
    }
  }
  graph.ops.push_back(std::move(op));
  return graph;
}

inline Result<std::vector<std::vector<uint8_t>>> run(const ir::Graph& graph,
                                                     const std::vector<std::vector<uint8_t>>& inputs,
                                                     const Options& options = {}) {
  std::vector<Values> views(inputs.begin(), inputs.end());
  return run_graph(graph, views, options);
}

// The first output as int8 values; a failure is an empty vector and a test failure.
inline std::vector<int8_t> run_int8(const ir::Graph& graph, const std::vector<std::vector<int8_t>>& inputs,
                                    const Options& options = {}) {
  std::vector<std::vector<uint8_t>> bytes;
  for (const auto& input : inputs) bytes.push_back(bytes_of(input));
  const auto outputs = run(graph, bytes, options);
  EXPECT_TRUE(outputs) << outputs.error().text();
  if (!outputs) return {};
  return {outputs->front().begin(), outputs->front().end()};
}

}  // namespace peraxis::kernels
