// Differences as JSON and as text.
#pragma once

#include <string>

#include "cli/output.hpp"
#include "engine/difference.hpp"

namespace peraxis::cli {

using engine::Difference;

// {"elements", "differing", "percent", "max", "mean", "histogram": {"-2-", "-1", "0", "1", "2+"}}
Json difference_json(const Difference& d);
std::string histogram_text(const Difference& d);  // "0/12/980/8/0"

}  // namespace peraxis::cli
