// Operators that only move data, one behind the other: TRANSPOSE of TRANSPOSE, RESHAPE of RESHAPE, and those
// that move nothing.
#pragma once

#include <cstdint>

#include "ir/graph.hpp"

namespace peraxis::passes {

// A TRANSPOSE of a TRANSPOSE becomes one of the first input; a TRANSPOSE that keeps the order of all
// dimensions larger than 1 becomes a RESHAPE; a RESHAPE, SQUEEZE or EXPAND_DIMS of another becomes a RESHAPE
// of the first input; readers of a move that changes neither shape nor meaning read its input. Operators and
// tensors keep their indices; what nobody reads any more is dead. Returns how many operators changed or lost
// their readers.
int64_t merge_moves(ir::Graph& graph);

}  // namespace peraxis::passes
