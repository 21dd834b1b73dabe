// Operands that are smaller than the output, made as large as it: constants in constant memory, activations
// by tasks.
#pragma once

#include <vector>

#include "lower/device_op.hpp"

namespace peraxis::lower {

// The constant as a cube of the shape of `map`, repeated along the dimensions of size 1; images of a batch
// one below the other.
CubeAt constant_cube(const ir::Tensor& constant, const ir::Nhwc& map, MemoryPlan& memory);

// Why not, as a sentence: it would be too large. Empty when it is not.
std::string constant_cube_refusal(const ir::Nhwc& map);

// `count` pixels of every surface from pixel `source.pixel` to pixel `target.pixel`, as tasks; pixels of a
// surface lie one behind the other.
struct PixelsAt {
  const CubeAt& cube;
  int64_t pixel = 0;
};
void copy_pixels(const PixelsAt& source, const PixelsAt& target, int64_t count, int64_t channels,
                 std::vector<rk3588::Task>& tasks);

// One pixel, [1,1,1,C], as a whole plane: copies that double what is there.
CubeAt repeat_pixel(const CubeAt& pixel, const ir::Nhwc& map, MemoryPlan& memory,
                    std::vector<rk3588::Task>& tasks);

// One channel, [1,H,W,1], in every channel: a direct convolution with weights 1.
Result<CubeAt> repeat_channel(const CubeAt& channel, const ir::Nhwc& map, MemoryPlan& memory,
                              std::vector<rk3588::Task>& tasks);
// Why it cannot, as a sentence; empty when it can.
std::string repeat_channel_refusal(const ir::Nhwc& map);

}  // namespace peraxis::lower
