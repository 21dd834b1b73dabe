// The fast loops work on int16: stored values minus their zero point lie in -255..255 for both 8-bit
// types, products of two fit an int32 with room, and padding becomes plain zeros.
#pragma once

#include <algorithm>

#include "base/thread_pool.hpp"
#include "kernels/convolution.hpp"

namespace peraxis::kernels::fast {

// A zero-padded int16 copy of one image; row and column 0 are the first padding row and column.
struct Padded {
  int64_t rows = 0, cols = 0, channels = 0;
  std::vector<int16_t> values;
};

// `count` stored values minus their zero point.
inline void widen_run(const uint8_t* from, int64_t count, ir::DataType type, int32_t zero_point,
                      int16_t* to) {
  const auto zero = static_cast<int16_t>(zero_point);
  if (type == ir::DataType::Int8) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(static_cast<int8_t>(from[i]) - zero);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] - zero);
  }
}

// Rows and columns that taps of `out` positions touch.
inline int64_t touched(int64_t out, int64_t stride, int64_t kernel, int64_t dilation) {
  return (out - 1) * stride + (kernel - 1) * dilation + 1;
}

// False when the padded copy would be out of proportion to the input (a huge dilation).
inline bool worth_padding(const Convolution& conv, int64_t rows, int64_t cols) {
  const int64_t room = 16 * (conv.input.h * conv.input.w + conv.output.h * conv.output.w) + 65536;
  return rows <= room && cols <= room && rows * cols <= room;
}

// Runs fn(first, last) over the pieces of 0..count; without a pool on the thread that calls.
class Rows {
 public:
  Rows(base::ThreadPool* pool, int64_t count) : count_(count), pool_(pool) {}
  void run(const base::ThreadPool::Range& fn) const {
    if (pool_ == nullptr) return fn(0, count_);
    pool_->parallel_ranges(0, count_, fn);
  }

 private:
  int64_t count_;
  base::ThreadPool* pool_;
};

// Whether the 256-bit integer paths can run here.
inline bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace peraxis::kernels::fast
