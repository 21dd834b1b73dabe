// See load.hpp.
#include "cli/load.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "import/import.hpp"
#include "ir/shape.hpp"
#include "passes/resolve_shapes.hpp"

namespace peraxis::cli {
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

// "1x320x320x3".
std::optional<std::vector<int32_t>> parse_shape(std::string_view text) {
  std::vector<int32_t> shape;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int32_t size = 0;
    const auto [rest, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1) return std::nullopt;
    shape.push_back(size);
    if (rest == end) return shape;
    if (*rest != 'x') return std::nullopt;
    at = rest + 1;
  }
}

Status read_model(std::span<const uint8_t> bytes, const import::ImportOptions& options, Loaded& loaded) {
  ir::Graph graph =
      PERAXIS_TRY(import::import_tflite(bytes, std::filesystem::path(loaded.path).stem().string(), options));
  if (const int64_t count = PERAXIS_TRY(passes::resolve_shapes(graph)); count > 0)
    loaded.changes.push_back(
        {"resolve_shapes", "operators of constants computed for shapes and weights", count});
  import::Entries entries = PERAXIS_TRY(import::read_entries(bytes, options));
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

CliResult<Loaded> load(const std::string& path, const ModelOptions& options) {
  const import::ImportOptions importing = PERAXIS_TRY(import_options(options));
  Loaded loaded;
  loaded.path = path;
  Result<std::vector<uint8_t>> read = base::read_file(path);
  if (!read) return tl::unexpected<CliError>(located(std::move(read).error(), path));
  const std::vector<uint8_t>& bytes = *read;
  loaded.hash = base::hash64(bytes);
  if (exe::looks_like_executable(bytes)) {
    if (options.given())
      return usage("--signature and --shape are for models; {} is an executable, already compiled", path);
    Result<exe::Executable> executable = exe::read(bytes);
    if (!executable) return tl::unexpected<CliError>(located(std::move(executable).error(), path));
    loaded.executable = std::move(*executable);
    if (loaded.executable->model_info.empty()) return loaded;
    Result<vision::SourcedInfo> stored =
        vision::parse_stored_info(loaded.executable->model_info, "the model info inside the executable");
    if (!stored) return tl::unexpected<CliError>(located(std::move(stored).error(), path));
    for (std::string* source : {&stored->source, &stored->labels_source})
      if (!source->empty()) *source += ", inside the executable";
    loaded.stored = std::move(*stored);
    return loaded;
  }
  if (!import::looks_like_tflite(bytes)) {
    const std::string what = describe_content(bytes);
    return tl::unexpected<CliError>(
        Error{ErrorCode::InvalidModel,
              fmt::format("{} is neither a TFLite model nor a peraxis executable{}{}", path,
                          what.empty() ? "" : "; it looks like ", what),
              {}});
  }
  if (Status status = read_model(bytes, importing, loaded); !status)
    return tl::unexpected<CliError>(located(std::move(status).error(), path));
  loaded.embedded = vision::read_embedded_info(bytes);
  return loaded;
}

CliResult<Loaded> load_model(const std::string& path, const ModelOptions& options) {
  Loaded loaded = PERAXIS_TRY(load(path, options));
  if (!loaded.model)
    return tl::unexpected<CliError>(
        Error{ErrorCode::InvalidModel,
              fmt::format("{} is an executable, already compiled; this command takes a TFLite model", path),
              {}});
  simplify(loaded);
  return loaded;
}

CliResult<import::ImportOptions> import_options(const ModelOptions& options) {
  import::ImportOptions out;
  out.signature = options.signature;
  for (const std::string& text : options.shapes) {
    const size_t split = text.rfind('=');
    const auto shape = split == std::string::npos ? std::nullopt : parse_shape(text.substr(split + 1));
    if (!shape)
      return usage("--shape: '{}' is not INPUT=SIZES, like 'images'=1x320x320x3 or 0=1x320x320x3", text);
    out.shapes.emplace_back(text.substr(0, split), *shape);
  }
  return out;
}

CliResult<std::vector<import::OperatorCount>> count_operators(const std::string& path,
                                                              const ModelOptions& options) {
  const import::ImportOptions importing = PERAXIS_TRY(import_options(options));
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(path));
  return PERAXIS_TRY(import::count_operators(bytes, importing));
}

void simplify(Loaded& loaded) {
  for (passes::Change& change : passes::run_all(*loaded.model)) loaded.changes.push_back(change);
}

std::string changes_text(const std::vector<passes::Change>& changes) {
  std::string text;
  for (const passes::Change& change : changes)
    text += fmt::format("{}{} {}", text.empty() ? "graph: " : ", ", change.count, change.what);
  return text.empty() ? text : text + "\n";
}

Json changes_json(const std::vector<passes::Change>& changes) {
  Json out = Json::array();
  for (const passes::Change& change : changes)
    out.push_back({{"pass", change.pass}, {"what", change.what}, {"count", change.count}});
  return out;
}

Status check_output(const std::string& output, const std::string& input) {
  if (output.empty()) return fail(ErrorCode::InvalidArgument, "an empty name for the file to write");
  std::error_code ignored;
  if (std::filesystem::equivalent(output, input, ignored))
    return fail(ErrorCode::InvalidArgument, "{} is the file that is read; writing it would destroy it",
                output);
  return {};
}

}  // namespace peraxis::cli
