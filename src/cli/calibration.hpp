// --calibrate: how often each value of every convolution's output, and each combination of the operands of
// other operators, is seen on given inputs. The planner and the parameter search weigh by it.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "ir/graph.hpp"

namespace peraxis::cli {

// Runs the reference kernels on the input sets i<k>_<n> of each file and adds the counts to
// build.histograms and build.seen_operands.
Status calibrate(const ir::Graph& graph, const std::vector<std::string>& files, int threads,
                 compiler::Options& build);

}  // namespace peraxis::cli
