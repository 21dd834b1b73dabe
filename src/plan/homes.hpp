// Where tensors are written in place: the parts of a concatenation on the NPU go straight into its output, so
// that nothing is copied.
#pragma once

#include <cstdint>
#include <map>

#include "plan/planner.hpp"

namespace peraxis::plan {

// By tensor. A part has a home when its producer is on the NPU and writes no slot beyond the part's channels
// (whole groups of 32, depthwise 64; other operators whole surfaces of 16), or when it is the last part and
// nothing lies behind it. A tensor that several concatenations take gets the last one's.
std::map<int32_t, Home> concatenation_homes(const ir::Graph& graph, const Plan& plan);

}  // namespace peraxis::plan
