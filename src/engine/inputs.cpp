// See inputs.hpp.
#include "engine/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/operands.hpp"

namespace peraxis::engine {
namespace {

std::string dims_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::vector<int64_t> dims(const ir::Tensor& tensor) {
  return {tensor.shape.begin(), tensor.shape.end()};
}

// A picture fits [1, h, w, 1 or 3] or [1, 1 or 3, h, w] of a type that quantize_image knows.
std::optional<PictureInput> takes_picture(const ir::Graph& graph, size_t input) {
  const ir::Tensor& tensor = graph.tensor(graph.inputs[input]);
  const bool type = tensor.type == ir::DataType::Int8 || tensor.type == ir::DataType::UInt8 ||
                    tensor.type == ir::DataType::Float32;
  if (!type || tensor.shape.size() != 4 || tensor.shape[0] != 1) return std::nullopt;
  const auto colours = [&](size_t dimension) {
    return tensor.shape[dimension] == 1 || tensor.shape[dimension] == 3;
  };
  PictureInput out;
  out.input = input;
  out.channels_first = !colours(3) && colours(1);
  if (!out.channels_first && !colours(3)) return std::nullopt;
  out.channels = tensor.shape[out.channels_first ? 1 : 3];
  out.height = tensor.shape[out.channels_first ? 2 : 1];
  out.width = tensor.shape[out.channels_first ? 3 : 2];
  return out;
}

// The operator that quantizes a float tensor, behind operators that only move its values.
const ir::Op* quantizer_of(const ir::Graph& graph, int32_t tensor) {
  for (const ir::Op& op : graph.ops) {  // in the order of execution
    if (std::ranges::count(op.inputs, tensor) == 0) continue;
    if (op.kind == ir::OpKind::Quantize) return &op;
    if (op.outputs.size() == 1 && ir::only_moves_data(graph, op)) tensor = op.outputs[0];
  }
  return nullptr;
}

// The real numbers that pixels become, from the range that the stored values have.
Status settle_rule(const ir::Graph& graph, PictureInput& picture) {
  const int32_t index = graph.inputs[picture.input];
  const ir::Tensor* stored = &graph.tensor(index);
  picture.because = "of the input's scale";
  if (stored->type == ir::DataType::Float32) {
    const ir::Op* op = quantizer_of(graph, index);
    const ir::DataType type = op == nullptr ? ir::DataType::Float32 : graph.tensor(op->outputs[0]).type;
    if (type != ir::DataType::Int8 && type != ir::DataType::UInt8) {
      picture.because = "assumed: the model does not say";
      return {};
    }
    stored = &graph.tensor(op->outputs[0]);
    picture.because = "of the scale that the input is quantized with";
  }
  picture.rule = PERAXIS_TRY(vision::pixel_rule(ir::data_type_name(stored->type), stored->quant.first_scale(),
                                                stored->quant.first_zero_point()));
  return {};
}

}  // namespace

std::string input_label(const ir::Graph& graph, size_t input) {
  const ir::Tensor& tensor = graph.tensor(graph.inputs[input]);
  return fmt::format("input {} '{}' ({} {})", input, tensor.name, ir::data_type_name(tensor.type),
                     dims_text(dims(tensor)));
}

std::string inputs_listed(const ir::Graph& graph) {
  std::string out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) out += (i > 0 ? ", " : "") + input_label(graph, i);
  return out;
}

std::vector<PictureInput> picture_inputs(const ir::Graph& graph) {
  std::vector<PictureInput> found;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (auto one = takes_picture(graph, i)) found.push_back(*one);
  return found;
}

Result<PictureValue> picture_value(const ir::Graph& graph, PictureInput taken, const vision::Image& picture) {
  PERAXIS_TRY(settle_rule(graph, taken));
  const ir::Tensor& tensor = graph.tensor(graph.inputs[taken.input]);
  const vision::LetterboxedImage boxed = PERAXIS_TRY(vision::letterbox(picture, taken.width, taken.height));
  vision::PixelFormat format;
  format.type = ir::data_type_name(tensor.type);
  format.scale = tensor.quant.first_scale();
  format.zero_point = tensor.quant.first_zero_point();
  format.channels = taken.channels;
  format.channels_first = taken.channels_first;
  format.rule = taken.rule;
  PictureValue out;
  out.bytes = PERAXIS_TRY(vision::quantize_image(boxed.image, format));
  out.geometry = {taken.width, taken.height, boxed.letterbox};
  out.taken = std::move(taken);
  return out;
}

Result<std::vector<uint8_t>> tensor_bytes(const base::Array& array, const ir::Tensor& tensor,
                                          const std::string& what) {
  const std::vector<int64_t> want = dims(tensor);
  if (array.dtype != ir::data_type_name(tensor.type) || array.shape != want)
    return fail(ErrorCode::InvalidModel, "{} holds {} {}, needed is {} {}", what, array.dtype,
                dims_text(array.shape), ir::data_type_name(tensor.type), dims_text(want));
  return array.data;
}

base::Array tensor_array(const ir::Tensor& tensor, std::span<const uint8_t> bytes) {
  return {ir::data_type_name(tensor.type), dims(tensor), {bytes.begin(), bytes.end()}};
}

}  // namespace peraxis::engine
