// Which arithmetic "right" means. Always named, never implied: the two differ by 1 in some tenths of a per
// cent of a convolution's outputs (docs/strategies/README.md).
#pragma once

#include <cstdint>

namespace peraxis::num {

enum class Reference : uint8_t {
  LitertRef,       // LiteRT's reference kernels: two roundings, FULLY_CONNECTED once from a double product
  SingleRounding,  // one rounding of the product, ties up: XNNPACK, LiteRT's default
};

}  // namespace peraxis::num
