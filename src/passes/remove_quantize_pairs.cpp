#include "passes/remove_quantize_pairs.hpp"

#include <algorithm>
#include <array>

#include "passes/rewiring.hpp"

namespace peraxis::passes {
namespace {

bool is_identity(const std::vector<uint8_t>& table) {
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i] != i) return false;
  return true;
}

// The QUANTIZE or DEQUANTIZE of an 8-bit tensor that makes `tensor`.
const ir::Op* change_of_scale(const ir::Graph& graph, const std::vector<int32_t>& maker, int32_t tensor) {
  const int32_t index = maker[static_cast<size_t>(tensor)];
  if (index < 0) return nullptr;
  const ir::Op& op = graph.ops[static_cast<size_t>(index)];
  const bool changes = op.kind == ir::OpKind::Quantize || op.kind == ir::OpKind::Dequantize;
  return changes && is_8bit(graph.tensor(op.inputs[0])) && !graph.tensor(op.inputs[0]).is_constant ? &op
                                                                                                   : nullptr;
}

}  // namespace

int64_t remove_quantize_pairs(ir::Graph& graph) {
  const std::vector<int32_t> maker = Uses(graph).maker;
  StandIns sources;
  int64_t changed = 0;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    sources.apply(graph, index);
    ir::Op& op = graph.ops[index];
    if (op.kind != ir::OpKind::Quantize || !is_8bit(graph.tensor(op.outputs[0]))) continue;
    const ir::Op* first = change_of_scale(graph, maker, op.inputs[0]);
    if (first != nullptr) {
      const auto pair = table_of(graph, std::array{first, static_cast<const ir::Op*>(&op)});
      ir::Op direct = op;
      direct.inputs[0] = first->inputs[0];
      const auto one = table_of(graph, std::array{static_cast<const ir::Op*>(&direct)});
      if (pair && one && *pair == *one) {
        op = std::move(direct);
        ++changed;
      } else if (pair && same_meaning(graph.tensor(direct.inputs[0]), graph.tensor(op.outputs[0])) &&
                 is_identity(*pair)) {
        sources.set(op.outputs[0], direct.inputs[0]);
        ++changed;
        continue;
      }
    }
    const ir::Tensor& from = graph.tensor(op.inputs[0]);
    if (from.is_constant || !same_meaning(from, graph.tensor(op.outputs[0]))) continue;
    const auto table = table_of(graph, std::array{static_cast<const ir::Op*>(&op)});
    if (!table || !is_identity(*table)) continue;
    sources.set(op.outputs[0], op.inputs[0]);
    if (first == nullptr) ++changed;
  }
  return changed;
}

}  // namespace peraxis::passes
