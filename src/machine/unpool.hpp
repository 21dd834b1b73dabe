// Nearest-neighbour enlargement: a copy of 16-bit lanes by the DPU alone
// (docs/hardware/dpu.md#enlarging-a-map).
#pragma once

#include "machine/task.hpp"

namespace peraxis::machine {

struct UnpoolTask {
  int32_t index = 0;
  int64_t width = 0, height = 0;  // of the input; 8 lanes of 16 bits
  int64_t columns = 1, rows = 1;  // copies of each pixel
  int64_t src_address = 0;
  int64_t dst_address = 0, dst_stride = 0, dst_line = 0;  // atoms between copies of a row, between rows
};

// True when the registers ask for it rather than for a task on int8 values.
bool asks_for_unpool(const RegisterFile& file);
Result<UnpoolTask> decode_unpool(const RegisterFile& file, int32_t index);
std::vector<Range> output_ranges(const UnpoolTask& task);
Status run_unpool(const UnpoolTask& task, Context& context);

}  // namespace peraxis::machine
