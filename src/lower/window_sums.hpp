// Sums of windows as depthwise tasks with equal weights, for averages. A surface's pixels lie one behind the
// other, so that a plane may be read as rows of any width.
#pragma once

#include <optional>
#include <vector>

#include "lower/device_op.hpp"
#include "requant/average.hpp"

namespace peraxis::lower {

// Windows over a plane seen as `view_h` rows of `view_w` pixels. Those that reach beyond the last row or
// column take the padding value there.
struct Windows {
  int64_t view_h = 1, view_w = 1;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  int64_t out_h = 1, out_w = 1;
  int64_t pad_top = 0, pad_left = 0;

  int64_t taps() const { return kernel_h * kernel_w; }
};

// Whether one row of windows fits the chip; why not, as a sentence.
std::string windows_refusal(const Windows& windows, int64_t channels);

// A plane of `pixels` as one window within a kernel's size: any factors will do. None when there are none.
std::optional<Windows> one_window(int64_t h, int64_t w);

// A plane of `pixels` in two stages: the first makes `first.out_h * first.out_w` partial means, bands of rows
// that are tasks of their own where they are higher than a stride can be; the second is one window over them.
struct TwoStages {
  Windows first, second;
  bool bands = false;
  // Rounding the partial means moves the mean by at most half a unit times this: the pixels of all windows,
  // padding included, over those of the plane.
  double spread = 1;
};
// The fewest tasks with a spread of at most `most`.
std::optional<TwoStages> two_stages(int64_t h, int64_t w, int64_t channels, double most);

struct WindowSums {
  const Windows& windows;
  bool bands = false;  // as in TwoStages
  int64_t channels = 0;
  int32_t pad = 0;  // the padding value
  const requant::AverageParams& params;
};
// Tasks for the windows; planes of `in` and `out` must be those of the views.
Status add_window_sums(const WindowSums& sums, const CubeAt& in, const CubeAt& out, const TaskList& list);

}  // namespace peraxis::lower
