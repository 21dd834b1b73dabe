// The steps of an executable and their edges, for inspect.
#pragma once

#include <string>

#include "cli/output.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"

namespace peraxis::cli {

// [{"step", "kind", "op", "placement", "tensor", "first_task", "tasks", "after", "reads", "writes",
//   "completes": [{"placement", "task"}], "frees"}]: what a kind does not have is null.
Json steps_json(const exe::Executable& executable);
// A row each: what it does, the steps it waits for, the tensors that are complete after it and those whose
// host arrays end with it.
std::string steps_table(const ir::Graph& graph, const exe::Executable& executable);

}  // namespace peraxis::cli
