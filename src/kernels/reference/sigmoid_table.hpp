// LOGISTIC and TANH of int16 interpolate one table of 256 values of the sigmoid in steps of 1/24, in units of
// 2^-16 (docs/arithmetic.md#the-sigmoid-table-of-int16).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "num/rounding.hpp"

namespace peraxis::kernels::reference {

// Entries that LiteRT has one above the rounded sigmoid.
inline constexpr int kSigmoidRaised[] = {4,  8,  12, 14, 15, 16, 17, 19, 20,  21,  22,  25,  27, 28, 29,
                                         30, 31, 33, 34, 35, 37, 39, 40, 41,  43,  44,  45,  46, 49, 50,
                                         54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135};

inline std::array<int32_t, 256> sigmoid_table() {
  std::array<int32_t, 256> table{};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<int32_t>(std::round(65536.0 / (1.0 + std::exp(-static_cast<double>(i) / 24.0))));
  }
  for (const int i : kSigmoidRaised) ++table[static_cast<size_t>(i)];
  table[255] = 65535;
  return table;
}

// The sigmoid of a magnitude in steps of 2^-`bits` of an entry, in units of 2^-(16 + bits); `beyond` where
// the table ends.
inline int32_t interpolated_sigmoid(const std::array<int32_t, 256>& table, uint32_t magnitude, int bits,
                                    int32_t beyond) {
  const uint32_t index = magnitude >> bits;
  if (index >= 255) return beyond;
  const int32_t left = table[index];
  const int32_t right = table[index + 1];
  const uint32_t between = magnitude & ((1U << bits) - 1);
  return left * (1 << bits) + static_cast<int32_t>(between) * (right - left);
}

// The factor that brings a stored value to steps of 2^-12 / 3 (a scale of 2^-12 needs 3), as a multiplier and
// a right shift.
struct SigmoidScale {
  int32_t multiplier = 3;
  int shift = 0;

  int32_t operator()(int32_t q) const {
    const int32_t rounding = shift > 0 ? 1 << (shift - 1) : 0;
    return num::wrap_int32(int64_t{q} * multiplier + rounding) >> shift;
  }
};

inline SigmoidScale sigmoid_scale(float scale, bool tanh) {
  if (scale == 1.0F / 4096.0F) return {3, 0};
  if (tanh && scale == 1.0F / 2048.0F) return {6, 0};
  double factor = static_cast<double>(scale) * 4096.0 * 3.0;
  int shift = 0;
  while (factor <= 32767.0 / 2.0 && shift <= 30) {
    factor *= 2.0;
    ++shift;
  }
  return {static_cast<int32_t>(std::fmin(factor, 2147483647.0)), shift};
}

}  // namespace peraxis::kernels::reference
