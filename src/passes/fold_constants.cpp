#include "passes/fold_constants.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/kernels.hpp"
#include "passes/rewiring.hpp"

namespace peraxis::passes {
namespace {

int64_t bytes_of(const ir::Graph& graph, const std::vector<int32_t>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), int64_t{0}, [&](int64_t sum, int32_t t) {
    return sum + (t == ir::kAbsent ? 0 : graph.tensor(t).bytes());
  });
}

}  // namespace

bool depends_on_constants(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (op.kind == ir::OpKind::Shape) return !op.inputs.empty();
  return !op.inputs.empty() && std::ranges::all_of(op.inputs, [&](int32_t t) {
    return t == ir::kAbsent || graph.tensor(t).is_constant;
  });
}

std::optional<std::vector<std::vector<uint8_t>>> computed_values(const ir::Graph& graph, size_t index) {
  if (!depends_on_constants(graph, index)) return std::nullopt;
  const ir::Op& op = graph.ops[index];
  const bool shape_only = op.kind == ir::OpKind::Shape;
  std::vector<uint8_t> zeros;
  std::vector<kernels::Values> inputs;
  for (const int32_t t : op.inputs) {
    if (t == ir::kAbsent) {
      inputs.emplace_back();
      continue;
    }
    const ir::Tensor& tensor = graph.tensor(t);
    if (shape_only) zeros.resize(static_cast<size_t>(tensor.bytes()));
    inputs.emplace_back(tensor.is_constant ? tensor.data : zeros);
  }
  std::vector<std::vector<uint8_t>> made;
  for (const int32_t t : op.outputs) made.emplace_back(static_cast<size_t>(graph.tensor(t).bytes()));
  const std::vector<std::span<uint8_t>> outputs(made.begin(), made.end());
  if (!kernels::run_op(graph, index, inputs, outputs, {})) return std::nullopt;
  return made;
}

int64_t fold_constants(ir::Graph& graph) {
  const std::vector<bool> dead = ir::dead_operators(graph);
  StandIns constants;
  int64_t folded = 0, bytes = 0;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    if (dead[index]) continue;
    constants.apply(graph, index);
    const std::vector<int32_t> outputs = graph.ops[index].outputs;
    const int64_t more = bytes_of(graph, outputs);
    if (bytes + more > kMostFoldedBytes || bytes_of(graph, graph.ops[index].inputs) > kMostFoldedBytes)
      continue;
    auto made = computed_values(graph, index);
    if (!made) continue;
    bytes += more;
    ++folded;
    for (size_t i = 0; i < outputs.size(); ++i) {
      ir::Tensor constant = graph.tensor(outputs[i]);
      constant.is_constant = true;
      constant.data = std::move((*made)[i]);
      constants.set(outputs[i], static_cast<int32_t>(graph.tensors.size()));
      graph.tensors.push_back(std::move(constant));
    }
  }
  return folded;
}

}  // namespace peraxis::passes
