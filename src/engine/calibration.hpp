// Calibration: how often each value of every convolution's output, and each combination of the operands of
// other operators, is seen on given inputs. The planner and the parameter search weigh by it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "engine/progress.hpp"
#include "ir/graph.hpp"

namespace peraxis::engine {

// All inputs of the graph, and what errors call them.
struct CalibrationSet {
  const std::vector<std::vector<uint8_t>>* inputs = nullptr;
  std::string name;
};
// Runs the reference kernels on every set and adds the counts to build.histograms and build.seen_operands.
Status calibrate(const ir::Graph& graph, std::span<const CalibrationSet> sets, int threads,
                 compiler::Options& build, const Progress& progress = {});

// Runs the reference kernels on the input sets i<k>_<n> of each file.
Status calibrate(const ir::Graph& graph, const std::vector<std::string>& files, int threads,
                 compiler::Options& build, const Progress& progress = {});

}  // namespace peraxis::engine
