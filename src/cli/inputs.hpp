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
#include "vision/quantize.hpp"

namespace peraxis::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // N=FILE.npy as given
  std::string image;
};
void add_input_options(const Arguments& arguments, InputOptions& options);

inline std::vector<std::span<const uint8_t>> spans(const std::vector<std::vector<uint8_t>>& values) {
  return {values.begin(), values.end()};
}

// How an input takes pictures.
struct PictureInput {
  size_t input = 0;
  int height = 0, width = 0, channels = 0;
  bool channels_first = false;  // [1, channels, height, width]
  vision::PixelRule rule = vision::PixelRule::ZeroToOne;
  std::string because;  // why `rule`
};

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
