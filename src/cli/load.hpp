// A MODEL or FILE argument: told apart by content, never by the file's name.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "engine/model.hpp"
#include "import/import.hpp"

namespace peraxis::cli {

using engine::Loaded;

// What of a TFLite file is read.
struct ModelOptions {
  std::string signature;            // --signature: the key of the subgraph to take
  std::vector<std::string> shapes;  // --shape: NAME=1x320x320x3
  bool given() const { return !signature.empty() || !shapes.empty(); }
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
// "graph: 3 paddings taken into convolutions\n"; empty when nothing changed.
std::string changes_text(const std::vector<passes::Change>& changes);
Json changes_json(const std::vector<passes::Change>& changes);

// Refuses an empty output name, and one that is the same file as an input.
Status check_output(const std::string& output, const std::string& input);

}  // namespace peraxis::cli
