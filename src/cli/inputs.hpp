// The values of a model's inputs, from --input N=FILE.npy and --image.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/npy.hpp"
#include "cli/arguments.hpp"
#include "ir/graph.hpp"
#include "vision/heads.hpp"
#include "vision/image.hpp"

namespace peraxis::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // N=FILE.npy as given
  std::string image;
};
void add_input_options(const Arguments& arguments, InputOptions& options);

inline std::vector<std::span<const uint8_t>> spans(const std::vector<std::vector<uint8_t>>& values) {
  return {values.begin(), values.end()};
}

struct BoundInputs {
  std::vector<std::vector<uint8_t>> values;  // by input of the graph
  std::optional<vision::Image> picture;      // the one of --image
  vision::InputGeometry geometry;            // of the input it went to
};

// Every input must get a value exactly once; the error names those that did not.
CliResult<BoundInputs> bind_inputs(const ir::Graph& graph, const InputOptions& options);

// The array as the bytes of `tensor`: dtype and shape must be the tensor's. `what` names the array.
Result<std::vector<uint8_t>> tensor_bytes(const base::Array& array, const ir::Tensor& tensor,
                                          const std::string& what);
base::Array tensor_array(const ir::Tensor& tensor, std::span<const uint8_t> bytes);

// The input `spec` (of "N=FILE") names: an index, or the longest input name that a '=' follows.
struct InputSpec {
  size_t input = 0;
  std::string path;
};
CliResult<InputSpec> parse_input_spec(const ir::Graph& graph, const std::string& spec);

}  // namespace peraxis::cli
