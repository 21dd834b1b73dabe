// A plan as a placed program: operators in their order, tensors where they lie, tasks with their addresses,
// steps and the edges between them.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/planner.hpp"
#include "program/program.hpp"

namespace peraxis::plan {

struct PlacedProgram {
  program::Program program;
  std::vector<uint8_t> constants;  // packed weights and operands: the bytes of the constant allocations
};

// `options` are those that the plan was made under. Errors name the operator.
Result<PlacedProgram> place_program(const ir::Graph& graph, const Plan& plan, const PlannerOptions& options);

}  // namespace peraxis::plan
