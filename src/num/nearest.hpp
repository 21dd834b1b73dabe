// Which value RESIZE_NEAREST_NEIGHBOR takes, in LiteRT's float32 arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace peraxis::num {

// The index into an axis of `in` values for index `i` of the resized axis of `out`; in, out >= 1.
inline int64_t nearest_index(int64_t i, int64_t in, int64_t out, bool align_corners,
                             bool half_pixel_centers) {
  const bool align = align_corners && out > 1;
  const float step = align ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                           : static_cast<float>(in) / static_cast<float>(out);
  const float position = (static_cast<float>(i) + (half_pixel_centers ? 0.5F : 0.0F)) * step;
  const float index = align_corners ? std::round(position) : std::floor(position);
  return std::clamp<int64_t>(static_cast<int64_t>(index), 0, in - 1);
}

}  // namespace peraxis::num
