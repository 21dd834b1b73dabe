// See outputs.hpp.
#include "engine/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/file.hpp"
#include "ir/shape.hpp"
#include "vision/labels.hpp"

namespace peraxis::engine {
namespace {

Result<vision::ModelInfo> read_info(const std::string& path) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(path));
  return vision::parse_model_info(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                  path);
}

// The operator that suppressed the boxes; nullptr when the model has none.
const ir::Op* detection_operator(const ir::Graph& graph) {
  for (const ir::Op& op : graph.ops)
    if (op.kind == ir::OpKind::DetectionPostProcess) return &op;
  return nullptr;
}

vision::OutputTensor output_tensor(const ir::Graph& graph, int32_t index, std::span<const uint8_t> bytes) {
  const ir::Tensor& tensor = graph.tensor(index);
  vision::OutputTensor out;
  if (const ir::Op* op = detection_operator(graph)) {
    const auto place = std::find(op->outputs.begin(), op->outputs.end(), index);
    if (place != op->outputs.end()) out.detection_output = static_cast<int>(place - op->outputs.begin());
  }
  out.shape = {tensor.shape.begin(), tensor.shape.end()};
  out.type = ir::data_type_name(tensor.type);
  out.scale = tensor.quant.first_scale();
  out.zero_point = tensor.quant.first_zero_point();
  out.data = bytes;
  return out;
}

// The file that the user names, or the one beside the model; else what an executable carries.
Result<vision::SourcedInfo> stated_info(const Loaded& loaded, const InfoOptions& options,
                                        std::vector<std::string>& warnings) {
  vision::SourcedInfo out;
  if (!options.model_info.empty()) {
    out.info = PERAXIS_TRY(read_info(options.model_info));
    out.source = "--model-info " + options.model_info;
    return out;
  }
  std::filesystem::path beside(loaded.path);
  beside.replace_extension(".json");
  std::error_code ignored;
  if (std::filesystem::is_regular_file(beside, ignored)) {
    // Nobody asked for this file; it may belong to another program.
    Result<vision::ModelInfo> found = read_info(beside.string());
    if (found) {
      out.info = std::move(*found);
      out.source = beside.string() + " beside the model";
      return out;
    }
    warnings.push_back(fmt::format("{} was not used: {}", beside.string(), found.error().message));
  }
  return loaded.stored ? *loaded.stored : out;
}

// Where nothing was stated, what lies inside the file tells.
void add_inside(const Loaded& loaded, vision::SourcedInfo& out) {
  const vision::EmbeddedInfo& embedded = loaded.embedded;
  if (loaded.stored && out.info.labels.empty()) {
    const vision::ModelInfo& stored = loaded.stored->info;
    out.info.set_labels({stored.labels, stored.labels_background, stored.labels_numbered});
    out.labels_source = loaded.stored->labels_source;
  }
  if (embedded.labels && out.info.labels.empty()) {
    out.info.set_labels(*embedded.labels);
    out.labels_source = embedded.labels_member + " inside the model";
  }
  if (!out.info.head.empty() || !out.info.task.empty()) {
    out.info.candidates.reset();
  } else if (embedded.candidates) {
    out.info.candidates = embedded.candidates;
    out.info.candidates_source = embedded.candidates_source;
  } else if (loaded.stored) {
    out.info.candidates = loaded.stored->info.candidates;
    out.info.candidates_source = loaded.stored->info.candidates_source;
  }
  if (out.info.boxes.empty()) out.info.boxes = loaded.stored ? loaded.stored->info.boxes : embedded.boxes;
}

// "1x160x160x3"
std::string extents(const ir::Tensor& tensor) {
  return fmt::format("{}", fmt::join(tensor.shape, "x"));
}

}  // namespace

Result<vision::SourcedInfo> find_model_info(const Loaded& loaded, const InfoOptions& options,
                                            std::vector<std::string>& warnings) {
  vision::SourcedInfo out = PERAXIS_TRY(stated_info(loaded, options, warnings));
  if (!out.info.labels.empty() && out.labels_source.empty()) out.labels_source = out.source;
  if (!options.labels.empty()) {
    out.info.set_labels(PERAXIS_TRY(vision::read_labels(options.labels)));
    out.labels_source = "--labels " + options.labels;
  }
  if (!options.head.empty()) {
    out.info.head = options.head;
    out.info.task.clear();  // the head says it
  }
  add_inside(loaded, out);
  warnings.insert(warnings.end(), loaded.embedded.warnings.begin(), loaded.embedded.warnings.end());
  return out;
}

Status store_model_info(const vision::SourcedInfo& info, exe::Executable& executable) {
  const bool known = !info.source.empty() || !info.info.labels.empty() || !info.info.head.empty() ||
                     info.info.candidates || !info.info.boxes.empty();
  if (!known) return {};
  executable.model_info = vision::print_stored_info(info);
  PERAXIS_TRY(vision::parse_stored_info(executable.model_info, "the model info"));
  return {};
}

Result<Interpretation> interpret(const ir::Graph& graph, const std::vector<std::vector<uint8_t>>& outputs,
                                 const vision::ModelInfo& info, const vision::InputGeometry& geometry,
                                 bool stated) {
  std::vector<vision::OutputTensor> tensors;
  tensors.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    tensors.push_back(output_tensor(graph, graph.outputs[i], outputs[i]));
  vision::HeadView view{tensors, info, geometry};
  if (const ir::Op* op = detection_operator(graph))
    view.operator_classes = std::get<ir::DetectionAttributes>(op->attributes).num_classes;
  Interpretation out;
  out.choice = PERAXIS_TRY(vision::choose_head(view));
  out.assumed = out.choice.assumed;
  const vision::Head* head = out.choice.head;
  if (out.detects()) {
    vision::Decoded decoded = PERAXIS_TRY(vision::decode_with(out.choice, view));
    out.detections = std::move(decoded.detections);
    out.assumed = std::move(decoded.assumed);
  } else if (out.classifies()) {
    out.top = PERAXIS_TRY(vision::top_classes(tensors.front(), info));
  } else if (head != nullptr) {
    out.note = fmt::format("the outputs look like those of head '{}' ({}), which stay tensors", head->name,
                           head->outputs);
  } else if (out.choice.by_shapes) {
    std::string names, shapes;
    for (const std::string& name : vision::head_names()) names += (names.empty() ? "" : ", ") + name;
    for (const int32_t t : graph.outputs) shapes += (shapes.empty() ? "" : ", ") + extents(graph.tensor(t));
    if (stated && !info.task.empty())
      return fail(
          ErrorCode::InvalidArgument,
          "the model info (task '{}', {} labels, {} strides, {} anchors a stride) does not fit the outputs "
          "{}; the heads are {}",
          info.task, info.labels.size(), info.strides.size(),
          info.anchors.empty() ? 0 : info.anchors[0].size(), shapes, names);
    if (info.candidates) {
      out.note = fmt::format("{}, and the outputs {} are none that is decoded for it; --head states another",
                             info.candidates_source, shapes);
      return out;
    }
    out.note = fmt::format(
        "the outputs {} are no head that their shapes tell (with {} labels); with labels, strides and "
        "anchors of "
        "the model's own (--model-info, or a .json with the model's name beside it) or --head they may be "
        "one of {}",
        shapes, info.labels.empty() ? "any" : std::to_string(info.labels.size()), names);
  }
  return out;
}

}  // namespace peraxis::engine
