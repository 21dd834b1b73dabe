// Every strategy on one model, each planned, compiled, run on the machine model and
// compared with the reference kernels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "engine/difference.hpp"
#include "engine/layer_compare.hpp"
#include "engine/progress.hpp"

namespace peraxis::engine {

struct StrategyRow {
  std::string name;            // of strategies.def, or "fast"
  std::string left_out;        // why there is no row; the rest is then empty
  std::optional<Error> error;  // what failed, where it should not have; the same
  plan::Cost cost;
  double expected = 0;    // plan::Pool::share
  Difference isolated;    // pooled over the operators of that pool, each on the reference's activations
  Difference end_to_end;  // over all outputs
};

struct TableInput {
  const ir::Graph& graph;
  const std::vector<std::vector<uint8_t>>& inputs;
  const TensorMap& reference;  // activations of the reference kernels on `inputs`
};

// Names of the rows, in order: the strategies, "exact" last, "fast" before it.
std::vector<std::string> strategy_rows();

// One row. `build` gives everything but the strategy.
Result<StrategyRow> measure_strategy(const TableInput& input, const compiler::Options& build,
                                     const std::string& name);

// All rows on `threads` threads, in the order of strategy_rows. A strategy that fails has a row that says so.
std::vector<StrategyRow> measure_strategies(const TableInput& input, const compiler::Options& build,
                                            int threads, const Progress& progress = {});

// Inputs for a model when none are given: smooth patterns and noise over the whole range of each input's
// type, the same on every machine.
std::vector<std::vector<uint8_t>> synthetic_inputs(const ir::Graph& graph);

}  // namespace peraxis::engine
