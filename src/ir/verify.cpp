// Graph-wide rules first (indices, definitions, sizes), so that the rules of single operators, in ops/, may
// follow every index without asking.
#include <array>
#include <cmath>

#include "ir/ops/rules.hpp"
#include "ir/pads.hpp"
#include "ir/shape.hpp"

namespace peraxis::ir {

Status check_quantization(const QuantParams& quant, std::span<const int32_t> shape) {
  if (!quant.quantized()) return {};
  if (quant.zero_point.size() != quant.scale.size()) {
    return fail(ErrorCode::InvalidModel, "{} scales but {} zero points", quant.scale.size(),
                quant.zero_point.size());
  }
  for (const float scale : quant.scale) {
    if (!std::isfinite(scale) || scale < 0.0F) {
      return fail(ErrorCode::InvalidModel, "the scale {} is not a finite number of at least 0", scale);
    }
  }
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (quant.quantized_dimension < 0 || (rank > 0 && quant.quantized_dimension >= rank)) {
    return fail(ErrorCode::InvalidModel,
                "quantized_dimension {} is outside the rank of {} (LiteRT refuses it too)",
                quant.quantized_dimension, rank);
  }
  if (quant.scale.size() == 1) return {};
  const int64_t channels = rank == 0 ? 1 : shape[static_cast<size_t>(quant.quantized_dimension)];
  if (static_cast<int64_t>(quant.scale.size()) != channels) {
    return fail(ErrorCode::InvalidModel, "{} scales for dimension {} of size {}; it needs 1 or {}",
                quant.scale.size(), quant.quantized_dimension, channels, channels);
  }
  return {};
}

namespace {

Status verify_tensor(const Tensor& tensor) {
  if (tensor.open_shape) {
    return fail(ErrorCode::InvalidModel,
                "it has no shape: the file declares none, and no operator before its reader gives it one");
  }
  PERAXIS_TRY(check_shape(tensor.shape));
  PERAXIS_TRY(check_quantization(tensor.quant, tensor.shape));
  const StoredRange range = type_range(tensor.type);
  for (const int64_t zero_point : tensor.quant.zero_point) {
    if (zero_point < range.low || zero_point > range.high) {
      return fail(ErrorCode::InvalidModel, "the zero point {} is outside {}..{} of {}", zero_point, range.low,
                  range.high, data_type_name(tensor.type));
    }
  }
  if (tensor.is_constant && static_cast<int64_t>(tensor.data.size()) != tensor.bytes()) {
    return fail(ErrorCode::InvalidModel, "the constant has {} data bytes, {} of shape {} needs {}",
                tensor.data.size(), data_type_name(tensor.type), shape_text(tensor.shape), tensor.bytes());
  }
  if (!tensor.is_constant && !tensor.data.empty()) {
    return fail(ErrorCode::InvalidModel, "it has {} data bytes but is no constant", tensor.data.size());
  }
  return {};
}

// Which tensors have a value so far: constants, graph inputs, outputs of the operators before.
class Definitions {
 public:
  explicit Definitions(const Graph& graph) : graph_(graph), defined_(graph.tensors.size(), false) {}

  Status check_index(int32_t index, const char* what, size_t slot) const {
    if (index >= 0 && static_cast<size_t>(index) < defined_.size()) return {};
    return fail(ErrorCode::InvalidModel, "{} {} is tensor {}, the graph has {}", what, slot, index,
                defined_.size());
  }
  Status define(int32_t index) {
    if (graph_.tensor(index).is_constant) {
      return fail(ErrorCode::InvalidModel, "{} is written but is a constant", tensor_label(graph_, index));
    }
    if (defined_[static_cast<size_t>(index)]) {
      return fail(ErrorCode::InvalidModel, "{} is written a second time", tensor_label(graph_, index));
    }
    defined_[static_cast<size_t>(index)] = true;
    return {};
  }
  bool computed(int32_t index) const { return defined_[static_cast<size_t>(index)]; }
  bool readable(int32_t index) const { return graph_.tensor(index).is_constant || computed(index); }

 private:
  const Graph& graph_;
  std::vector<bool> defined_;
};

Status verify_links(const Graph& graph, const Op& op, Definitions& definitions) {
  for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
    const int32_t index = op.inputs[slot];
    if (index == kAbsent) continue;
    PERAXIS_TRY(definitions.check_index(index, "input", slot));
    if (!definitions.readable(index)) {
      return fail(ErrorCode::InvalidModel, "input {}, {}, is read before any operator writes it", slot,
                  tensor_label(graph, index));
    }
  }
  for (size_t slot = 0; slot < op.outputs.size(); ++slot) {
    PERAXIS_TRY(definitions.check_index(op.outputs[slot], "output", slot));
    PERAXIS_TRY(definitions.define(op.outputs[slot]));
  }
  return {};
}

Status verify_rule(const rules::OpView& view) {
  constexpr std::array kRules{
#define PERAXIS_OP(kind, name, rule, attributes) &rules::rule,
#include "ir/ops.def"
#undef PERAXIS_OP
  };
  const auto kind = static_cast<size_t>(view.op().kind);
  if (kind >= kRules.size()) return fail(ErrorCode::Internal, "no rule for operator kind {}", kind);
  return kRules[kind](view);
}

Status labelled(Status status, const std::string& label) {
  if (status) return status;
  Error error = std::move(status).error();
  error.message = label + ": " + error.message;
  return tl::make_unexpected(std::move(error));
}

// LiteRT refuses an activation bound that is no int32 in the output's steps.
Status verify_activation(const Graph& graph, const Op& op) {
  const Activation activation = std::visit(
      [](const auto& attributes) {
        if constexpr (requires { attributes.activation; }) return attributes.activation;
        return Activation::None;
      },
      op.attributes);
  if (activation != Activation::Relu6 && activation != Activation::ReluN1To1) return {};
  if (!rules::is_quantized_type(graph.tensor(op.outputs[0]).type)) return {};
  const float bound = activation == Activation::Relu6 ? 6.0F : 1.0F;
  const float scale = graph.tensor(op.outputs[0]).quant.scale[0];
  if (static_cast<double>(bound / scale) < 2147483647.0) return {};
  return fail(ErrorCode::InvalidModel,
              "{} with the output's scale {:.9g}: the bound {} is {:.4g} steps, beyond int32",
              activation_name(activation), scale, bound,
              static_cast<double>(bound) / static_cast<double>(scale));
}

// Before the operators: what is read of a state is there from the start.
Status define_states(const Graph& graph, Definitions& definitions) {
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const auto [before, after] = graph.states[i];
    PERAXIS_TRY(definitions.check_index(before, "what is read of state", i));
    PERAXIS_TRY(definitions.check_index(after, "what is written of state", i));
    PERAXIS_TRY(definitions.define(before));
    const Tensor& a = graph.tensor(before);
    const Tensor& b = graph.tensor(after);
    if (a.type != b.type || a.shape != b.shape || a.quant != b.quant) {
      return fail(ErrorCode::InvalidModel, "state {}: {} and {} have different types, shapes or scales", i,
                  tensor_label(graph, before), tensor_label(graph, after));
    }
  }
  return {};
}

