// Everything a compilation has decided, with symbolic addresses; assemble() plans memory, emits the words
// and links the chains.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "exe/executable.hpp"
#include "lower/memory_plan.hpp"
#include "target/rk3588/tasks.hpp"

namespace peraxis::compiler {

inline constexpr int32_t kCommandBuffer = 0, kConstantBuffer = 1, kActivationBuffer = 2;

struct PlannedTask {
  exe::Task info;
  rk3588::Task task;
};

struct ProgramPlan {
  lower::MemoryPlan memory;
  std::vector<PlannedTask> tasks;
  std::vector<exe::Step> steps;
  std::vector<exe::Placement> placements;                    // offsets filled in by assemble
  std::vector<rk3588::SymbolicAddress> placement_addresses;  // one a placement
  std::vector<exe::HostStep> host_steps;                     // region offsets filled in by assemble
  std::vector<rk3588::SymbolicAddress> host_regions;         // of all regions, in host-step order
  std::vector<exe::LayerPlan> layers;
};

// Makes every activation as large as what tasks and the host's steps read and write of it: tasks reach beyond
// a cube, with the dummy channels of their last group. assemble() does it too.
void reserve(ProgramPlan& plan);

Result<exe::Executable> assemble(ProgramPlan&& plan);

}  // namespace peraxis::compiler
