// What a file leaves to be worked out before a graph can be verified: shapes it does not declare or that
// another input size changes, and constants that operators make: amounts and sizes computed from fixed
// shapes, weights behind DEQUANTIZE or DENSIFY.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "ir/graph.hpp"

namespace peraxis::passes {

// Leaves a graph alone that verifies as it is. Else, operator by operator: open shapes are stated by the
// operators' rules, and operators of constants are computed by the reference kernels and their readers read
// the result, a new constant behind the graph's tensors. Verifies at the end. Returns how many operators were
// computed.
Result<int64_t> resolve_shapes(ir::Graph& graph);

}  // namespace peraxis::passes
