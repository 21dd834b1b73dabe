// Which real values the tensors of a model can take: from what each tensor can store and what its operator
// can give. Too wide where an operator's arithmetic is not known here, never too narrow by more than a
// rounding.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace peraxis::ir {

struct RealRange {
  double low = 0, high = 0;
};

// By tensor. The graph must have passed verify.
std::vector<RealRange> value_ranges(const Graph& graph);

// An input of a CONCATENATION for whose values the output's scale has only a few steps.
struct CrowdedInput {
  size_t op = 0;       // the concatenation
  size_t slot = 0;     // its input
  RealRange values;    // that the input can take
  int64_t levels = 0;  // of the output's type that they become
  int32_t maker =
      -1;  // the operator behind copies and changes of scale that makes them; -1: the model's input
};
// Fewer levels of the 256 than this are reported.
inline constexpr int64_t kFewLevels = 8;

// Of concatenations of 8-bit values: inputs left with fewer than kFewLevels. Constants and inputs that can
// only have one value are left out.
std::vector<CrowdedInput> crowded_inputs(const Graph& graph);

}  // namespace peraxis::ir
