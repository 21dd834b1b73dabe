// Which arithmetic "right" means. Always named, never implied: the two differ by 1 in some tenths of a per
// cent of a convolution's outputs (docs/strategies/README.md).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace peraxis::num {

enum class Reference : uint8_t {
  LitertRef,       // LiteRT's reference kernels: two roundings, FULLY_CONNECTED once from a double product
  SingleRounding,  // one rounding of the product, ties up: XNNPACK, LiteRT's default
};

// In the order of the enum.
inline constexpr std::array<std::string_view, 2> kReferenceNames{"litert-ref", "single-rounding"};
constexpr std::string_view reference_name(Reference reference) {
  return kReferenceNames[static_cast<size_t>(reference)];
}

}  // namespace peraxis::num
