// The scalar arithmetic of LiteRT's quantized ADD and SUB (docs/arithmetic.md#add) and the multiplier of MEAN
// (docs/arithmetic.md#mean), shared by the reference kernels and by the proof of how far a task of the NPU is
// from them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "num/multiplier.hpp"

namespace peraxis::num {

inline constexpr int kFractionBits8 = 20, kFractionBits16 = 15;  // of 8-bit and 16-bit values

// MEAN: the multiplier divided by `count`, the mantissa truncated.
inline Multiplier divided(Multiplier multiplier, int64_t count) {
  const int log2_count = 63 - std::countl_zero(static_cast<uint64_t>(count));
  const int shift = std::min({log2_count, 32, 31 + multiplier.exponent});
  const int64_t mantissa = (int64_t{multiplier.mantissa} << shift) / count;
  return {static_cast<int32_t>(mantissa), multiplier.exponent - shift};
}

// Both operands are brought to twice the larger input scale with extra fraction bits, combined, and brought
// to the output scale: three multipliers, each applied with two roundings.
struct AddSub {
  int fraction_bits;
  Multiplier of_a, of_b, of_output;
  bool in_range =
      false;  // the output scale is not more than 2^(fraction bits - 1) times finer than the inputs'

  AddSub(float scale_a, float scale_b, float scale_y, int bits) : fraction_bits(bits) {
    const double twice_larger = 2 * static_cast<double>(std::max(scale_a, scale_b));
    of_a = quantize_multiplier(static_cast<double>(scale_a) / twice_larger);
    of_b = quantize_multiplier(static_cast<double>(scale_b) / twice_larger);
    const double ratio = twice_larger / ((1 << bits) * static_cast<double>(scale_y));
    of_output = quantize_multiplier(ratio);
    in_range = ratio < 1.0 && of_output.exponent <= 0;
  }
  // Operands without their zero points, the result without the output's and before the activation.
  int32_t operator()(int32_t a, int32_t b, int sign) const {
    const int32_t qa = a * (1 << fraction_bits), qb = b * (1 << fraction_bits);
    return multiply_two_roundings(multiply_two_roundings(qa, of_a) + sign * multiply_two_roundings(qb, of_b),
                                  of_output);
  }
};

}  // namespace peraxis::num
