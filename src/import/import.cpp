// The file as a whole. FlatBuffers' verifier runs first, so every table and vector read afterwards lies
// inside the bytes; what it cannot know (indices, sizes, counts) is checked where it is read.
#include "import/import.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "import/tflite_reader.hpp"
#include "ir/pads.hpp"
#include "ir/shape.hpp"

namespace peraxis::import {

namespace {

// The bytes at a multiple of 8: the verifier measures alignment from their start, and fields of up to 64 bits
// are read in place.
std::span<const uint8_t> aligned(std::span<const uint8_t> bytes, std::vector<uint8_t>& copy) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0) return bytes;
  copy.assign(bytes.begin(), bytes.end());
  return copy;
}

Result<std::vector<int32_t>> read_ends(const flatbuffers::Vector<int32_t>* source, const char* what,
                                       size_t tensor_count) {
  std::vector<int32_t> out;
  if (source == nullptr) return out;
  for (const int32_t index : *source) {
    if (index < 0 || static_cast<size_t>(index) >= tensor_count) {
      return fail(ErrorCode::InvalidModel, "graph {} {} is tensor {}, the file has {}", what, out.size(),
                  index, tensor_count);
    }
    out.push_back(index);
  }
  return out;
}

// Converters leave the shapes of TFLite_Detection_PostProcess' outputs out; LiteRT sets them from the
// options.
void state_detection_shapes(ir::Graph& graph) {
  for (const ir::Op& op : graph.ops) {
    const auto* options = std::get_if<ir::DetectionAttributes>(&op.attributes);
    if (options == nullptr || op.outputs.size() != 4) continue;
    const int64_t slots = int64_t{options->max_detections} * options->max_classes_per_detection;
    if (slots < 1 || slots > ir::kMaxElements / 4) continue;
    const auto count = static_cast<int32_t>(slots);
    const std::vector<int32_t> shapes[] = {{1, count, 4}, {1, count}, {1, count}, {1}};
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      ir::Tensor& output = graph.tensors[static_cast<size_t>(op.outputs[i])];
      if (!output.shape.empty() || output.is_constant) continue;
      output.shape = shapes[i];
      output.open_shape = false;
    }
  }
}

std::string input_names(const tfl::SubGraph& subgraph, const std::vector<int32_t>& inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto tensor = static_cast<flatbuffers::uoffset_t>(inputs[i]);
    text += fmt::format("{}{} '{}'", i == 0 ? "" : ", ", i, tensor_name(*subgraph.tensors()->Get(tensor)));
  }
  return text;
}

// How each tensor gets its shape.
Result<std::vector<ShapeUse>> shape_uses(const tfl::SubGraph& subgraph, const std::vector<int32_t>& inputs,
                                         const ImportOptions& options, size_t tensor_count) {
  std::vector<ShapeUse> uses(tensor_count);
  for (ShapeUse& use : uses) use.open = !options.shapes.empty();
  for (const int32_t tensor : inputs) uses[static_cast<size_t>(tensor)].input = true;
  for (const auto& [name, shape] : options.shapes) {
    const auto named = [&, i = size_t{0}](int32_t tensor) mutable {
      const tfl::Tensor& input = *subgraph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(tensor));
      return tensor_name(input) == name || std::to_string(i++) == name;
    };
    const auto found = std::find_if(inputs.begin(), inputs.end(), named);
    if (found == inputs.end()) {
      return fail(ErrorCode::InvalidArgument, "a shape is given for '{}', but the inputs are {}", name,
                  input_names(subgraph, inputs));
    }
    uses[static_cast<size_t>(*found)].given = &shape;
  }
  return uses;
}

