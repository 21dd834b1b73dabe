// The fast loops work on int16: stored values minus their zero point lie in -255..255 for both 8-bit
// types, products of two fit an int32 with room, and padding becomes plain zeros.
#pragma once

#include <algorithm>
#include <functional>

#include "base/thread_pool.hpp"
#include "kernels/convolution.hpp"

namespace peraxis::kernels::fast {

// A zero-padded int16 copy of one image; row and column 0 are the first padding row and column.
struct Padded {
  int64_t rows = 0, cols = 0, channels = 0;
  std::vector<int16_t> values;
};

// Rows and columns that taps of `out` positions touch.
inline int64_t touched(int64_t out, int64_t stride, int64_t kernel, int64_t dilation) {
  return (out - 1) * stride + (kernel - 1) * dilation + 1;
}

// False when the padded copy would be out of proportion to the input (a huge dilation).
inline bool worth_padding(const Convolution& conv, int64_t rows, int64_t cols) {
  const int64_t room = 16 * (conv.input.h * conv.input.w + conv.output.h * conv.output.w) + 65536;
  return rows <= room && cols <= room && rows * cols <= room;
}

// fn(first row, last row) over the output's rows.
inline void over_rows(int threads, int64_t rows, const std::function<void(int64_t, int64_t)>& fn) {
  if (threads <= 1 || rows <= 1) return fn(0, rows);
  base::ThreadPool pool(static_cast<int>(std::min<int64_t>({threads, rows, 64})));
  pool.parallel_ranges(0, rows, fn);
}

// Whether the 256-bit integer paths can run here.
inline bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace peraxis::kernels::fast
