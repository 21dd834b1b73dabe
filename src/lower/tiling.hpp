// How a convolution is cut to fit CBUF: the twelve banks are shared between features and weights, rows are
// tiled with the halo the kernel needs, weights stay resident or are streamed by kernel groups.
//
// The rules (docs/hardware/cbuf.md#what-must-fit): feature banks = ceil(rows * row bytes / 32 KiB), plus one
// spare bank where the map is one pixel wide; weights either whole, or at least two groups of 32 kernels.
// Packed pixels take an atom each in CBUF.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "lower/geometry.hpp"

namespace peraxis::lower {

constexpr int64_t round_up(int64_t x, int64_t unit) {
  return (x + unit - 1) / unit * unit;
}
constexpr int64_t ceil_div(int64_t x, int64_t unit) {
  return (x + unit - 1) / unit;
}

struct TileLimits {
  int64_t max_rows = 0;      // output rows a tile; 0: what CBUF holds
  int64_t max_channels = 0;  // output channels a task (whole groups); 0: no limit
};

// Output rows [first, first + rows) from input rows [in_first, in_first + in_rows), of one image.
struct RowTile {
  int64_t first = 0, rows = 0;
  int64_t in_first = 0, in_rows = 0;
  int64_t pad_top = 0;
};

struct Tiling {
  int64_t data_banks = 0, weight_banks = 0;
  bool weights_resident = true;   // every kernel stays in CBUF from tile to tile
  int64_t channels_per_task = 0;  // output channels (whole groups) a task computes
  std::vector<RowTile> rows;
};

// What the tasks read and compute: may be a part of the operator (a block of a depthwise layer).
struct TilingProblem {
  Geometry g;                // spatial facts
  int64_t in_channels = 0;   // programmed, multiple of 16
  int64_t out_channels = 0;  // programmed, whole groups
  bool depthwise = false;    // the hardware's depthwise mode
  bool narrow = false;       // some tiles are one pixel wide, though the map is not
  int64_t packed = 0;        // bytes of a packed pixel in memory; 0: a cube
};

Result<Tiling> tile(const TilingProblem& problem, const TileLimits& limits);

// Grouped convolutions: the most input channels (whole atoms) that `channels` kernels of neighbouring groups
// see.
int64_t block_input_channels(const Geometry& geometry, int64_t channels);

}  // namespace peraxis::lower
