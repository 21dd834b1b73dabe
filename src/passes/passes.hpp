// Changes of the graph before planning. One pass a file; this is their list.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.hpp"

namespace peraxis::passes {

struct Change {
  const char* pass;  // the name of its file: "fold_constants"
  const char* what;  // "operators of constants computed"
  int64_t count = 0;
};

// Runs every pass, in the order of their needs, and says what each did. Under the verified graph's rules the
// result is verified too, and gives the same outputs to the bit: every pass proves that for itself. Tensors
// and operators keep their indices; new tensors are behind those of the model, and what nobody reads any more
// stays as a dead operator (ir::dead_operators).
std::vector<Change> run_all(ir::Graph& graph);

}  // namespace peraxis::passes
