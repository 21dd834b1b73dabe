// PPU: planar pooling from memory to memory (enable word 0x60).
#pragma once

#include <cstdint>

#include "machine/task.hpp"

namespace peraxis::machine {

enum class PoolMethod : uint8_t { Average, Max, Min };

struct PoolTask {
  int32_t index = 0;
  PoolMethod method = PoolMethod::Max;
  int64_t in_width = 0, in_height = 0, out_width = 0, out_height = 0, channels = 0;
  int64_t kernel_w = 0, kernel_h = 0, stride_x = 0, stride_y = 0;
  int64_t pad_left = 0, pad_top = 0, pad_right = 0, pad_bottom = 0;
  int64_t pad_value = 0, reciprocal_w = 0, reciprocal_h = 0;
  int64_t src_address = 0, src_line = 0, src_surface = 0;  // strides in atoms
  int64_t dst_address = 0, dst_surface = 0, dst_line = 0;  // dst_line: output width + notch
};

Result<PoolTask> decode_pool(const RegisterFile& file, int32_t index, const Options& options);
std::vector<Range> output_ranges(const PoolTask& task);
Status run_pool(const PoolTask& task, Context& context);

}  // namespace peraxis::machine
