// Task -> command words. The order of the 126 register writes is that of the working drivers (npu/hardware.md
// Appendix A.1), without the two registers they write twice.
#pragma once

#include "emit/program.hpp"

namespace peraxis::emit {

Result<Program> convolution(const rk3588::ConvTask& task);

}  // namespace peraxis::emit
