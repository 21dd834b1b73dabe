// Half floats (IEEE 754 binary16): every one of them is a float32 exactly.
#pragma once

#include <bit>
#include <cstdint>

namespace peraxis::num {

// NaNs keep their bits.
constexpr float float_from_half(uint16_t half) {
  const uint32_t sign = uint32_t{half} >> 15 << 31;
  const uint32_t exponent = (half >> 10) & 0x1F;
  const uint32_t fraction = half & 0x3FF;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
  // Below the smallest normal number: a multiple of 2^-24.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
  return sign == 0 ? magnitude : -magnitude;
}

}  // namespace peraxis::num
