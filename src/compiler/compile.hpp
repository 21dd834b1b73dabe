// Graph in, executable out: for every operator the device (and the reason), for every convolution-like
// operator a strategy, then tiles, tasks, memory plan, command words and the host's steps between jobs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"
#include "num/reference.hpp"
#include "plan/planner.hpp"
#include "program/program.hpp"
#include "requant/strategy.hpp"

namespace peraxis::compiler {

enum class Accuracy : uint8_t { Fast, Exact };

// What the planner is asked, in its own terms, and what only this folder knows. `forced` and `exact` follow
// from strategy and accuracy.
struct Options : plan::PlannerOptions {
  std::string strategy = "auto";  // a name of strategy_names(), or "auto": chosen by `accuracy`
  Accuracy accuracy = Accuracy::Fast;
  // Arithmetic of the model on the CPU is an error; prefer_npu too. Moved data, QUANTIZE of a model input,
  // DEQUANTIZE to a model output and the host's work after tasks are none.
  bool no_fallback = false;
  std::string target = "rk3588";
  uint64_t model_hash = 0;  // recorded in the executable
};

// "max-scale", "hw-multiply", ... in the order of strategies.def.
std::vector<std::string> strategy_names();

// How the convolutions and the other operators are run, as the executable records it.
std::vector<exe::LayerPlan> layer_records(const ir::Graph& graph,
                                          const std::vector<program::Operator>& operators);
std::vector<exe::OperatorPlan> operator_records(const ir::Graph& graph,
                                                const std::vector<program::Operator>& operators);

// What the planner is asked under these options. Errors name an unknown target or strategy.
Result<plan::PlannerOptions> planner_options(const Options& options);

// The graph must have passed ir::verify. Errors name the operator.
Result<exe::Executable> compile(const ir::Graph& graph, const Options& options);
// The same with a plan made before (plan::make_plan of this graph).
Result<exe::Executable> compile(const ir::Graph& graph, const Options& options, const plan::Plan& plan);

// An executable, and the placed program that it was made of.
struct Compiled {
  exe::Executable executable;
  program::Program program;
};
Result<Compiled> compile_measured(const ir::Graph& graph, const Options& options, const plan::Plan& plan);

// One operator as a graph of its own: its activations become inputs and outputs, constants are kept.
// Tensor indices are kept too (unused tensors stay, empty), so reports can name them.
ir::Graph extract_operator(const ir::Graph& graph, size_t op);
// The same of several in the order of execution, each but the last read by one behind it alone.
ir::Graph extract_operators(const ir::Graph& graph, std::span<const size_t> ops);

}  // namespace peraxis::compiler
