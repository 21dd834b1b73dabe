// See load.hpp.
#include "cli/load.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "import/import.hpp"

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

Result<ir::Graph> read_model(std::span<const uint8_t> bytes, std::string name, const ModelOptions& options) {
  ir::Graph graph = PERAXIS_TRY(import::import_tflite(bytes, std::move(name), {options.signature}));
  PERAXIS_TRY(ir::verify(graph));
  return graph;
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
  Loaded loaded;
  loaded.path = path;
  Result<std::vector<uint8_t>> read = base::read_file(path);
  if (!read) return tl::unexpected<CliError>(located(std::move(read).error(), path));
  const std::vector<uint8_t>& bytes = *read;
  loaded.hash = base::hash64(bytes);
  if (exe::looks_like_executable(bytes)) {
    if (!options.signature.empty())
      return usage("--signature is for models; {} is an executable, already compiled", path);
    Result<exe::Executable> executable = exe::read(bytes);
    if (!executable) return tl::unexpected<CliError>(located(std::move(executable).error(), path));
    loaded.executable = std::move(*executable);
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
  Result<ir::Graph> graph = read_model(bytes, std::filesystem::path(path).stem().string(), options);
  if (!graph) return tl::unexpected<CliError>(located(std::move(graph).error(), path));
  loaded.signatures = PERAXIS_TRY(import::read_signatures(bytes));
  loaded.model = std::move(*graph);
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

Result<std::vector<import::OperatorCount>> count_operators(const std::string& path,
                                                           const ModelOptions& options) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(path));
  return import::count_operators(bytes, {options.signature});
}

void simplify(Loaded& loaded) {
  loaded.changes = passes::run_all(*loaded.model);
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
