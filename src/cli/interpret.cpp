// See interpret.hpp.
#include "cli/interpret.hpp"

#include <filesystem>
#include <string_view>

#include "base/file.hpp"
#include "cli/output.hpp"
#include "vision/labels.hpp"

namespace peraxis::cli {
namespace {

Result<vision::ModelInfo> read_info(const std::string& path) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(path));
  return vision::parse_model_info(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                  path);
}

vision::OutputTensor output_tensor(const ir::Tensor& tensor, std::span<const uint8_t> bytes) {
  vision::OutputTensor out;
  out.shape = {tensor.shape.begin(), tensor.shape.end()};
  out.type = ir::data_type_name(tensor.type);
  if (tensor.quant.quantized()) out.scale = tensor.quant.scale.front();
  if (!tensor.quant.zero_point.empty()) out.zero_point = tensor.quant.zero_point.front();
  out.data = bytes;
  return out;
}

}  // namespace

Result<vision::ModelInfo> find_model_info(const std::string& model_path, const InfoOptions& options,
                                          std::vector<std::string>& warnings) {
  vision::ModelInfo info;
  if (!options.model_info.empty()) {
    info = PERAXIS_TRY(read_info(options.model_info));
  } else {
    std::filesystem::path beside(model_path);
    beside.replace_extension(".json");
    std::error_code ignored;
    if (std::filesystem::is_regular_file(beside, ignored)) {
      // Nobody asked for this file; it may belong to another program.
      Result<vision::ModelInfo> found = read_info(beside.string());
      if (found)
        info = std::move(*found);
      else
        warnings.push_back(fmt::format("{} was not used: {}", beside.string(), found.error().message));
    }
  }
  if (!options.labels.empty()) info.labels = PERAXIS_TRY(vision::read_labels(options.labels));
  return info;
}

Result<Interpretation> interpret(const ir::Graph& graph, const std::vector<std::vector<uint8_t>>& outputs,
                                 const vision::ModelInfo& info, const vision::InputGeometry& geometry,
                                 bool stated) {
  std::vector<vision::OutputTensor> tensors;
  for (size_t i = 0; i < outputs.size(); ++i)
    tensors.push_back(output_tensor(graph.tensor(graph.outputs[i]), outputs[i]));
  Interpretation out;
  out.head = vision::detect_head(tensors, info);
  if (stated && out.head == vision::HeadKind::None && !(info.head.empty() && info.task.empty())) {
    std::string shapes;
    for (const int32_t t : graph.outputs)
      shapes += (shapes.empty() ? "" : ", ") + shape_text(graph.tensor(t));
    return fail(
        ErrorCode::InvalidArgument,
        "the model info (task '{}', head '{}', {} labels, {} strides, {} anchors a stride) does not fit the "
        "outputs {}: a raw YOLOv5 head has one output a stride, anchors x (5 + labels) channels each; a "
        "decoded one 5 + labels columns",
        info.task, info.head, info.labels.size(), info.strides.size(),
        info.anchors.empty() ? 0 : info.anchors[0].size(), shapes);
  }
  if (out.detects()) {
    out.detections = PERAXIS_TRY(vision::decode_detections(tensors, info, geometry));
  } else if (out.head == vision::HeadKind::Classification && !tensors.empty()) {
    out.top = PERAXIS_TRY(vision::top_classes(tensors.front(), info));
  }
  return out;
}

}  // namespace peraxis::cli
