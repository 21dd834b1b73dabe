// What draws the progress of a job on a terminal.
#pragma once

#include <string>

#include "engine/progress.hpp"

namespace peraxis::cli {

// A line on stderr, which is erased with the last copy of the function; empty without a terminal.
engine::Progress drawn_progress(std::string label);

}  // namespace peraxis::cli
