// Row-major walks over tensors of any rank: broadcasting and all data movement are one loop over an index
// space with two linear offset rules.
#pragma once

#include <cstdint>
#include <vector>

namespace peraxis::kernels {

// Elements from one index to the next, dimension by dimension, of a dense tensor.
inline std::vector<int64_t> dense_strides(const std::vector<int32_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// offset = base + sum(index[d] * stride[d]).
struct Offsets {
  int64_t base = 0;
  std::vector<int64_t> strides;
};

// Calls visit(offset in a, offset in b) for every index of `shape`, last dimension fastest.
template <class Visit>
void walk(const std::vector<int64_t>& shape, const Offsets& a, const Offsets& b, Visit visit) {
  for (const int64_t size : shape) {
    if (size <= 0) return;
  }
  const size_t rank = shape.size();
  if (rank == 0) return visit(a.base, b.base);
  std::vector<int64_t> index(rank, 0);
  int64_t at_a = a.base;
  int64_t at_b = b.base;
  const size_t last = rank - 1;
  for (;;) {
    for (int64_t i = 0; i < shape[last]; ++i) visit(at_a + i * a.strides[last], at_b + i * b.strides[last]);
    size_t d = last;
    for (;;) {
      if (d == 0) return;
      --d;
      at_a += a.strides[d];
      at_b += b.strides[d];
      if (++index[d] < shape[d]) break;
      at_a -= a.strides[d] * shape[d];
      at_b -= b.strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace peraxis::kernels
