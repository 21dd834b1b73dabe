// Variable tensors: what an operator keeps between runs. A file has one tensor, which the operator
// overwrites; a graph has two, one to read and one to write, so that operators stay functions of their
// inputs.
#include <array>
#include <utility>

#include "import/tflite_reader.hpp"
#include "ir/shape.hpp"

namespace peraxis::import {

namespace {

constexpr size_t kHiddenIntermediate = 4;  // of the five of an LSTM: its output before a projection

// Inputs that the operator overwrites.
std::span<const size_t> state_slots(ir::OpKind kind) {
  static constexpr std::array<size_t, 1> kSvdf = {4};
  static constexpr std::array<size_t, 2> kLstm = {18, 19};  // output state, cell state
  if (kind == ir::OpKind::Svdf) return kSvdf;
  if (kind == ir::OpKind::SequenceLstm) return kLstm;
  return {};
}

void read_hidden(ir::Graph& graph, const tfl::Operator& source, ir::Op& op) {
  auto* lstm = std::get_if<ir::LstmAttributes>(&op.attributes);
  if (lstm == nullptr || source.intermediates() == nullptr ||
      source.intermediates()->size() <= kHiddenIntermediate)
    return;
  const int32_t index = source.intermediates()->Get(kHiddenIntermediate);
  if (index < 0 || static_cast<size_t>(index) >= graph.tensors.size()) return;
  const ir::QuantParams& quant = graph.tensor(index).quant;
  if (quant.scale.size() != 1) return;
  lstm->hidden_scale = quant.scale[0];
  lstm->hidden_zero_point = static_cast<int32_t>(quant.zero_point[0]);
}

}  // namespace

Status link_states(ir::Graph& graph, const tfl::SubGraph& subgraph) {
  // Tensors of the graph that are none of the file's come behind those.
  const flatbuffers::uoffset_t of_file = subgraph.tensors() == nullptr ? 0 : subgraph.tensors()->size();
  std::vector<bool> variable(graph.tensors.size(), false), linked = variable;
  for (flatbuffers::uoffset_t i = 0; i < of_file; ++i)
    variable[i] = subgraph.tensors()->Get(i)->is_variable();
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    ir::Op& op = graph.ops[i];
    read_hidden(graph, *subgraph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i)), op);
    const std::span<const size_t> slots = state_slots(op.kind);
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      const int32_t t = op.inputs[slot];
      if (t == ir::kAbsent) continue;
      const bool is_state = std::ranges::count(slots, slot) > 0;
      const bool varies = variable[static_cast<size_t>(t)];
      if (!is_state && !varies) continue;
      if (!is_state || !varies || graph.tensor(t).is_constant || linked[static_cast<size_t>(t)]) {
        return fail(ErrorCode::Unsupported,
                    "operator {} ({}): input {} ({}) {}; a variable tensor is the state of one svdf or "
                    "unidirectional_sequence_lstm",
                    i, ir::op_name(op.kind), slot, ir::tensor_label(graph, t),
                    varies ? "is a variable tensor" : "is not a variable tensor");
      }
      linked[static_cast<size_t>(t)] = true;
      ir::Tensor after = graph.tensor(t);
      after.name += "/after";
      const auto index = static_cast<int32_t>(graph.tensors.size());
      graph.tensors.push_back(std::move(after));
      op.outputs.push_back(index);
      graph.states.push_back({t, index});
    }
  }
  return {};
}

}  // namespace peraxis::import
