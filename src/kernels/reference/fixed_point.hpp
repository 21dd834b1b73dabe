// Fixed-point functions of SOFTMAX, DIV and RSQRT (docs/arithmetic.md#fixed-point-functions). Q5.26 means a
// real value times 2^26. All products are doubling high multiplications and all sums wrap.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {

inline int32_t wrapping_add(int32_t a, int32_t b) {
  return num::wrap_int32(int64_t{a} + b);
}
inline int32_t wrapping_subtract(int32_t a, int32_t b) {
  return num::wrap_int32(int64_t{a} - b);
}
inline int32_t high_mul(int32_t a, int32_t b) {
  return num::doubling_high_mul_saturating(a, b);
}

// v * 2^n; saturates to +-2^31 once |v| exceeds 2^(31-n) - 1.
inline int32_t saturating_left_shift(int32_t v, int n) {
  const int64_t limit = (int64_t{1} << (31 - n)) - 1;
  if (v > limit) return std::numeric_limits<int32_t>::max();
  if (v < -limit) return std::numeric_limits<int32_t>::min();
  return v * (1 << n);
}

// exp(a) in Q0.31 for a <= 0 in Q5.26: a polynomial on [-1/4, 0), then one factor for each set bit of the
// multiple of 1/4 that was taken off.
inline int32_t exp_of_negative(int32_t a) {
  constexpr int32_t kQuarter = 1 << 24;
  constexpr int32_t kExpOfMinusEighth = 1895147668;
  constexpr int32_t kOneThird = 715827883;
  // exp(-1/4), exp(-1/2), exp(-1), exp(-2), exp(-4), exp(-8), exp(-16).
  constexpr int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  if (a == 0) return std::numeric_limits<int32_t>::max();
  const int32_t reduced = (a & (kQuarter - 1)) - kQuarter;
  const int32_t x = wrapping_add(saturating_left_shift(reduced, 5), 1 << 28);
  const int32_t x2 = high_mul(x, x);
  const int32_t x3 = high_mul(x2, x);
  const int32_t x4 = high_mul(x2, x2);
  const auto x4_quarter = static_cast<int32_t>(num::shift_ties_away(x4, 2));
  const int32_t cubic = high_mul(wrapping_add(x4_quarter, x3), kOneThird);
  const auto tail = static_cast<int32_t>(num::shift_ties_away(wrapping_add(cubic, x2), 1));
  int32_t result = wrapping_add(kExpOfMinusEighth, high_mul(kExpOfMinusEighth, wrapping_add(x, tail)));
  const int32_t quarters = wrapping_subtract(reduced, a);
  for (int bit = 0; bit < 7; ++bit) {
    if ((quarters & (kQuarter << bit)) != 0) result = high_mul(result, kFactors[bit]);
  }
  return result;
}

// 1 / (1 + x) in Q0.31 for x in [0, 1) in Q0.31: three Newton steps in Q2.29.
inline int32_t reciprocal_of_one_plus(int32_t x) {
  constexpr int32_t kFortyEightSeventeenths = 1515870810;       // 48/17 in Q2.29
  constexpr int32_t kMinusThirtyTwoSeventeenths = -1010580540;  // -32/17 in Q2.29
  constexpr int32_t kOne = 1 << 29;
  const int64_t sum = int64_t{x} + std::numeric_limits<int32_t>::max();
  const auto half_denominator = static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
  int32_t w = wrapping_add(kFortyEightSeventeenths, high_mul(half_denominator, kMinusThirtyTwoSeventeenths));
  for (int step = 0; step < 3; ++step) {
    const int32_t error = wrapping_subtract(kOne, high_mul(half_denominator, w));
    w = wrapping_add(w, saturating_left_shift(high_mul(w, error), 2));
  }
  return saturating_left_shift(w, 1);
}

// 1 / sqrt(v) for v >= 0 as a mantissa and an exponent of 0 or less: five Newton steps in Q3.28.
inline num::Multiplier inverse_square_root(int32_t v) {
  constexpr int32_t kHalfSqrt2 = 1518500250;               // Q0.31
  constexpr int32_t kThreeHalves = (1 << 28) + (1 << 27);  // Q3.28
  if (v <= 1) return {std::numeric_limits<int32_t>::max(), 0};
  int shift = 11;
  while (v >= (1 << 29)) {
    v /= 4;
    ++shift;
  }
  const int pairs = (std::countl_zero(static_cast<uint32_t>(v)) - 1) / 2 - 1;
  shift -= pairs;
  v <<= 2 * pairs;
  const int32_t y = v >> 1;
  const auto half = static_cast<int32_t>(num::shift_ties_away(y, 1));
  int32_t x = 1 << 28;
  for (int step = 0; step < 5; ++step) {
    const int32_t cube = saturating_left_shift(high_mul(high_mul(x, x), x), 6);
    const int32_t sum = wrapping_subtract(high_mul(kThreeHalves, x), high_mul(half, cube));
    x = saturating_left_shift(sum, 3);
  }
  x = high_mul(x, kHalfSqrt2);
  if (shift < 0) {
    x = num::wrap_int32(int64_t{x} * (int64_t{1} << -shift));
    shift = 0;
  }
  return {x, -shift};
}

}  // namespace peraxis::kernels::reference
