// Multipliers: the decomposition against its definition, and both ways of applying one against models that
// divide in 128 bits or use exact doubles.
#include "num/multiplier.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.hpp"

namespace peraxis::num {
namespace {

TEST(QuantizeMultiplier, KnownValues) {
  EXPECT_EQ(quantize_multiplier(0.0), (Multiplier{0, 0}));
  EXPECT_EQ(quantize_multiplier(1.0), (Multiplier{1 << 30, 1}));
  EXPECT_EQ(quantize_multiplier(0.5), (Multiplier{1 << 30, 0}));
  EXPECT_EQ(quantize_multiplier(0.75), (Multiplier{3 << 29, 0}));
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, -32)), (Multiplier{1 << 30, -31}));
  EXPECT_EQ(quantize_multiplier(std::ldexp(1.0, -33)), (Multiplier{0, 0}));
  // Rounds up to 2^31, which is renormalized: here into the range that survives.
  EXPECT_EQ(quantize_multiplier(std::nextafter(std::ldexp(1.0, -32), 0.0)), (Multiplier{1 << 30, -31}));
  EXPECT_EQ(quantize_multiplier(std::nextafter(1.0, 0.0)), (Multiplier{1 << 30, 1}));
  EXPECT_EQ(quantize_multiplier(std::numeric_limits<double>::infinity()), (Multiplier{0, 0}));
}

TEST(QuantizeMultiplier, MantissaIsNormalizedAndNearest) {
  base::Rng rng(3);
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::ldexp(rng.uniform_real(0.5, 1.0), static_cast<int>(rng.uniform(-30, 20)));
    const Multiplier m = quantize_multiplier(x);
    ASSERT_GE(m.mantissa, 1 << 30);
    const double back = std::ldexp(static_cast<double>(m.mantissa), m.exponent - 31);
    // Half a unit of the mantissa, exact in double.
    ASSERT_LE(std::fabs(back - x), std::ldexp(1.0, m.exponent - 32)) << x;
  }
}

int128 floor_divide(int128 x, int128 divisor) {
  int128 quotient = x / divisor;
  if (x % divisor != 0 && x < 0) --quotient;
  return quotient;
}

TEST(TwoRoundings, TiesOfOneHalf) {
  const Multiplier half = quantize_multiplier(0.5);
  const int32_t expected[] = {-3, -2, -1, 0, 1, 2, 3, 4};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(multiply_two_roundings(-7 + 2 * i, half), expected[i]) << -7 + 2 * i;
}

TEST(TwoRoundings, TheSecondRoundingCanBeWrong) {
  // 5 / 4 = 1.25, but 5 / 2 rounds to 3 and 3 / 2 to 2.
  EXPECT_EQ(multiply_two_roundings(5, quantize_multiplier(0.25)), 2);
  EXPECT_EQ(multiply_one_rounding(5, quantize_multiplier(0.25)), 1);
}

TEST(TwoRoundings, EveryAccumulatorOf15BitsByDefinition) {
  base::Rng rng(4);
  for (int i = 0; i < 40; ++i) {
    const Multiplier m{i % 3 == 0 ? 1 << 30 : static_cast<int32_t>(rng.uniform(1 << 30, 2147483647)),
                       static_cast<int>(rng.uniform(-14, 3))};
    const int left = m.exponent > 0 ? m.exponent : 0;
    const int right = m.exponent < 0 ? -m.exponent : 0;
    for (int32_t x = -16384; x <= 16383; ++x) {
      const int128 product = int128{x} * (1 << left) * m.mantissa;
      const int128 high = floor_divide(product + (int128{1} << 30), int128{1} << 31);  // ties up
      const double exact = std::ldexp(static_cast<double>(high), -right);
      ASSERT_EQ(multiply_two_roundings(x, m), static_cast<int32_t>(std::round(exact)))  // ties away
          << x << " * " << m.mantissa << " * 2^" << m.exponent;
    }
  }
}

TEST(TwoRoundings, TheLeftShiftWraps) {
  EXPECT_EQ(multiply_two_roundings(1 << 20, Multiplier{1 << 30, 12}), 0);
  EXPECT_EQ(multiply_two_roundings(3, Multiplier{1 << 30, 31}), -(1 << 30));
}

TEST(OneRounding, EveryAccumulatorOf15BitsByDefinition) {
  base::Rng rng(5);
  for (int i = 0; i < 40; ++i) {
    const Multiplier m{i % 3 == 0 ? 1 << 30 : static_cast<int32_t>(rng.uniform(1 << 30, 2147483647)),
                       static_cast<int>(rng.uniform(-20, 8))};
    const int128 divisor = int128{1} << (31 - m.exponent);
    for (int32_t x = -16384; x <= 16383; ++x) {
      const int128 expected = floor_divide(int128{x} * m.mantissa * 2 + divisor, 2 * divisor);
      ASSERT_EQ(multiply_one_rounding(x, m), static_cast<int64_t>(expected))
          << x << " * " << m.mantissa << " * 2^" << m.exponent;
    }
  }
}

TEST(OneRounding, WideAccumulators) {
  base::Rng rng(6);
  for (int i = 0; i < 200'000; ++i) {
    const auto x = static_cast<int32_t>(rng.next());
    const Multiplier m{static_cast<int32_t>(rng.uniform(1 << 30, 2147483647)),
                       static_cast<int>(rng.uniform(-31, 30))};
    const int128 divisor = int128{1} << (31 - m.exponent);
    const int128 expected = floor_divide(int128{x} * m.mantissa * 2 + divisor, 2 * divisor);
    ASSERT_EQ(multiply_one_rounding(x, m), static_cast<int64_t>(expected)) << x << " * 2^" << m.exponent;
  }
  EXPECT_EQ(multiply_one_rounding(3, Multiplier{1 << 30, 31}), int64_t{3} << 30);
  EXPECT_EQ(multiply_one_rounding(-3, Multiplier{1 << 30, 32}), -(int64_t{3} << 31));
}

}  // namespace
}  // namespace peraxis::num
