#include "passes/resolve_shapes.hpp"

#include <algorithm>

#include "ir/pads.hpp"
#include "passes/fold_constants.hpp"

namespace peraxis::passes {
namespace {

class Resolver {
 public:
  explicit Resolver(ir::Graph& graph) : graph_(graph), constant_(graph.tensors.size(), ir::kAbsent) {
    // Weights may become four bytes a value from a half; more than that only chains of operators make.
    for (const ir::Tensor& tensor : graph.tensors) left_ += 8 * static_cast<int64_t>(tensor.data.size());
  }

  Result<int64_t> run() {
    for (size_t index = 0; index < graph_.ops.size(); ++index) {
      ir::Op& op = graph_.ops[index];
      for (int32_t& input : op.inputs)
        if (is_replaced(input)) input = constant_[static_cast<size_t>(input)];
      if (is_open(op)) PERAXIS_TRY(ir::infer_shapes(graph_, index));
      compute(index);
    }
    return computed_;
  }

 private:
  bool is_replaced(int32_t tensor) const {
    return tensor != ir::kAbsent && static_cast<size_t>(tensor) < constant_.size() &&
           constant_[static_cast<size_t>(tensor)] != ir::kAbsent;
  }

  bool is_open(const ir::Op& op) const {
    const ir::Pads* pads = ir::pads_of(op);
    return (pads != nullptr && pads->rule != ir::Pads::Rule::Stated) ||
           std::ranges::any_of(op.outputs, [&](int32_t t) { return graph_.tensor(t).open_shape; });
  }

  // An operator that breaks its rule stays as it is: the last verification says why.
  void compute(size_t index) {
    if (!depends_on_constants(graph_, index) || !ir::verify_op(graph_, index)) return;
    const std::vector<int32_t> outputs = graph_.ops[index].outputs;
    int64_t bytes = 0;
    for (const int32_t output : outputs) bytes += graph_.tensor(output).bytes();
    if (bytes > left_) return;
    auto made = computed_values(graph_, index);
    if (!made) return;
    left_ -= bytes;
    ++computed_;
    for (size_t i = 0; i < outputs.size(); ++i) {
      ir::Tensor constant = graph_.tensor(outputs[i]);
      constant.is_constant = true;
      constant.data = std::move((*made)[i]);
      constant_[static_cast<size_t>(outputs[i])] = static_cast<int32_t>(graph_.tensors.size());
      graph_.tensors.push_back(std::move(constant));
    }
  }

  ir::Graph& graph_;
  std::vector<int32_t> constant_;  // by tensor of the file: the constant with its values
  int64_t left_ = kMostFoldedBytes;
  int64_t computed_ = 0;
};

}  // namespace

Result<int64_t> resolve_shapes(ir::Graph& graph) {
  if (ir::verify(graph)) return 0;
  const int64_t computed = PERAXIS_TRY(Resolver(graph).run());
  PERAXIS_TRY(ir::verify(graph));
  return computed;
}

}  // namespace peraxis::passes
