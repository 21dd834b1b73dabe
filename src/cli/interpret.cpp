// See interpret.hpp.
#include "cli/interpret.hpp"

#include <filesystem>
#include <string_view>

#include "base/file.hpp"
#include "cli/options.hpp"
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
  if (!options.head.empty()) {
    info.head = options.head;
    info.task.clear();  // the head says it
  }
  return info;
}

Result<Interpretation> interpret(const ir::Graph& graph, const std::vector<std::vector<uint8_t>>& outputs,
                                 const vision::ModelInfo& info, const vision::InputGeometry& geometry,
                                 bool stated) {
  std::vector<vision::OutputTensor> tensors;
  tensors.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    tensors.push_back(output_tensor(graph.tensor(graph.outputs[i]), outputs[i]));
  const vision::HeadView view{tensors, info, geometry};
  Interpretation out;
  out.choice = PERAXIS_TRY(vision::choose_head(view));
  const vision::Head* head = out.choice.head;
  if (out.detects()) {
    out.detections = PERAXIS_TRY(head->decode(view));
  } else if (out.classifies()) {
    out.top = PERAXIS_TRY(vision::top_classes(tensors.front(), info));
  } else if (head != nullptr) {
    out.note =
        fmt::format("the outputs are those of head '{}' ({}), which stay tensors", head->name, head->outputs);
  } else if (out.choice.by_shapes) {
    std::string names, shapes;
    for (const std::string& name : vision::head_names()) names += (names.empty() ? "" : ", ") + name;
    for (const int32_t t : graph.outputs)
      shapes += (shapes.empty() ? "" : ", ") + shape_text(graph.tensor(t));
    if (stated && !info.task.empty())
      return fail(
          ErrorCode::InvalidArgument,
          "the model info (task '{}', {} labels, {} strides, {} anchors a stride) does not fit the outputs "
          "{}; the heads are {}",
          info.task, info.labels.size(), info.strides.size(),
          info.anchors.empty() ? 0 : info.anchors[0].size(), shapes, names);
    out.note = fmt::format(
        "the outputs {} are no head that their shapes tell (with {} labels); with labels, strides and "
        "anchors of "
        "the model's own (--model-info, or a .json with the model's name beside it) or --head they may be "
        "one of {}",
        shapes, info.labels.empty() ? "any" : std::to_string(info.labels.size()), names);
  }
  return out;
}

void add_info_options(const Arguments& arguments, InfoOptions& options) {
  arguments
      .option("--model-info", options.model_info,
              "labels, strides and anchors (default: the model's name with .json)")
      .not_empty()
      .type_name("F.json");
  arguments.option("--labels", options.labels, "class names, one a line").not_empty().type_name("FILE");
  arguments.option("--head", options.head, "what the outputs mean (default: told by their shapes)")
      .one_of(vision::head_names());
}

}  // namespace peraxis::cli
