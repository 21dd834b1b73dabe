// A MODEL or FILE argument: told apart by content, never by the file's name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "exe/executable.hpp"
#include "import/import.hpp"
#include "ir/graph.hpp"
#include "passes/passes.hpp"
#include "vision/embedded_info.hpp"

namespace peraxis::cli {

// What of a TFLite file is read.
struct ModelOptions {
  std::string signature;            // --signature: the key of the subgraph to take
  std::vector<std::string> shapes;  // --shape: NAME=1x320x320x3
  bool given() const { return !signature.empty() || !shapes.empty(); }
};

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

// Errors name the path and, when it is neither, what the file looks like instead.
CliResult<Loaded> load(const std::string& path, const ModelOptions& options);
// Refuses executables. The model as the compiler takes it: passes/ have been over it (simplify).
CliResult<Loaded> load_model(const std::string& path, const ModelOptions& options);
// The operators of a model, read or not, each kind and version once.
CliResult<std::vector<import::OperatorCount>> count_operators(const std::string& path,
                                                              const ModelOptions& options);
// What import takes; a usage error where a shape cannot be read.
CliResult<import::ImportOptions> import_options(const ModelOptions& options);
// Runs the passes over the model. Indices stay the file's; what the passes add is behind.
void simplify(Loaded& loaded);
// "graph: 3 paddings taken into convolutions\n"; empty when nothing changed.
std::string changes_text(const std::vector<passes::Change>& changes);
Json changes_json(const std::vector<passes::Change>& changes);

// Refuses an empty output name, and one that is the same file as an input.
Status check_output(const std::string& output, const std::string& input);

// "a PNG picture", "an ONNX or other protobuf file", ...; empty when nothing is recognized.
std::string describe_content(std::span<const uint8_t> bytes);

}  // namespace peraxis::cli
