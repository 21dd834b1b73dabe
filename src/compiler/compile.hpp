// Graph in, executable out: for every operator the device (and the reason), for every convolution-like
// operator a strategy, then tiles, tasks, memory plan, command words and the host's steps between jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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

struct Options {
  std::string strategy = "auto";  // a name of strategy_names(), or "auto": chosen by `accuracy`
  Accuracy accuracy = Accuracy::Fast;
  num::Reference reference = num::Reference::LitertRef;
  requant::StrategyOptions strategy_options;  // settings of the strategies that have any
  std::optional<double> max_mismatch;  // 'auto': share of outputs allowed to differ, 0..1 (plan/planner.hpp)
  rk3588::CostConstants cost;          // what the planner's time estimate is made of
  // Calibration by operator: counts of output values, [channel][256].
  std::map<int32_t, std::vector<int64_t>> histograms;
  // The same of operators with one or two 8-bit operands: counts of their combinations, [256] or [256][256].
  std::map<int32_t, std::vector<int64_t>> seen_operands;
  bool convolutions_only = false;  // every other operator runs on the CPU
  bool tables = true;              // operators may use the chip's look-up table (plan/planner.hpp)
  bool fused_adds = true;          // not exact: convolutions may do the ADD behind them (plan/planner.hpp)
  bool ppu = true;                 // false: no task of the PPU; averages as convolutions, maxima on the CPU
  bool prefer_npu = false;         // operators run on the NPU wherever they can, whatever the estimate says
  // Arithmetic of the model on the CPU is an error; prefer_npu too. Moved data, QUANTIZE of a model input,
  // DEQUANTIZE to a model output and the host's work after tasks are none.
  bool no_fallback = false;
  bool packed_input = true;  // pictures are uploaded as they lie (plan/planner.hpp)
  bool cubes_on_cpu = true;  // CPU operators read and write cubes; false: dense host arrays only
  std::string target = "rk3588";
  uint64_t model_hash = 0;  // recorded in the executable
  // For tests: smaller limits force tiles and splits. 0: the chip's.
  int32_t max_tile_rows = 0;
  int32_t max_task_channels = 0;
  int64_t memory_gap = 0;  // lower::MemoryPlan::keep_apart
  // Called before every operator is compiled, for a progress display; may be empty.
  std::function<void(int64_t done, int64_t total)> progress;
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
