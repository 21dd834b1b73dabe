// What a user should know of a model or of how it runs although nothing failed: every warning is a line on
// stderr and an entry of "warnings" in the JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/output.hpp"
#include "engine/model.hpp"

namespace peraxis::cli {

using engine::model_warnings;
using engine::strategy_warnings;

// "warning: ..." on stderr, one line each.
void print_warnings(const std::vector<std::string>& warnings);

}  // namespace peraxis::cli
