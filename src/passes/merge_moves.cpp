#include "passes/merge_moves.hpp"

#include <algorithm>
#include <optional>

#include "passes/rewiring.hpp"

namespace peraxis::passes {
namespace {

bool is_reshape(ir::OpKind kind) {
  return kind == ir::OpKind::Reshape || kind == ir::OpKind::Squeeze || kind == ir::OpKind::ExpandDims;
}

bool keeps_order(const std::vector<int32_t>& permutation, const std::vector<int32_t>& shape) {
  int32_t last = -1;
  for (const int32_t from : permutation) {
    if (shape[static_cast<size_t>(from)] == 1) continue;
    if (from < last) return false;
    last = from;
  }
  return true;
}

class Merger {
 public:
  explicit Merger(ir::Graph& graph) : graph_(graph), maker_(Uses(graph).maker) {}

  int64_t run() {
    const std::vector<bool> dead = ir::dead_operators(graph_);
    for (size_t index = 0; index < graph_.ops.size(); ++index) {
      if (dead[index]) continue;
      inputs_.apply(graph_, index);
      bool changed = merge_transpose(index);
      changed = merge_reshape(index) || changed;
      changed = pass_by(graph_.ops[index]) || changed;
      if (changed) ++changed_;
    }
    return changed_;
  }

 private:
  const ir::Op* maker(int32_t tensor) const {
    const int32_t op = maker_[static_cast<size_t>(tensor)];
    return op < 0 ? nullptr : &graph_.ops[static_cast<size_t>(op)];
  }

  // Puts the changed operator in the place of the old one, if its rule takes it.
  bool replace(size_t index, ir::Op op) {
    std::swap(graph_.ops[index], op);
    if (ir::verify_op(graph_, index)) return true;
    std::swap(graph_.ops[index], op);
    return false;
  }

  bool merge_transpose(size_t index) {
    const ir::Op& op = graph_.ops[index];
    auto order = transpose_order(graph_, op);
    if (!order) return false;
    bool changed = false;
    if (const ir::Op* first = maker(op.inputs[0])) {
      if (const auto before = transpose_order(graph_, *first)) {
        for (int32_t& from : *order) from = (*before)[static_cast<size_t>(from)];
        const std::string& name = graph_.tensor(op.inputs[1]).name;
        const int32_t both = add_constant(graph_, name + " (merged)", *order);
        changed = replace(index, {op.kind, {first->inputs[0], both}, op.outputs, op.attributes});
        if (!changed) return false;
      }
    }
    const ir::Op& now = graph_.ops[index];
    if (!keeps_order(*order, graph_.tensor(now.inputs[0]).shape)) return changed;
    return replace(index, reshape(now, now.inputs[0])) || changed;
  }

  ir::Op reshape(const ir::Op& op, int32_t input) {
    const ir::Tensor& out = graph_.tensor(op.outputs[0]);
    const std::vector<int32_t> sizes = out.shape;
    const int32_t shape = add_constant(graph_, out.name + " (shape)", sizes);
    return {ir::OpKind::Reshape, {input, shape}, op.outputs, ir::NoAttributes{}};
  }

  bool merge_reshape(size_t index) {
    const ir::Op& op = graph_.ops[index];
    if (!is_reshape(op.kind)) return false;
    const ir::Op* first = maker(op.inputs[0]);
    if (first == nullptr || !is_reshape(first->kind)) return false;
    return replace(index, reshape(op, first->inputs[0]));
  }

  // Only RESHAPE may move nothing here: a TRANSPOSE that does became one.
  bool pass_by(const ir::Op& op) {
    if (!is_reshape(op.kind)) return false;
    const ir::Tensor& in = graph_.tensor(op.inputs[0]);
    const ir::Tensor& out = graph_.tensor(op.outputs[0]);
    if (in.is_constant || in.shape != out.shape || !same_meaning(in, out)) return false;
    inputs_.set(op.outputs[0], op.inputs[0]);
    return true;
  }

  ir::Graph& graph_;
  std::vector<int32_t> maker_;
  StandIns inputs_;
  int64_t changed_ = 0;
};

}  // namespace

int64_t merge_moves(ir::Graph& graph) {
  return Merger(graph).run();
}

}  // namespace peraxis::passes
