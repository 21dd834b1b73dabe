#include "passes/rewiring.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/kernels.hpp"

namespace peraxis::passes {

Uses::Uses(const ir::Graph& graph)
    : maker(graph.tensors.size(), -1), readers(graph.tensors.size()), is_output(graph.tensors.size()) {
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    for (const int32_t t : graph.ops[op].inputs) {
      if (t == ir::kAbsent) continue;
      std::vector<size_t>& list = readers[static_cast<size_t>(t)];
      if (list.empty() || list.back() != op) list.push_back(op);
    }
    for (const int32_t t : graph.ops[op].outputs) maker[static_cast<size_t>(t)] = static_cast<int32_t>(op);
  }
  for (const int32_t t : graph.outputs) is_output[static_cast<size_t>(t)] = true;
  for (const ir::KeptState& state : graph.states) is_output[static_cast<size_t>(state.after)] = true;
}

std::optional<size_t> Uses::only_reader(int32_t tensor) const {
  const auto t = static_cast<size_t>(tensor);
  if (is_output[t] || readers[t].size() != 1) return std::nullopt;
  return readers[t].front();
}

void StandIns::set(int32_t tensor, int32_t other) {
  if (other_.size() <= static_cast<size_t>(tensor)) other_.resize(static_cast<size_t>(tensor) + 1, -1);
  other_[static_cast<size_t>(tensor)] = other;
}

void StandIns::apply(ir::Graph& graph, size_t index) const {
  ir::Op& op = graph.ops[index];
  std::vector<int32_t> before;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int32_t t = op.inputs[i];
    if (t == ir::kAbsent || static_cast<size_t>(t) >= other_.size() || other_[static_cast<size_t>(t)] < 0)
      continue;
    if (before.empty()) before = op.inputs;
    op.inputs[i] = other_[static_cast<size_t>(t)];
  }
  if (!before.empty() && !ir::verify_op(graph, index)) op.inputs = std::move(before);
}

int32_t add_constant(ir::Graph& graph, std::string name, std::span<const int32_t> values) {
  ir::Tensor t;
  t.name = std::move(name);
  t.type = ir::DataType::Int32;
  t.shape = {static_cast<int32_t>(values.size())};
  t.is_constant = true;
  t.data.resize(values.size_bytes());
  if (!values.empty()) std::memcpy(t.data.data(), values.data(), values.size_bytes());
  graph.tensors.push_back(std::move(t));
  return static_cast<int32_t>(graph.tensors.size() - 1);
}

std::optional<std::vector<int32_t>> int32_values(const ir::Graph& graph, int32_t tensor) {
  if (tensor == ir::kAbsent) return std::nullopt;
  const ir::Tensor& t = graph.tensor(tensor);
  if (!t.is_constant || t.type != ir::DataType::Int32 || static_cast<int64_t>(t.data.size()) != t.bytes())
    return std::nullopt;
  std::vector<int32_t> out(t.data.size() / sizeof(int32_t));
  if (!out.empty()) std::memcpy(out.data(), t.data.data(), t.data.size());
  return out;
}

std::optional<std::vector<int32_t>> transpose_order(const ir::Graph& graph, const ir::Op& op) {
  if (op.kind != ir::OpKind::Transpose || op.inputs.size() != 2) return std::nullopt;
  auto order = int32_values(graph, op.inputs[1]);
  const auto rank = static_cast<int32_t>(graph.tensor(op.inputs[0]).shape.size());
  if (!order || static_cast<int32_t>(order->size()) != rank) return std::nullopt;
  for (int32_t& from : *order) {
    if (from < 0) from += rank;
    if (from < 0 || from >= rank) return std::nullopt;
  }
  return order;
}

bool is_8bit(const ir::Tensor& tensor) {
  return tensor.type == ir::DataType::Int8 || tensor.type == ir::DataType::UInt8;
}

bool same_meaning(const ir::Tensor& a, const ir::Tensor& b) {
  return a.type == b.type && a.quant == b.quant;
}

std::optional<std::vector<uint8_t>> table_of(const ir::Graph& graph, std::span<const ir::Op* const> chain) {
  constexpr int32_t kValues = 256;
  ir::Graph small;
  small.name = "chain";
  const auto add = [&](int32_t tensor) {
    ir::Tensor t = graph.tensor(tensor);
    t.shape = {kValues};
    t.is_constant = false;
    t.data.clear();
    small.tensors.push_back(std::move(t));
    return static_cast<int32_t>(small.tensors.size() - 1);
  };
  add(chain.front()->inputs[0]);
  for (const ir::Op* op : chain) {
    const auto from = static_cast<int32_t>(small.tensors.size() - 1);
    small.ops.push_back({op->kind, {from}, {add(op->outputs[0])}, op->attributes});
  }
  if (!is_8bit(small.tensors.front()) || !is_8bit(small.tensors.back())) return std::nullopt;
  small.inputs = {0};
  small.outputs = {static_cast<int32_t>(small.tensors.size() - 1)};
  if (!ir::verify(small)) return std::nullopt;
  std::vector<uint8_t> values(kValues);
  std::iota(values.begin(), values.end(), uint8_t{0});
  const std::vector<kernels::Values> inputs{values};
  kernels::Options options;
  options.path = kernels::Path::Reference;
  auto made = kernels::run_graph(small, inputs, options);
  if (!made) return std::nullopt;
  return std::move(made->front());
}

int32_t stored(const ir::Tensor& tensor, uint8_t b) {
  return tensor.type == ir::DataType::Int8 ? static_cast<int8_t>(b) : b;
}

}  // namespace peraxis::passes
