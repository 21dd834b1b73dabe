// Small valid graphs of the operators that keep state. The state is read as an input that is none of the
// graph's and written as an output that is none either.
#pragma once

#include "graph_parts.hpp"
#include "ir/operands.hpp"

namespace peraxis::ir::test {

inline Tensor float_tensor(const char* name, std::vector<int32_t> shape) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = DataType::Float32;
  tensor.shape = std::move(shape);
  return tensor;
}
inline Tensor float_constant(const char* name, std::vector<int32_t> shape, std::vector<float> values) {
  Tensor tensor = float_tensor(name, std::move(shape));
  tensor.is_constant = true;
  tensor.data.resize(values.size() * sizeof(float));
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

// The tensors of input `slot` and output `out` become a state.
inline void keep(Graph& graph, size_t slot, size_t out) {
  const int32_t before = graph.ops[0].inputs[slot], after = graph.ops[0].outputs[out];
  std::erase(graph.inputs, before);
  std::erase(graph.outputs, after);
  graph.states.push_back({before, after});
}

// One filter that remembers two values: the output is the older one plus ten times the newer one.
inline Graph svdf() {
  Graph graph = single(OpKind::Svdf, SvdfAttributes{},
                       {float_tensor("in", {1, 1}), float_constant("feature", {1, 1}, {1}),
                        float_constant("time", {1, 2}, {1, 10}), float_constant("bias", {1}, {0}),
                        float_tensor("state", {1, 2})},
                       {float_tensor("out", {1, 1}), float_tensor("after", {1, 2})});
  keep(graph, 4, 1);
  return graph;
}

// Two cells, three inputs, without peephole weights and projection.
inline Graph sequence_lstm() {
  std::vector<Tensor> inputs = {float_tensor("in", {1, 2, 3})};
  for (int i = 0; i < 4; ++i) inputs.push_back(float_constant("w", {2, 3}, std::vector<float>(6, 0.5F)));
  for (int i = 0; i < 4; ++i) inputs.push_back(float_constant("r", {2, 2}, std::vector<float>(4, 0.25F)));
  for (int i = 0; i < 4; ++i) inputs.push_back(float_constant("b", {2}, {0.125F, 0}));
  inputs.push_back(float_tensor("state", {1, 2}));
  inputs.push_back(float_tensor("cells", {1, 2}));
  Graph graph = single(OpKind::SequenceLstm, LstmAttributes{}, inputs,
                       {float_tensor("out", {1, 2, 2}), float_tensor("state/after", {1, 2}),
                        float_tensor("cells/after", {1, 2})});
  // Tensors lie one after the other; absent inputs go in between.
  std::vector<int32_t>& slots = graph.ops[0].inputs;
  std::vector<int32_t> spread(20, kAbsent);
  for (size_t i = 0; i < 9; ++i) spread[i] = slots[i];
  for (size_t i = 0; i < 4; ++i) spread[kLstmBias + i] = slots[9 + i];
  spread[kLstmOutputState] = slots[13];
  spread[kLstmCellState] = slots[14];
  slots = spread;
  keep(graph, kLstmOutputState, 1);
  keep(graph, kLstmCellState, 2);
  return graph;
}

}  // namespace peraxis::ir::test
