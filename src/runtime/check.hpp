// What must hold of an executable and its own graph before it runs. The edges that a run follows are in the
// executable; nothing is worked out here.
#pragma once

#include "base/result.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"

namespace peraxis::runtime {

// Checks the executable against its own graph: tensors, operators, channel counts, sizes. exe::verify knows
// nothing of graphs and cannot do it.
Status check_against_graph(const exe::Executable& executable, const ir::Graph& graph);

// Proves that no step reads a host array that no earlier step has written or that one has freed, so that the
// run itself needs no such checks.
Status check_host_arrays(const exe::Executable& executable, const ir::Graph& graph);

}  // namespace peraxis::runtime
