// What a run can know before it starts: which host array is last read by which step, and after which step a
// tensor that lives on the device only is complete. Building it also proves that no step reads a host array
// that no earlier step has written, so that the run itself needs no such checks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"

namespace peraxis::runtime {

// Checks the executable against its own graph: tensors, operators, channel counts, sizes. exe::verify knows
// nothing of graphs and cannot do it.
Status check_against_graph(const exe::Executable& executable, const ir::Graph& graph);

struct Schedule {
  // By step: host arrays nobody reads after it.
  std::vector<std::vector<int32_t>> dead_after;
  // By task: placements that are complete once this task has run.
  std::vector<std::vector<int32_t>> complete_after_task;
  // By step: placements that are complete once this host step has run.
  std::vector<std::vector<int32_t>> complete_after_step;
};

Result<Schedule> make_schedule(const exe::Executable& executable, const ir::Graph& graph);

}  // namespace peraxis::runtime