// Where LiteRT takes a RESHAPE's new shape from its options, the graph gets it as a constant behind the
// file's tensors.
Status state_reshape(ir::Graph& graph, size_t index, const tfl::Operator& source, CopyBudget& budget) {
  const auto wanted = reshape_option(source, graph);
  if (!wanted || wanted->empty() || graph.ops[index].kind != ir::OpKind::Reshape) return {};
  const auto bytes = static_cast<int64_t>(wanted->size() * sizeof(int32_t));
  PERAXIS_TRY(budget.take(bytes));
  ir::Tensor shape;
  shape.name = fmt::format("new_shape of operator {}", index);
  shape.type = ir::DataType::Int32;
  shape.shape = {static_cast<int32_t>(wanted->size())};
  shape.is_constant = true;
  shape.data.resize(static_cast<size_t>(bytes));
  std::memcpy(shape.data.data(), wanted->data(), shape.data.size());
  graph.ops[index].inputs.resize(1);
  graph.ops[index].inputs.push_back(static_cast<int32_t>(graph.tensors.size()));
  graph.tensors.push_back(std::move(shape));
  return {};
}

// Tensors that no operator makes are open to nobody.
void close_unmade(ir::Graph& graph) {
  std::vector<bool> made(graph.tensors.size());
  for (const ir::Op& op : graph.ops)
    for (const int32_t tensor : op.outputs) made[static_cast<size_t>(tensor)] = true;
  for (size_t i = 0; i < made.size(); ++i)
    if (!made[i]) graph.tensors[i].open_shape = false;
}

// LiteRT computes with a sparse tensor as if it were dense in DENSIFY alone.
Status check_sparse_readers(const ir::Graph& graph, const tfl::SubGraph& subgraph) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].kind == ir::OpKind::Densify) continue;
    for (const int32_t tensor : graph.ops[i].inputs) {
      const auto index = static_cast<flatbuffers::uoffset_t>(tensor);
      if (tensor < 0 || index >= subgraph.tensors()->size()) continue;
      if (subgraph.tensors()->Get(index)->sparsity() == nullptr) continue;
      return fail(ErrorCode::Unsupported,
                  "{} reads the sparse {} itself; sparse weights are read behind DENSIFY only",
                  graph.op_label(i), ir::tensor_label(graph, tensor));
    }
  }
  return {};
}

Result<ir::Graph> read_graph(const File& file, const tfl::SubGraph& subgraph, const ImportOptions& options) {
  ir::Graph graph;
  CopyBudget budget(file.bytes());
  const size_t tensor_count = subgraph.tensors() == nullptr ? 0 : subgraph.tensors()->size();
  graph.inputs = PERAXIS_TRY(read_ends(subgraph.inputs(), "input", tensor_count));
  graph.outputs = PERAXIS_TRY(read_ends(subgraph.outputs(), "output", tensor_count));
  const std::vector<ShapeUse> uses = PERAXIS_TRY(shape_uses(subgraph, graph.inputs, options, tensor_count));
  for (flatbuffers::uoffset_t i = 0; i < tensor_count; ++i) {
    const tfl::Tensor* tensor = subgraph.tensors()->Get(i);
    graph.tensors.push_back(PERAXIS_TRY_NOTE(read_tensor(file, *tensor, uses[i], budget), "in tensor {} '{}'",
                                             i, tensor_name(*tensor)));
  }
  const size_t op_count = subgraph.operators() == nullptr ? 0 : subgraph.operators()->size();
  for (flatbuffers::uoffset_t i = 0; i < op_count; ++i) {
    const tfl::Operator& op = *subgraph.operators()->Get(i);
    const int64_t links = int64_t{op.inputs() == nullptr ? 0 : op.inputs()->size()} +
                          int64_t{op.outputs() == nullptr ? 0 : op.outputs()->size()};
    PERAXIS_TRY(budget.take(links * 4));
    graph.ops.push_back(PERAXIS_TRY(read_operator(file, op, i, tensor_count)));
    PERAXIS_TRY(state_reshape(graph, i, op, budget));
    ir::state_pads(graph, i);
  }
  state_detection_shapes(graph);
  close_unmade(graph);
  PERAXIS_TRY(check_sparse_readers(graph, subgraph));
  PERAXIS_TRY(link_states(graph, subgraph));
  return graph;
}

}  // namespace

