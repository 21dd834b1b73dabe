// Task -> command words. The order of the 122 registers is that of the working drivers, which write four of
// them twice (docs/hardware/pc.md#command-words).
#pragma once

#include "emit/program.hpp"

namespace peraxis::emit {

Result<Program> convolution(const rk3588::ConvTask& task);

}  // namespace peraxis::emit
