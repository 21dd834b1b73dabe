// The values of a model's inputs, from --input N=FILE.npy and --image.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/cli.hpp"
#include "engine/inputs.hpp"
#include "ir/graph.hpp"
#include "vision/heads.hpp"
#include "vision/image.hpp"

namespace peraxis::cli {

using engine::PictureInput;

struct InputOptions {
  std::vector<std::string> inputs;  // N=FILE.npy as given
  std::string image;
};
void add_input_options(const Arguments& arguments, InputOptions& options);

struct BoundInputs {
  std::vector<std::vector<uint8_t>> values;  // by input of the graph
  std::optional<vision::Image> picture;      // the one of --image
  std::optional<PictureInput> taken;         // by what input
  vision::InputGeometry geometry;            // of that input
};

// The one input that takes pictures, of those that have no value yet (`taken`, by input; empty: of all); a
// usage error names the inputs when there is none, or more. `option` is what needs it.
CliResult<PictureInput> picture_input(const ir::Graph& graph, const std::string& option,
                                      const std::vector<bool>& taken = {});

// Every input must get a value exactly once; the error names those that did not.
CliResult<BoundInputs> bind_inputs(const ir::Graph& graph, const InputOptions& options);

// The input `spec` (of "N=FILE") names: an index, or the longest input name that a '=' follows.
struct InputSpec {
  size_t input = 0;
  std::string path;
};
CliResult<InputSpec> parse_input_spec(const ir::Graph& graph, const std::string& spec);

}  // namespace peraxis::cli
