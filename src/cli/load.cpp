// See load.hpp.
#include "cli/load.hpp"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.hpp"

namespace peraxis::cli {
namespace {

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

}  // namespace

CliResult<Loaded> load(const std::string& path, const ModelOptions& options) {
  const import::ImportOptions importing = PERAXIS_TRY(import_options(options));
  Loaded loaded = PERAXIS_TRY(engine::load(path, importing));
  if (loaded.executable && options.given())
    return usage("--signature and --shape are for models; {} is an executable, already compiled", path);
  return loaded;
}

CliResult<Loaded> load_model(const std::string& path, const ModelOptions& options) {
  Loaded loaded = PERAXIS_TRY(load(path, options));
  if (!loaded.model)
    return tl::unexpected<CliError>(
        Error{ErrorCode::InvalidModel,
              fmt::format("{} is an executable, already compiled; this command takes a TFLite model", path),
              {}});
  engine::simplify(loaded);
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