// After them: each was written, by the operator that read it, and is nothing else.
Status verify_states(const Graph& graph) {
  if (graph.states.empty()) return {};
  std::vector<int32_t> readers(graph.tensors.size(), 0), reader(graph.tensors.size(), -1), writer = reader;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    for (const int32_t t : graph.ops[op].inputs) {
      if (t == kAbsent) continue;
      ++readers[static_cast<size_t>(t)];
      reader[static_cast<size_t>(t)] = static_cast<int32_t>(op);
    }
    for (const int32_t t : graph.ops[op].outputs) writer[static_cast<size_t>(t)] = static_cast<int32_t>(op);
  }
  for (const int32_t t : graph.outputs) ++readers[static_cast<size_t>(t)];
  for (const KeptState& state : graph.states) {
    const auto before = static_cast<size_t>(state.before), after = static_cast<size_t>(state.after);
    if (readers[before] == 1 && readers[after] == 0 && reader[before] >= 0 && reader[before] == writer[after])
      continue;
    return fail(ErrorCode::InvalidModel,
                "{} is a state, which one operator reads and writes and nothing else does",
                tensor_label(graph, state.before));
  }
  return {};
}

Status verify_operator(const Graph& graph, const Op& op) {
  PERAXIS_TRY(verify_rule(rules::OpView(graph, op)));
  return verify_activation(graph, op);
}

}  // namespace

Status verify_op(const Graph& graph, size_t op_index) {
  const Op& op = graph.ops[op_index];
  for (const std::vector<int32_t>* list : {&op.inputs, &op.outputs}) {
    for (const int32_t index : *list) {
      if (index == kAbsent) continue;
      PERAXIS_TRY(labelled(verify_tensor(graph.tensor(index)), tensor_label(graph, index)));
    }
  }
  return labelled(verify_operator(graph, op), graph.op_label(op_index));
}

Status infer_shapes(Graph& graph, size_t op_index) {
  state_pads(graph, op_index);
  const Op& op = graph.ops[op_index];
  std::vector<rules::OpenShape> open(op.outputs.size());
  for (size_t slot = 0; slot < open.size(); ++slot) {
    Tensor& output = graph.tensors[static_cast<size_t>(op.outputs[slot])];
    if (output.open_shape)
      open[slot].tensor = &output;
    else
      PERAXIS_TRY(labelled(verify_tensor(output), tensor_label(graph, op.outputs[slot])));
  }
  for (const int32_t index : op.inputs) {
    if (index == kAbsent) continue;
    PERAXIS_TRY(labelled(verify_tensor(graph.tensor(index)), tensor_label(graph, index)));
  }
  PERAXIS_TRY(labelled(verify_rule(rules::OpView(graph, op, open)), graph.op_label(op_index)));
  for (size_t slot = 0; slot < open.size(); ++slot) {
    PERAXIS_TRY(
        labelled(verify_tensor(graph.tensor(op.outputs[slot])), tensor_label(graph, op.outputs[slot])));
  }
  return {};
}

Status verify(const Graph& graph) {
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    PERAXIS_TRY(labelled(verify_tensor(graph.tensors[i]), tensor_label(graph, static_cast<int32_t>(i))));
  }
  Definitions definitions(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    PERAXIS_TRY(labelled(definitions.check_index(graph.inputs[i], "input", i), "graph"));
    PERAXIS_TRY(labelled(definitions.define(graph.inputs[i]), fmt::format("graph input {}", i)));
  }
  PERAXIS_TRY(labelled(define_states(graph, definitions), "graph"));
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    Status status = verify_links(graph, op, definitions);
    if (status) status = verify_operator(graph, op);
    PERAXIS_TRY(labelled(std::move(status), graph.op_label(i)));
  }
  if (graph.outputs.empty()) return fail(ErrorCode::InvalidModel, "graph: it has no outputs");
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    PERAXIS_TRY(labelled(definitions.check_index(graph.outputs[i], "output", i), "graph"));
    if (!definitions.readable(graph.outputs[i])) {
      return fail(ErrorCode::InvalidModel, "graph output {}: {} is written by no operator", i,
                  tensor_label(graph, graph.outputs[i]));
    }
  }
  return labelled(verify_states(graph), "graph");
}

}  // namespace peraxis::ir