namespace {

std::vector<Signature> signatures_of(const File& file) {
  std::vector<Signature> out;
  if (file.model().signature_defs() == nullptr) return out;
  for (const tfl::SignatureDef* signature : *file.model().signature_defs()) {
    const auto* key = signature->signature_key();
    out.push_back({key == nullptr ? std::string() : key->str(), signature->subgraph_index()});
  }
  return out;
}

std::vector<DynamicInput> dynamic_inputs_of(const tfl::SubGraph& subgraph) {
  std::vector<DynamicInput> out;
  if (subgraph.inputs() == nullptr || subgraph.tensors() == nullptr) return out;
  for (uint32_t i = 0; i < subgraph.inputs()->size(); ++i) {
    const auto index = static_cast<uint32_t>(subgraph.inputs()->Get(i));
    const tfl::Tensor* tensor = index < subgraph.tensors()->size() ? subgraph.tensors()->Get(index) : nullptr;
    if (tensor == nullptr || tensor->shape() == nullptr || !is_dynamic(*tensor)) continue;
    DynamicInput input{i, tensor_name(*tensor), {}, {}};
    input.declared.assign(tensor->shape()->begin(), tensor->shape()->end());
    input.signature.assign(tensor->shape_signature()->begin(), tensor->shape_signature()->end());
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace

Result<const tfl::SubGraph*> choose_subgraph(const File& file, const std::string& signature) {
  const auto* subgraphs = file.model().subgraphs();
  if (subgraphs == nullptr || subgraphs->size() == 0 || subgraphs->Get(0) == nullptr) {
    return fail(ErrorCode::InvalidModel, "the file has no subgraph");
  }
  if (signature.empty()) return subgraphs->Get(0);
  std::string keys;
  for (const Signature& entry : signatures_of(file)) {
    if (entry.key == signature) {
      if (entry.subgraph < subgraphs->size()) return subgraphs->Get(entry.subgraph);
      return fail(ErrorCode::InvalidModel, "signature '{}' names subgraph {}, the file has {}", signature,
                  entry.subgraph, subgraphs->size());
    }
    keys += fmt::format("{}'{}'", keys.empty() ? "" : ", ", entry.key);
  }
  return fail(ErrorCode::InvalidArgument, "the file has no signature '{}'; {}", signature,
              keys.empty() ? "it has none at all" : "its signatures are " + keys);
}

bool looks_like_tflite(std::span<const uint8_t> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

Result<ir::Graph> import_tflite(std::span<const uint8_t> bytes, std::string name,
                                const ImportOptions& options) {
  std::vector<uint8_t> copy;
  const File file = PERAXIS_TRY(File::open(aligned(bytes, copy)));
  const tfl::SubGraph& subgraph = *PERAXIS_TRY(choose_subgraph(file, options.signature));
  PERAXIS_TRY(check_codes(file, subgraph));
  ir::Graph graph = PERAXIS_TRY(read_graph(file, subgraph, options));
  graph.name = std::move(name);
  return graph;
}

Result<std::vector<OperatorCount>> count_operators(std::span<const uint8_t> bytes,
                                                   const ImportOptions& options) {
  std::vector<uint8_t> copy;
  const File file = PERAXIS_TRY(File::open(aligned(bytes, copy)));
  return count_codes(file, *PERAXIS_TRY(choose_subgraph(file, options.signature)));
}

Result<Entries> read_entries(std::span<const uint8_t> bytes, const ImportOptions& options) {
  std::vector<uint8_t> copy;
  const File file = PERAXIS_TRY(File::open(aligned(bytes, copy)));
  Entries out;
  out.signatures = signatures_of(file);
  if (options.shapes.empty())
    out.dynamic_inputs = dynamic_inputs_of(*PERAXIS_TRY(choose_subgraph(file, options.signature)));
  return out;
}

}  // namespace peraxis::import
