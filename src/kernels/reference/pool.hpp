// Walk over the windows of a pooling operator, shared by the average and the maximum.
#pragma once

#include <algorithm>

#include "kernels/elements.hpp"

namespace peraxis::kernels::reference {

struct Pool {
  ir::Nhwc input, output;
  int64_t filter_h = 1, filter_w = 1, stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0;
  bool counts_padding = false;
  int64_t input_zero = 0;  // what counted padding holds; 0 of float32
  ir::Activation activation = ir::Activation::None;
  ir::StoredRange range;  // of quantized types
};

Result<Pool> prepare_pool(const Context& context);

struct OutputElement {
  int64_t n, y, x, c;
};

// Calls take(value) for each real pixel of the element's window; returns how many there are.
template <class T, class Take>
int64_t visit_window(const Pool& pool, const Reader<T>& input, const OutputElement& out, Take take) {
  const int64_t top = out.y * pool.stride_h - pool.pad_top;
  const int64_t left = out.x * pool.stride_w - pool.pad_left;
  int64_t pixels = 0;
  for (int64_t row = std::max<int64_t>(top, 0); row < std::min(top + pool.filter_h, pool.input.h); ++row) {
    for (int64_t col = std::max<int64_t>(left, 0); col < std::min(left + pool.filter_w, pool.input.w);
         ++col) {
      take(input[((out.n * pool.input.h + row) * pool.input.w + col) * pool.input.c + out.c]);
      ++pixels;
    }
  }
  return pixels;
}

// Calls value(element) for every output element and stores what it returns.
template <class T, class Value>
void fill_output(const Pool& pool, const Context& context, Value value) {
  const Writer<T> out(context.outputs[0]);
  int64_t at = 0;
  for (int64_t n = 0; n < pool.output.n; ++n) {
    for (int64_t y = 0; y < pool.output.h; ++y) {
      for (int64_t x = 0; x < pool.output.w; ++x) {
        for (int64_t c = 0; c < pool.output.c; ++c) out.set(at++, value({n, y, x, c}));
      }
    }
  }
}

}  // namespace peraxis::kernels::reference
