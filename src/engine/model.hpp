// A model or executable, told apart by content, never by the file's name, and what is known of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "exe/executable.hpp"
#include "import/import.hpp"
#include "ir/graph.hpp"
#include "passes/passes.hpp"
#include "vision/embedded_info.hpp"

namespace peraxis::engine {

// Exactly one of model and executable is there.
struct Loaded {
  std::string path;   // as given
  uint64_t hash = 0;  // xxh64 of the file
  std::optional<ir::Graph> model;
  std::optional<exe::Executable> executable;
  std::vector<import::Signature> signatures;  // of a model
  vision::EmbeddedInfo embedded;              // of a model: labels that lie behind it
  std::optional<vision::SourcedInfo> stored;  // of an executable, where it has any
  std::vector<std::string> warnings;          // of a model: sizes that the file leaves open
  std::vector<passes::Change> changes;        // what load_model's passes did
};

// Errors name the path and, when it is neither, what the file looks like instead. The options are a model's;
// nothing of them is about executables. `path` of bytes names them in errors and the model's graph.
Result<Loaded> load(const std::string& path, const import::ImportOptions& options = {});
Result<Loaded> load(std::span<const uint8_t> bytes, const std::string& path,
                    const import::ImportOptions& options = {});
// Runs the passes over the model. Indices stay the file's; what the passes add is behind.
void simplify(Loaded& loaded);
// "a PNG picture", "an ONNX or other protobuf file", ...; empty when nothing is recognized.
std::string describe_content(std::span<const uint8_t> bytes);

// Losses that the model itself brings, whatever runs it.
std::vector<std::string> model_warnings(const ir::Graph& graph, const Loaded& loaded);
// Layers of the NPU that were not run by the strategy asked for.
std::vector<std::string> strategy_warnings(const ir::Graph& graph, const std::vector<exe::LayerPlan>& layers);

}  // namespace peraxis::engine
