// Some channels of an operand as a dense array [pixels][width], and back.
#pragma once

#include "kernels/cube/call.hpp"

namespace peraxis::kernels::cube {

// Channels [first, first + real), the rest up to `width` are zeros; `channels`: of the tensor. A plain
// surface is returned where it is; else `scratch` is filled. `first` is a multiple of 16, `width` at most 16.
struct Lanes {
  int64_t pixels = 0, channels = 0;  // of the tensor
  int64_t first = 0, real = 0, width = 0;
};
Values read_lanes(const InputView& view, const Lanes& lanes, std::vector<uint8_t>& scratch);

// The same to `to`, of pixels * width bytes, wherever they are.
void copy_lanes(const InputView& view, const Lanes& lanes, uint8_t* to);

// Where a kernel may write the lanes: the surface itself or `scratch`, which store_lanes() then spreads.
std::span<uint8_t> lanes_to_write(const OutputView& view, const Lanes& lanes, std::vector<uint8_t>& scratch);
void store_lanes(const OutputView& view, const Lanes& lanes, const std::vector<uint8_t>& scratch);

// Pixels [first, first + count) with all channels, from a cube to [count][channels] and back.
void read_pixels(const InputView& view, int64_t first, int64_t count, uint8_t* to);
void write_pixels(const OutputView& view, int64_t first, int64_t count, const uint8_t* from);

}  // namespace peraxis::kernels::cube
