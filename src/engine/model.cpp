// See model.hpp.
#include "engine/model.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "import/importer.hpp"
#include "ir/ranges.hpp"
#include "ir/shape.hpp"
#include "passes/resolve_shapes.hpp"

namespace peraxis::engine {
namespace {

struct Signature {
  std::string_view prefix;
  std::string_view what;
};

// Files people mistake for a model, by their first bytes.
constexpr Signature kSignatures[] = {
    {"\x89PNG", "a PNG picture"},
    {"\xFF\xD8\xFF", "a JPEG picture"},
    {"\x93NUMPY", "a NumPy array (.npy)"},
    {"PK\x03\x04", "a zip archive (.npz, or a model that must be unpacked first)"},
    {"\x89HDF", "an HDF5 file (Keras weights); convert the model to TFLite first"},
    {"\x1F\x8B", "a gzip file; unpack it first"},
    {"\x7F"
     "ELF",
     "a program or library (ELF)"},
    {"RKNN", "a model compiled for the vendor's runtime (.rknn); give the TFLite file it was made from"},
    {"version https://git-lfs", "a Git-LFS pointer; fetch the file itself"},
    {"<!DOCTYPE", "a web page"},
    {"<html", "a web page"},
    {"{", "a JSON file"},
};

Error located(Error error, const std::string& path) {
  // The file layer names the path itself.
  if (error.message.find(path) == std::string::npos) error.message = path + ": " + error.message;
  return error;
}

Status read_model(const import::Importer& importer, std::span<const uint8_t> bytes,
                  const import::ImportOptions& options, Loaded& loaded) {
  ir::Graph graph =
      PERAXIS_TRY(importer.read(bytes, std::filesystem::path(loaded.path).stem().string(), options));
  if (const int64_t count = PERAXIS_TRY(passes::resolve_shapes(graph)); count > 0)
    loaded.changes.push_back(
        {"resolve_shapes", "operators of constants computed for shapes and weights", count});
  import::Entries entries = PERAXIS_TRY(importer.entries(bytes, options));
  loaded.signatures = std::move(entries.signatures);
  for (const import::DynamicInput& input : entries.dynamic_inputs)
    loaded.warnings.push_back(
        fmt::format("input {} '{}' is declared {} and takes other sizes too ({}, -1: any); --shape {}=... "
                    "states another",
                    input.index, input.name, ir::shape_text(input.declared), ir::shape_text(input.signature),
                    input.index));
  loaded.model = std::move(graph);
  return {};
}

Status read_executable(std::span<const uint8_t> bytes, Loaded& loaded) {
  loaded.executable = PERAXIS_TRY(exe::read(bytes));
  if (loaded.executable->model_info.empty()) return {};
  vision::SourcedInfo stored = PERAXIS_TRY(
      vision::parse_stored_info(loaded.executable->model_info, "the model info inside the executable"));
  for (std::string* source : {&stored.source, &stored.labels_source})
    if (!source->empty()) *source += ", inside the executable";
  loaded.stored = std::move(stored);
  return {};
}

// `values` went into a common scale with wider ones.
std::string crowded_text(const ir::Graph& graph, const ir::CrowdedInput& input) {
  const ir::Op& op = graph.ops[input.op];
  const ir::Tensor& part = graph.tensor(op.inputs[input.slot]);
  const ir::Tensor& joined = graph.tensor(op.outputs[0]);
  const std::string maker =
      input.maker < 0 ? std::string("the model's input") : graph.op_label(static_cast<size_t>(input.maker));
  return fmt::format(
      "{}: input {} ('{}', values {:.4g} to {:.4g}) has {} of 256 levels in the common scale {:.4g}; this is "
      "the "
      "model's own loss: give the values of {} an output of their own",
      graph.op_label(input.op), input.slot, part.name, input.values.low, input.values.high, input.levels,
      joined.quant.scale[0], maker);
}

}  // namespace

std::string describe_content(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return "an empty file";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), 64));
  for (const Signature& signature : kSignatures)
    if (text.substr(0, signature.prefix.size()) == signature.prefix) return std::string(signature.what);
  // A protobuf whose first field is a small number (ir_version) is how ONNX files start.
  if (text.size() > 2 && text[0] == 0x08 && text[1] > 0 && text[1] < 32)
    return "an ONNX file (or another protobuf); this version reads TFLite";
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\r' || c == '\t'; }))
    return "a text file";
  return {};
}

Result<Loaded> load(std::span<const uint8_t> bytes, const std::string& path,
                    const import::ImportOptions& options) {
  Loaded loaded;
  loaded.path = path;
  loaded.hash = base::hash64(bytes);
  if (exe::looks_like_executable(bytes)) {
    if (Status status = read_executable(bytes, loaded); !status)
      return tl::unexpected<Error>(located(std::move(status).error(), path));
    return loaded;
  }
  const import::Importer* importer = import::importer_of(bytes);
  if (importer == nullptr) {
    const std::string what = describe_content(bytes);
    return fail(ErrorCode::InvalidModel, "{} is neither {} nor a peraxis executable{}{}", path,
                import::formats_listed(), what.empty() ? "" : "; it looks like ", what);
  }
  if (Status status = read_model(*importer, bytes, options, loaded); !status)
    return tl::unexpected<Error>(located(std::move(status).error(), path));
  loaded.embedded = vision::read_embedded_info(bytes);
  return loaded;
}

Result<Loaded> load(const std::string& path, const import::ImportOptions& options) {
  Result<std::vector<uint8_t>> bytes = base::read_file(path);
  if (!bytes) return tl::unexpected<Error>(located(std::move(bytes).error(), path));
  return load(*bytes, path, options);
}

void simplify(Loaded& loaded) {
  for (passes::Change& change : passes::run_all(*loaded.model)) loaded.changes.push_back(change);
}

std::vector<std::string> model_warnings(const ir::Graph& graph, const Loaded& loaded) {
  std::vector<std::string> out = loaded.warnings;
  for (const ir::CrowdedInput& input : ir::crowded_inputs(graph)) out.push_back(crowded_text(graph, input));
  return out;
}

std::vector<std::string> strategy_warnings(const ir::Graph& graph,
                                           const std::vector<exe::LayerPlan>& layers) {
  std::vector<std::string> out;
  for (const exe::LayerPlan& layer : layers) {
    const auto op = static_cast<size_t>(layer.op);
    if (op < graph.ops.size() && layer.device == "npu" && !layer.reason.empty())
      out.push_back(fmt::format("{} runs by {}: {}", graph.op_label(op), layer.strategy, layer.reason.str()));
  }
  return out;
}

}  // namespace peraxis::engine
