// Operators on the NPU that are no convolutions, each alone beside the reference kernels.
#pragma once

#include <map>
#include <vector>

#include "engine/layer_compare.hpp"
#include "plan/planner.hpp"

namespace peraxis::engine {

// By operator: what differed, of those that are measured at all.
using OperatorDifferences = std::map<size_t, Difference>;

// Operators with arithmetic of their own on the NPU: those with a certificate of more than moved values.
std::vector<size_t> counted_operators(const ir::Graph& graph, const plan::Plan& plan);

// The operators of NPU tasks, each alone on the reference's activations.
Result<OperatorDifferences> measure_operators(const ir::Graph& graph, const TensorMap& reference,
                                              const compiler::Options& build, const plan::Plan& plan,
                                              int threads);

}  // namespace peraxis::engine
