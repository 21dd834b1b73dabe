// A real multiplier as LiteRT stores it: x ~ mantissa * 2^(exponent - 31), mantissa in [2^30, 2^31).
// The one place where a float scale becomes such a multiplier (docs/arithmetic.md#real-multipliers).
#pragma once

#include <cmath>
#include <cstdint>

#include "num/rounding.hpp"

namespace peraxis::num {

struct Multiplier {
  int32_t mantissa = 0;  // 0, or in [2^30, 2^31) for positive values
  int exponent = 0;      // right shift when negative
  bool operator==(const Multiplier&) const = default;
};

// LiteRT's QuantizeMultiplier. Values below 2^-32 become 0.
inline Multiplier quantize_multiplier(double x) {
  if (x == 0.0 || !std::isfinite(x)) return {0, 0};
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  int64_t mantissa = static_cast<int64_t>(std::round(fraction * 2147483648.0));
  if (mantissa == (int64_t{1} << 31)) {
    mantissa /= 2;
    ++exponent;
  }
  if (exponent < -31) return {0, 0};
  return {static_cast<int32_t>(mantissa), exponent};
}

// LiteRT's MultiplyByQuantizedMultiplier with two roundings; the left shift wraps as LiteRT's does, and
// shifts beyond 31 are those of x86 (docs/arithmetic.md#two-roundings).
constexpr int32_t multiply_two_roundings(int32_t x, Multiplier m) {
  const int left = m.exponent > 0 ? (m.exponent & 31) : 0;
  const int right = m.exponent < 0 ? -m.exponent : 0;
  const int32_t shifted = wrap_int32(static_cast<int64_t>(static_cast<uint64_t>(int64_t{x}) << left));
  return static_cast<int32_t>(
      shift_ties_away_as_x86(doubling_high_mul_saturating(shifted, m.mantissa), right));
}

// LiteRT's product for int16 activations: an int64 accumulator, the mantissa rounded to 15 bits, one rounding
// with ties towards plus infinity (docs/arithmetic.md#fifteen-bit-multipliers). Exponents -31..14; the low 32
// bits of the result count.
constexpr int32_t multiply_15_bits(int64_t x, Multiplier m) {
  const int64_t reduced = m.mantissa < 0x7FFF0000 ? (int64_t{m.mantissa} + (1 << 15)) >> 16 : 0x7FFF;
  const int shift = 15 - m.exponent;
  const uint64_t product = static_cast<uint64_t>(x) * static_cast<uint64_t>(reduced);
  const uint64_t half = uint64_t{1} << (shift - 1);
  return wrap_int32(static_cast<int64_t>(product + half) >> shift);
}

// The product rounded once, ties towards plus infinity: LiteRT built with TFLITE_SINGLE_ROUNDING, and, but
// for very few values, XNNPACK (docs/arithmetic.md#one-rounding).
constexpr int64_t multiply_one_rounding(int64_t x, Multiplier m) {
  const int shift = 31 - m.exponent;
  const int128 product = static_cast<int128>(x) * m.mantissa;
  if (shift <= 0) return static_cast<int64_t>(product << -shift);
  return static_cast<int64_t>((product + (static_cast<int128>(1) << (shift - 1))) >> shift);
}

}  // namespace peraxis::num
