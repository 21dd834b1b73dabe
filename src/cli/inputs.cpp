// See inputs.hpp.
#include "cli/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/file.hpp"
#include "cli/options.hpp"
#include "ir/operands.hpp"
#include "vision/quantize.hpp"

namespace peraxis::cli {
namespace {

std::string dims_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::vector<int64_t> dims(const ir::Tensor& tensor) {
  return {tensor.shape.begin(), tensor.shape.end()};
}

std::string input_label(const ir::Graph& graph, size_t input) {
  const ir::Tensor& tensor = graph.tensor(graph.inputs[input]);
  return fmt::format("input {} '{}' ({} {})", input, tensor.name, ir::data_type_name(tensor.type),
                     dims_text(dims(tensor)));
}

std::string all_inputs(const ir::Graph& graph) {
  std::string out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) out += (i > 0 ? ", " : "") + input_label(graph, i);
  return out;
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

CliStatus bind_array(const ir::Graph& graph, const std::string& spec, BoundInputs& bound,
                     std::vector<bool>& set) {
  const InputSpec parsed = PERAXIS_TRY(parse_input_spec(graph, spec));
  if (set[parsed.input]) return usage("--input: {} is given twice", input_label(graph, parsed.input));
  const base::Array array = PERAXIS_TRY(base::read_npy(parsed.path));
  bound.values[parsed.input] =
      PERAXIS_TRY(tensor_bytes(array, graph.tensor(graph.inputs[parsed.input]),
                               fmt::format("{} for {}", parsed.path, input_label(graph, parsed.input))));
  set[parsed.input] = true;
  return {};
}

CliStatus bind_image(const ir::Graph& graph, const std::string& path, BoundInputs& bound,
                     std::vector<bool>& set) {
  PictureInput taken = PERAXIS_TRY(picture_input(graph, "--image", set));
  PERAXIS_TRY(settle_rule(graph, taken));
  const ir::Tensor& tensor = graph.tensor(graph.inputs[taken.input]);
  const std::vector<uint8_t> file = PERAXIS_TRY(base::read_file(path));
  vision::Image picture = PERAXIS_TRY(vision::decode_image(file, path));
  const vision::LetterboxedImage boxed = PERAXIS_TRY(vision::letterbox(picture, taken.width, taken.height));
  vision::PixelFormat format;
  format.type = ir::data_type_name(tensor.type);
  format.scale = tensor.quant.first_scale();
  format.zero_point = tensor.quant.first_zero_point();
  format.channels = taken.channels;
  format.channels_first = taken.channels_first;
  format.rule = taken.rule;
  bound.values[taken.input] = PERAXIS_TRY(vision::quantize_image(boxed.image, format));
  bound.geometry = {taken.width, taken.height, boxed.letterbox};
  set[taken.input] = true;
  bound.taken = std::move(taken);
  bound.picture = std::move(picture);
  return {};
}

}  // namespace

void add_input_options(const Arguments& arguments, InputOptions& options) {
  arguments
      .option("--input", options.inputs,
              "values of input N (its number or name) from an .npy file; repeatable")
      .type_name("N=FILE.npy")
      .repeatable();
  arguments.option("--image", options.image, "JPEG or PNG for the image input: letterboxed and quantized")
      .not_empty()
      .type_name("FILE");
}

CliResult<PictureInput> picture_input(const ir::Graph& graph, const std::string& option,
                                      const std::vector<bool>& taken) {
  std::vector<PictureInput> found;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (auto one = takes_picture(graph, i); one && (taken.empty() || !taken[i])) found.push_back(*one);
  if (found.size() == 1) return found.front();
  return usage(
      "{}: {} inputs of the model could take a picture ([1,h,w,1 or 3] or [1,1 or 3,h,w] in int8, uint8 or "
      "float32), exactly one must; the model has {}",
      option, found.size(), all_inputs(graph));
}

CliResult<InputSpec> parse_input_spec(const ir::Graph& graph, const std::string& spec) {
  if (spec.find('=') == std::string::npos)
    return usage("--input '{}': expected N=FILE.npy, with the number or name of an input", spec);
  const size_t first = spec.find('=');
  size_t index = 0;
  const char* end = spec.data() + first;
  const auto [rest, error] = std::from_chars(spec.data(), end, index);
  if (first > 0 && rest == end && error == std::errc() && index < graph.inputs.size())
    return InputSpec{index, spec.substr(first + 1)};
  for (size_t at = spec.rfind('='); at != std::string::npos && at > 0; at = spec.rfind('=', at - 1)) {
    const std::string name = spec.substr(0, at);
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      if (graph.tensor(graph.inputs[i]).name == name) return InputSpec{i, spec.substr(at + 1)};
  }
  return usage("--input '{}': the model has no input of that number or name; it has {}", spec,
               all_inputs(graph));
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

CliResult<BoundInputs> bind_inputs(const ir::Graph& graph, const InputOptions& options) {
  BoundInputs bound;
  bound.values.resize(graph.inputs.size());
  std::vector<bool> set(graph.inputs.size(), false);
  for (const std::string& spec : options.inputs) PERAXIS_TRY(bind_array(graph, spec, bound, set));
  if (!options.image.empty()) PERAXIS_TRY(bind_image(graph, options.image, bound, set));
  std::string missing;
  for (size_t i = 0; i < set.size(); ++i)
    if (!set[i]) missing += (missing.empty() ? "" : ", ") + input_label(graph, i);
  if (!missing.empty())
    return usage("no value for {}; give --input N=FILE.npy{}", missing,
                 options.image.empty() ? " or, for a picture, --image" : "");
  return bound;
}

}  // namespace peraxis::cli
