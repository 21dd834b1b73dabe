// The rounding rules of the project, named after what they do. A fixed-point formula that belongs to one
// operator, such as LiteRT's int16 tables, stands in that operator's kernel. "Ties" are values exactly half
// way between two integers. LiteRT's names for these rules: docs/arithmetic.md#rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace peraxis::num {

using int128 = __int128;

// x / 2^n to the nearest integer, ties to the even one. n in 0..62.
constexpr int64_t shift_ties_even(int64_t x, int n) {
  if (n == 0) return x;
  const int64_t q = x >> n;
  const int64_t r = x & ((int64_t{1} << n) - 1);
  const int64_t half = int64_t{1} << (n - 1);
  return q + ((r > half || (r == half && (q & 1) != 0)) ? 1 : 0);
}

// x / 2^n to the nearest integer, ties away from zero. n in 0..62.
constexpr int64_t shift_ties_away(int64_t x, int n) {
  if (n == 0) return x;
  const int64_t q = x >> n;
  const int64_t r = x & ((int64_t{1} << n) - 1);
  const int64_t half = int64_t{1} << (n - 1);
  return q + ((r > half || (r == half && x >= 0)) ? 1 : 0);
}

// The same for any n, also below 0 and beyond 31, where LiteRT's C++ has no defined result: what its code
// gives on x86, which shifts an int32 by n modulo 32 and makes the mask of the rest from n modulo 64.
constexpr int64_t shift_ties_away_as_x86(int32_t x, int n) {
  const auto mask = static_cast<int32_t>(static_cast<uint32_t>((uint64_t{1} << (n & 63)) - 1));
  const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return int64_t{x >> (n & 31)} + ((x & mask) > threshold ? 1 : 0);
}

// x / 2^n to the nearest integer, ties towards plus infinity. n in 0..62.
constexpr int64_t shift_ties_up(int64_t x, int n) {
  if (n == 0) return x;
  const int64_t q = x >> n;
  const int64_t r = x & ((int64_t{1} << n) - 1);
  return q + (r >= (int64_t{1} << (n - 1)) ? 1 : 0);
}

// (x + offset * 2^n) / 2^n to the nearest integer: the offset takes part in the decision of ties, away from
// zero or to the even integer. n in 0..62; the sum in front of the shift may have more than 64 bits.
constexpr int64_t shift_with_offset(int64_t x, int n, int64_t offset, bool ties_away) {
  if (n == 0) return x + offset;
  const int64_t q = (x >> n) + offset;
  const int64_t r = x & ((int64_t{1} << n) - 1);
  const int64_t half = int64_t{1} << (n - 1);
  const bool tie_up = ties_away ? q >= 0 : (q & 1) != 0;
  return q + ((r > half || (r == half && tie_up)) ? 1 : 0);
}

constexpr int64_t saturate(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : (x > high ? high : x);
}
constexpr int32_t saturate_int32(int64_t x) {
  return static_cast<int32_t>(
      saturate(x, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}
constexpr int8_t saturate_int8(int64_t x) {
  return static_cast<int8_t>(saturate(x, -128, 127));
}

// Reduction modulo 2^32 to two's complement.
constexpr int32_t wrap_int32(int64_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(x)));
}

// round(a*b / 2^31), ties towards plus infinity; -2^31 * -2^31 saturates.
constexpr int32_t doubling_high_mul_saturating(int32_t a, int32_t b) {
  if (a == std::numeric_limits<int32_t>::min() && b == a) return std::numeric_limits<int32_t>::max();
  const int64_t p = int64_t{a} * int64_t{b};
  return static_cast<int32_t>((p + (p >= 0 ? (int64_t{1} << 30) : 1 - (int64_t{1} << 30))) /
                              (int64_t{1} << 31));
}

// An int8 value written with one scale, brought to another: `ratio` = wanted scale over the written one.
// Rounded half away, clamped to [low, high].
inline int32_t rescaled(int32_t q, int32_t zero_point, double ratio, int32_t low, int32_t high) {
  const double scaled = std::round((q - zero_point) * ratio) + zero_point;
  return static_cast<int32_t>(std::clamp(scaled, static_cast<double>(low), static_cast<double>(high)));
}

}  // namespace peraxis::num
