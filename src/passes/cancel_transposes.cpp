#include "passes/cancel_transposes.hpp"

#include <algorithm>
#include <optional>

#include "kernels/kernels.hpp"
#include "passes/rewiring.hpp"

namespace peraxis::passes {
namespace {

// Each output value is made of the input values in its place.
bool works_value_by_value(ir::OpKind kind) {
  switch (kind) {
    case ir::OpKind::Add:
    case ir::OpKind::Sub:
    case ir::OpKind::Mul:
    case ir::OpKind::Div:
    case ir::OpKind::Maximum:
    case ir::OpKind::Minimum:
    case ir::OpKind::SquaredDifference:
    case ir::OpKind::Relu:
    case ir::OpKind::Relu6:
    case ir::OpKind::ReluN1To1:
    case ir::OpKind::LeakyRelu:
    case ir::OpKind::Prelu:
    case ir::OpKind::Logistic:
    case ir::OpKind::Tanh:
    case ir::OpKind::HardSwish:
    case ir::OpKind::Elu:
    case ir::OpKind::Exp:
    case ir::OpKind::Gelu:
    case ir::OpKind::Log:
    case ir::OpKind::Sin:
    case ir::OpKind::Cos:
    case ir::OpKind::Sqrt:
    case ir::OpKind::Rsqrt:
    case ir::OpKind::Abs:
    case ir::OpKind::Neg:
    case ir::OpKind::Cast:
    case ir::OpKind::Quantize:
    case ir::OpKind::Dequantize:
      return true;
    default:
      return false;
  }
}

std::vector<int32_t> inverse(const std::vector<int32_t>& order) {
  std::vector<int32_t> out(order.size());
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  return out;
}

std::vector<int32_t> permuted(const std::vector<int32_t>& shape, const std::vector<int32_t>& order) {
  std::vector<int32_t> out;
  for (const int32_t from : order) out.push_back(shape[static_cast<size_t>(from)]);
  return out;
}

// The constant with its dimensions in another order; lower ranks have ones in front.
std::optional<ir::Tensor> transposed_constant(const ir::Tensor& constant, const std::vector<int32_t>& order) {
  if (constant.quant.per_axis() || constant.shape.size() > order.size()) return std::nullopt;
  ir::Tensor out = constant;
  if (out.elements() == 1) return out;
  ir::Graph small;
  small.name = "constant";
  ir::Tensor in = constant;
  in.shape.insert(in.shape.begin(), order.size() - in.shape.size(), 1);
  in.is_constant = false;
  in.data.clear();
  out.shape = permuted(in.shape, order);
  ir::Tensor result = in;
  result.shape = out.shape;
  small.tensors = {in, result};
  const int32_t by = add_constant(small, "order", order);
  small.ops.push_back({ir::OpKind::Transpose, {0, by}, {1}, ir::NoAttributes{}});
  small.inputs = {0};
  small.outputs = {1};
  if (!ir::verify(small)) return std::nullopt;
  const std::vector<kernels::Values> inputs{constant.data};
  auto made = kernels::run_graph(small, inputs, {});
  if (!made) return std::nullopt;
  out.data = std::move(made->front());
  return out;
}

// A TRANSPOSE, what follows it, and the TRANSPOSE back.
struct Island {
  std::vector<size_t> ops;
  size_t back = 0;
};

std::optional<Island> find_island(const ir::Graph& graph, const Uses& uses, size_t first,
                                  const std::vector<int32_t>& order) {
  Island island;
  int32_t tensor = graph.ops[first].outputs[0];
  // Scales along a dimension would have to follow it.
  if (graph.tensor(tensor).quant.per_axis() || graph.tensor(graph.ops[first].inputs[0]).quant.per_axis())
    return std::nullopt;
  const std::vector<int32_t> shape = graph.tensor(tensor).shape;
  while (const auto reader = uses.only_reader(tensor)) {
    const ir::Op& op = graph.ops[*reader];
    if (graph.tensor(op.outputs[0]).quant.per_axis()) return std::nullopt;
    if (const auto back = transpose_order(graph, op)) {
      island.back = *reader;
      if (*back != inverse(order) || island.ops.empty()) return std::nullopt;
      return island;
    }
    if (!works_value_by_value(op.kind) || graph.tensor(op.outputs[0]).shape != shape) return std::nullopt;
    for (const int32_t t : op.inputs)
      if (t == ir::kAbsent || (t != tensor && !graph.tensor(t).is_constant)) return std::nullopt;
    island.ops.push_back(*reader);
    tensor = op.outputs[0];
  }
  return std::nullopt;
}

// Every operator of the island, on tensors in the first order. All or nothing.
bool turn(ir::Graph& graph, const Island& island, size_t first, const std::vector<int32_t>& order) {
  const size_t tensors = graph.tensors.size();
  std::vector<ir::Op> before;
  for (const size_t index : island.ops) before.push_back(graph.ops[index]);
  const ir::Op back_before = graph.ops[island.back];
  const std::vector<int32_t> undo = inverse(order);
  const auto turn_op = [&](size_t index, int32_t from, int32_t to) {
    for (int32_t& t : graph.ops[index].inputs) {
      if (!graph.tensor(t).is_constant) {
        t = from;
        continue;
      }
      auto constant = transposed_constant(graph.tensor(t), undo);
      if (!constant) return false;
      if (constant->shape == graph.tensor(t).shape && constant->data == graph.tensor(t).data) continue;
      t = static_cast<int32_t>(graph.tensors.size());
      graph.tensors.push_back(std::move(*constant));
    }
    graph.ops[index].outputs[0] = to;
    return static_cast<bool>(ir::verify_op(graph, index));
  };
  // The TRANSPOSE back now makes what it read: dead, and every tensor that is read stays written.
  ir::Op& back = graph.ops[island.back];
  std::swap(back.inputs[0], back.outputs[0]);
  back.inputs[1] = graph.ops[first].inputs[1];
  bool done = true;
  int32_t from = graph.ops[first].inputs[0];
  for (size_t i = 0; done && i < island.ops.size(); ++i) {
    int32_t to = back.inputs[0];
    if (i + 1 < island.ops.size()) {
      ir::Tensor counterpart = graph.tensor(graph.ops[island.ops[i]].outputs[0]);
      counterpart.shape = permuted(counterpart.shape, undo);
      to = static_cast<int32_t>(graph.tensors.size());
      graph.tensors.push_back(std::move(counterpart));
    }
    done = turn_op(island.ops[i], from, to);
    from = to;
  }
  if (done && ir::verify_op(graph, island.back)) return true;
  for (size_t i = 0; i < island.ops.size(); ++i) graph.ops[island.ops[i]] = before[i];
  graph.ops[island.back] = back_before;
  graph.tensors.resize(tensors);
  return false;
}

}  // namespace

int64_t cancel_transposes(ir::Graph& graph) {
  int64_t cancelled = 0;
  const Uses uses(graph);
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const auto order = transpose_order(graph, graph.ops[index]);
    if (!order || graph.ops[index].inputs[0] == ir::kAbsent) continue;
    const auto island = find_island(graph, uses, index, *order);
    if (island && turn(graph, *island, index, *order)) ++cancelled;
  }
  return cancelled;
}

}  // namespace peraxis::passes
