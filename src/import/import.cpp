// The file as a whole. FlatBuffers' verifier runs first, so every table and vector read afterwards lies
// inside the bytes; what it cannot know (indices, sizes, counts) is checked where it is read.
#include "import/import.hpp"

#include <cstring>
#include <utility>

#include "import/tflite_reader.hpp"
#include "ir/shape.hpp"

namespace peraxis::import {

namespace {

constexpr uint32_t kSchemaVersion = 3;

// The verifier measures alignment from the start of the bytes; fields of up to 64 bits are read in place.
bool aligned(std::span<const uint8_t> bytes) {
  return reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0;
}

Result<const tfl::Model*> open_model(std::span<const uint8_t> bytes) {
  if (!looks_like_tflite(bytes)) {
    return fail(ErrorCode::InvalidModel,
                "not a TensorFlow Lite file: the identifier TFL3 is missing ({} bytes)", bytes.size());
  }
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return fail(ErrorCode::Unsupported, "the file has {} bytes; the limit is 2 GB", bytes.size());
  }
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!tfl::VerifyModelBuffer(verifier)) {
    return fail(ErrorCode::InvalidModel,
                "the file is damaged or cut off: its tables do not verify ({} bytes)", bytes.size());
  }
  const tfl::Model* model = tfl::GetModel(bytes.data());
  if (model->version() != kSchemaVersion) {
    return fail(ErrorCode::Unsupported, "schema version {}; only {} is supported", model->version(),
                kSchemaVersion);
  }
  return model;
}

Result<const tfl::SubGraph*> only_subgraph(const tfl::Model& model) {
  const auto* subgraphs = model.subgraphs();
  if (subgraphs == nullptr || subgraphs->size() == 0 || subgraphs->Get(0) == nullptr) {
    return fail(ErrorCode::InvalidModel, "the file has no subgraph");
  }
  if (subgraphs->size() > 1) {
    return fail(ErrorCode::Unsupported, "the file has {} subgraphs (control flow); only one is supported",
                subgraphs->size());
  }
  return subgraphs->Get(0);
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
      if (output.shape.empty() && !output.is_constant) output.shape = shapes[i];
    }
  }
}

Result<ir::Graph> read_graph(const tfl::Model& model, const tfl::SubGraph& subgraph, size_t file_bytes) {
  ir::Graph graph;
  CopyBudget budget(file_bytes);
  const size_t tensor_count = subgraph.tensors() == nullptr ? 0 : subgraph.tensors()->size();
  for (flatbuffers::uoffset_t i = 0; i < tensor_count; ++i) {
    const tfl::Tensor* tensor = subgraph.tensors()->Get(i);
    graph.tensors.push_back(
        PERAXIS_TRY_NOTE(read_tensor(model, *tensor, budget), "in tensor {} '{}'", i, tensor_name(*tensor)));
  }
  const size_t op_count = subgraph.operators() == nullptr ? 0 : subgraph.operators()->size();
  for (flatbuffers::uoffset_t i = 0; i < op_count; ++i) {
    const tfl::Operator& op = *subgraph.operators()->Get(i);
    const int64_t links = int64_t{op.inputs() == nullptr ? 0 : op.inputs()->size()} +
                          int64_t{op.outputs() == nullptr ? 0 : op.outputs()->size()};
    PERAXIS_TRY(budget.take(links * 4));
    graph.ops.push_back(PERAXIS_TRY(read_operator(model, op, i, tensor_count)));
  }
  graph.inputs = PERAXIS_TRY(read_ends(subgraph.inputs(), "input", tensor_count));
  graph.outputs = PERAXIS_TRY(read_ends(subgraph.outputs(), "output", tensor_count));
  state_detection_shapes(graph);
  PERAXIS_TRY(link_states(graph, subgraph));
  return graph;
}

}  // namespace

bool looks_like_tflite(std::span<const uint8_t> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

Result<ir::Graph> import_tflite(std::span<const uint8_t> bytes, std::string name) {
  std::vector<uint8_t> copy;
  if (!aligned(bytes)) {
    copy.assign(bytes.begin(), bytes.end());
    bytes = copy;
  }
  const tfl::Model& model = *PERAXIS_TRY(open_model(bytes));
  const tfl::SubGraph& subgraph = *PERAXIS_TRY(only_subgraph(model));
  ir::Graph graph = PERAXIS_TRY(read_graph(model, subgraph, bytes.size()));
  graph.name = std::move(name);
  return graph;
}

}  // namespace peraxis::import
