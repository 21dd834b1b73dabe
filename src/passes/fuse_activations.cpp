#include "passes/fuse_activations.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "passes/rewiring.hpp"

namespace peraxis::passes {
namespace {

std::optional<ir::Activation> activation_of(ir::OpKind kind) {
  switch (kind) {
    case ir::OpKind::Relu:
      return ir::Activation::Relu;
    case ir::OpKind::Relu6:
      return ir::Activation::Relu6;
    case ir::OpKind::ReluN1To1:
      return ir::Activation::ReluN1To1;
    default:
      return std::nullopt;
  }
}

// Where the operator keeps the activation it applies; null for those that have none.
ir::Activation* own_activation(ir::Op& op) {
  return std::visit(
      [](auto& attributes) -> ir::Activation* {
        if constexpr (requires { attributes.activation; }) return &attributes.activation;
        return nullptr;
      },
      op.attributes);
}

// The activation of every value is the clamp that a fused one applies.
bool is_clamp(const ir::Graph& graph, const ir::Op& op, ir::Activation activation) {
  const ir::Tensor& output = graph.tensor(op.outputs[0]);
  if (!is_8bit(output) || !same_meaning(graph.tensor(op.inputs[0]), output)) return false;
  const auto table = table_of(graph, std::array{&op});
  if (!table) return false;
  const ir::StoredRange range = ir::activation_range(output, activation);
  if (range.low > range.high) return false;
  for (size_t i = 0; i < table->size(); ++i)
    if (stored(output, (*table)[i]) !=
        std::clamp(stored(output, static_cast<uint8_t>(i)), range.low, range.high))
      return false;
  return true;
}

}  // namespace

int64_t fuse_activations(ir::Graph& graph) {
  Uses uses(graph);
  int64_t fused = 0;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    ir::Op& op = graph.ops[index];
    const auto activation = activation_of(op.kind);
    if (!activation) continue;
    const int32_t before = op.inputs[0], after = op.outputs[0];
    const int32_t maker = uses.maker[static_cast<size_t>(before)];
    if (maker < 0 || !uses.only_reader(before)) continue;
    ir::Op& producer = graph.ops[static_cast<size_t>(maker)];
    ir::Activation* own = own_activation(producer);
    // A concatenation of parts with the output's scale takes no arithmetic, which a clamp is.
    if (own == nullptr || *own != ir::Activation::None || producer.kind == ir::OpKind::Concatenation ||
        !is_clamp(graph, op, *activation))
      continue;
    const ir::Op unfused = producer;
    *own = *activation;
    producer.outputs[0] = after;
    if (!ir::verify_op(graph, static_cast<size_t>(maker))) {
      producer = unfused;
      continue;
    }
    op.inputs[0] = after;
    op.outputs[0] = before;
    uses.maker[static_cast<size_t>(after)] = maker;
    uses.maker[static_cast<size_t>(before)] = static_cast<int32_t>(index);
    uses.readers[static_cast<size_t>(before)].clear();
    ++fused;
  }
  return fused;
}

}  // namespace peraxis::passes
