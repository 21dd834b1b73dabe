// What a user should know of a model or of how it runs although nothing failed: every warning is a line on
// stderr and an entry of "warnings" in the JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/load.hpp"
#include "cli/output.hpp"
#include "exe/executable.hpp"
#include "ir/graph.hpp"

namespace peraxis::cli {

// Losses that the model itself brings, whatever runs it.
std::vector<std::string> model_warnings(const ir::Graph& graph, const Loaded& loaded);
// Layers of the NPU that were not run by the strategy asked for.
std::vector<std::string> strategy_warnings(const ir::Graph& graph, const std::vector<exe::LayerPlan>& layers);

// "warning: ..." on stderr, one line each.
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace peraxis::cli
