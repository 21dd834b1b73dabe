// Jobs as the chip can run them: no chain longer than it counts, the look-up table loaded where it is used.
#pragma once

#include "base/result.hpp"
#include "program/program.hpp"

namespace peraxis::program {

// Puts loads of tables where they are needed and makes several jobs of those that are too long. Completions
// follow their tasks.
Status make_chains(Program& program);

}  // namespace peraxis::program
