// A convolution as parts, each of them tiles of rows that a task can express. Usually a part is an image.
// Where the chip's fields end (stride 7, 2047 columns, dilated rows beyond CBUF), a part is one row of
// outputs, or some columns of one: its input lines are addressed one by one (GROUP_LINE_OFF,
// docs/hardware/cna.md#feature-addresses), so that strides and dilation between rows are distances in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "lower/tiling.hpp"

namespace peraxis::lower {

struct Part {
  Geometry g;                           // of one image, or of the lines it reads
  int64_t in_first = 0, out_first = 0;  // atoms from the beginning of a surface
  int64_t first_row = 0;                // output row it begins in, of all images
  std::vector<RowTile> rows;            // within the part
};

struct Parts {
  Tiling tiling;                        // of the largest part: banks and channels are the same for all
  int64_t line = 0;                     // atoms from one line to the next; 0: rows of the map
  int64_t in_plane = 0, out_plane = 0;  // atoms from one surface to the next
  std::vector<Part> parts;
};

inline constexpr int64_t kMostParts = 16384;

// Packed pixels are read by whole rows only: the problem must be one that cuts_into_images.
Result<Parts> cut(const TilingProblem& problem, const TileLimits& limits);

// Ordinary windows within the chip's fields. Whether they fit CBUF is not asked.
bool cuts_into_images(const Geometry& geometry);

// Stride beyond the field over an input of 16 channels without padding: the lines of a part are the windows
// of one row of outputs, and every row of the kernel is 16 channels of its own. `problem.in_channels` counts
// those.
bool cuts_into_windows(const Geometry& geometry, int64_t in_slots);
Result<Parts> cut_windows(const TilingProblem& problem, const TileLimits& limits);

// More padding than the field holds: rows and columns of it that are put around a copy of the input.
struct Margin {
  int64_t top = 0, left = 0;  // at most kMaxPad
  bool any() const { return top > 0 || left > 0; }
};
Margin margin_of(const Geometry& geometry);
// The convolution over the copy.
Geometry with_margin(const Geometry& geometry, const Margin& margin);
// The copies as depthwise convolutions with one weight, of columns and of rows.
std::vector<Geometry> margin_copies(const Geometry& geometry, const Margin& margin, int64_t slots);

// True when the parts of the operator fit CBUF.
bool fits_cbuf(const Geometry& geometry);

}  // namespace peraxis::lower
