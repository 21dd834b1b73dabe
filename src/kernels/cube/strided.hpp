// Bytes of pixels, pieces or runs that lie `step` bytes apart.
#pragma once

#include <cstdint>

namespace peraxis::kernels::cube {

template <class T>
struct Strided {
  T* data;
  int64_t step;

  T* at(int64_t i) const { return data + i * step; }
};

}  // namespace peraxis::kernels::cube
