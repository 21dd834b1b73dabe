// See inputs.hpp.
#include "cli/inputs.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/file.hpp"
#include "cli/options.hpp"

namespace peraxis::cli {
namespace {

CliStatus bind_array(const ir::Graph& graph, const std::string& spec, BoundInputs& bound,
                     std::vector<bool>& set) {
  const InputSpec parsed = PERAXIS_TRY(parse_input_spec(graph, spec));
  if (set[parsed.input]) return usage("--input: {} is given twice", engine::input_label(graph, parsed.input));
  const base::Array array = PERAXIS_TRY(base::read_npy(parsed.path));
  bound.values[parsed.input] = PERAXIS_TRY(
      engine::tensor_bytes(array, graph.tensor(graph.inputs[parsed.input]),
                           fmt::format("{} for {}", parsed.path, engine::input_label(graph, parsed.input))));
  set[parsed.input] = true;
  return {};
}

CliStatus bind_image(const ir::Graph& graph, const std::string& path, BoundInputs& bound,
                     std::vector<bool>& set) {
  const PictureInput taken = PERAXIS_TRY(picture_input(graph, "--image", set));
  const std::vector<uint8_t> file = PERAXIS_TRY(base::read_file(path));
  vision::Image picture = PERAXIS_TRY(vision::decode_image(file, path));
  engine::PictureValue value = PERAXIS_TRY(engine::picture_value(graph, taken, picture));
  set[taken.input] = true;
  bound.values[taken.input] = std::move(value.bytes);
  bound.geometry = value.geometry;
  bound.taken = std::move(value.taken);
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
  std::vector<PictureInput> found = engine::picture_inputs(graph);
  std::erase_if(found, [&](const PictureInput& one) { return !taken.empty() && taken[one.input]; });
  if (found.size() == 1) return found.front();
  return usage(
      "{}: {} inputs of the model could take a picture ([1,h,w,1 or 3] or [1,1 or 3,h,w] in int8, uint8 or "
      "float32), exactly one must; the model has {}",
      option, found.size(), engine::inputs_listed(graph));
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
               engine::inputs_listed(graph));
}

CliResult<BoundInputs> bind_inputs(const ir::Graph& graph, const InputOptions& options) {
  BoundInputs bound;
  bound.values.resize(graph.inputs.size());
  std::vector<bool> set(graph.inputs.size(), false);
  for (const std::string& spec : options.inputs) PERAXIS_TRY(bind_array(graph, spec, bound, set));
  if (!options.image.empty()) PERAXIS_TRY(bind_image(graph, options.image, bound, set));
  std::string missing;
  for (size_t i = 0; i < set.size(); ++i)
    if (!set[i]) missing += (missing.empty() ? "" : ", ") + engine::input_label(graph, i);
  if (!missing.empty())
    return usage("no value for {}; give --input N=FILE.npy{}", missing,
                 options.image.empty() ? " or, for a picture, --image" : "");
  return bound;
}

}  // namespace peraxis::cli
