// BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND are each other's inverse: batches by place in the block on one
// side, pixels of a padded image on the other.
#pragma once

#include "kernels/elements.hpp"

namespace peraxis::kernels::reference {

// A tensor of rank 3 or 4 as [batch][h][w][bytes of a pixel].
struct Pixels {
  int64_t n = 1, h = 1, w = 1, bytes = 1;
};
inline Pixels pixels_of(const ir::Tensor& tensor) {
  const std::vector<int32_t>& s = tensor.shape;
  const int64_t depth = s.back() * ir::data_type_bytes(tensor.type);
  return {s[0], s[1], s.size() == 4 ? s[2] : 1, depth};
}

// Calls copy(pixel of the blocks' side, pixel of the image's side) for every pair inside the image.
template <class Copy>
void visit_blocks(const Context& context, const Pixels& blocks, const Pixels& image, Copy copy) {
  std::vector<int64_t> block = integers(context, 1);
  std::vector<int64_t> amounts = integers(context, 2);
  if (block.size() == 1) {
    block.push_back(1);
    amounts.insert(amounts.end(), {0, 0});
  }
  for (int64_t b = 0; b < blocks.n; ++b) {
    const int64_t place = b / image.n;
    for (int64_t y = 0; y < blocks.h; ++y) {
      const int64_t row = y * block[0] + place / block[1] - amounts[0];
      if (row < 0 || row >= image.h) continue;
      for (int64_t x = 0; x < blocks.w; ++x) {
        const int64_t col = x * block[1] + place % block[1] - amounts[2];
        if (col < 0 || col >= image.w) continue;
        copy((b * blocks.h + y) * blocks.w + x, ((b % image.n) * image.h + row) * image.w + col);
      }
    }
  }
}

}  // namespace peraxis::kernels::reference
