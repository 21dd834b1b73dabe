// What a plan says of every operator, in the terms of the placed program.
#pragma once

#include <vector>

#include "plan/planner.hpp"
#include "program/program.hpp"

namespace peraxis::plan {

// By operator of the graph: the variant that was taken, why, what is proved of it and what it costs.
std::vector<program::Operator> describe_operators(const ir::Graph& graph, const Plan& plan,
                                                  const rk3588::CostConstants& constants);

}  // namespace peraxis::plan
