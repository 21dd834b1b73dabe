// Every rounding rule against a model that divides instead of shifting: all values at small widths, the
// edges at full width.
#include "num/rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.hpp"

namespace peraxis::num {
namespace {

enum class Ties { Even, Away, Up };

// x / 2^n by floor division and a comparison of the remainder with one half, in 128 bits.
int64_t model(int64_t x, int n, Ties ties) {
  const int128 divisor = int128{1} << n;
  int128 floor = x / divisor;
  if (x % divisor != 0 && x < 0) --floor;
  const int128 twice_rest = 2 * (x - floor * divisor);
  if (twice_rest < divisor) return static_cast<int64_t>(floor);
  if (twice_rest > divisor) return static_cast<int64_t>(floor + 1);
  switch (ties) {
    case Ties::Even:
      return static_cast<int64_t>(floor % 2 == 0 ? floor : floor + 1);
    case Ties::Away:
      return static_cast<int64_t>(x < 0 ? floor : floor + 1);
    case Ties::Up:
      return static_cast<int64_t>(floor + 1);
  }
  return 0;
}

void expect_all_rules(int64_t x, int n) {
  ASSERT_EQ(shift_ties_even(x, n), model(x, n, Ties::Even)) << x << " >> " << n;
  ASSERT_EQ(shift_ties_away(x, n), model(x, n, Ties::Away)) << x << " >> " << n;
  ASSERT_EQ(shift_ties_up(x, n), model(x, n, Ties::Up)) << x << " >> " << n;
}

TEST(Shifts, EveryValueOf16Bits) {
  for (int64_t x = -32768; x <= 32767; ++x) {
    for (int n = 1; n <= 17; ++n) expect_all_rules(x, n);
    ASSERT_EQ(shift_ties_even(x, 0), x);
    ASSERT_EQ(shift_ties_away(x, 0), x);
    ASSERT_EQ(shift_ties_up(x, 0), x);
  }
}

TEST(Shifts, TiesOfEveryPower) {
  for (int n = 1; n <= 62; ++n) {
    const int64_t half = int64_t{1} << (n - 1);
    for (const int64_t x : {half, half - 1, half + 1, -half, -half - 1, -half + 1}) expect_all_rules(x, n);
    expect_all_rules(std::numeric_limits<int64_t>::max(), n);
    expect_all_rules(std::numeric_limits<int64_t>::min(), n);
  }
}

TEST(Shifts, RandomWideValues) {
  base::Rng rng(1);
  for (int i = 0; i < 200'000; ++i) {
    const auto x = static_cast<int64_t>(rng.next()) >> rng.uniform(0, 40);
    expect_all_rules(x, static_cast<int>(rng.uniform(1, 62)));
  }
}

TEST(Shifts, KnownTies) {
  EXPECT_EQ(shift_ties_even(5, 1), 2);
  EXPECT_EQ(shift_ties_even(-5, 1), -2);
  EXPECT_EQ(shift_ties_away(5, 1), 3);
  EXPECT_EQ(shift_ties_away(-5, 1), -3);
  EXPECT_EQ(shift_ties_up(5, 1), 3);
  EXPECT_EQ(shift_ties_up(-5, 1), -2);
}

// round(a * b / 2^31), ties towards plus infinity.
int32_t high_mul_model(int32_t a, int32_t b) {
  const int64_t rounded = model(int64_t{a} * b, 31, Ties::Up);
  return static_cast<int32_t>(rounded > 2147483647 ? 2147483647 : rounded);
}

TEST(HighMul, EdgesAgainstAllOthers) {
  const int32_t low = std::numeric_limits<int32_t>::min();
  const int32_t high = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(doubling_high_mul_saturating(low, low), high);
  EXPECT_EQ(doubling_high_mul_saturating(1, 1 << 30), 1);
  EXPECT_EQ(doubling_high_mul_saturating(-1, 1 << 30), 0);
  EXPECT_EQ(doubling_high_mul_saturating(-3, 1 << 30), -1);
  for (const int32_t a : {low, low + 1, -3, -2, -1, 0, 1, 2, 3, 1 << 30, high - 1, high}) {
    for (const int32_t b : {low, low + 1, -(1 << 30), -1, 0, 1, 1 << 30, (1 << 30) + 1, high - 1, high}) {
      EXPECT_EQ(doubling_high_mul_saturating(a, b), high_mul_model(a, b)) << a << " * " << b;
    }
  }
}

TEST(HighMul, SmallValuesTimesPowersHitEveryTie) {
  for (int32_t a = -2000; a <= 2000; ++a) {
    for (int bit = 20; bit <= 30; ++bit) {
      ASSERT_EQ(doubling_high_mul_saturating(a, 1 << bit), high_mul_model(a, 1 << bit))
          << a << " * 2^" << bit;
    }
  }
}

TEST(HighMul, RandomValues) {
  base::Rng rng(2);
  for (int i = 0; i < 300'000; ++i) {
    const auto a = static_cast<int32_t>(rng.next());
    const auto b = static_cast<int32_t>(rng.next());
    ASSERT_EQ(doubling_high_mul_saturating(a, b), high_mul_model(a, b)) << a << " * " << b;
  }
}

TEST(Saturation, Edges) {
  EXPECT_EQ(saturate_int8(128), 127);
  EXPECT_EQ(saturate_int8(127), 127);
  EXPECT_EQ(saturate_int8(-129), -128);
  EXPECT_EQ(saturate_int32(int64_t{1} << 31), 2147483647);
  EXPECT_EQ(saturate_int32(-(int64_t{1} << 31) - 1), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(saturate_int32(-5), -5);
  EXPECT_EQ(wrap_int32(int64_t{1} << 31), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(wrap_int32((int64_t{1} << 32) + 7), 7);
  EXPECT_EQ(wrap_int32(-(int64_t{1} << 31) - 1), 2147483647);
}

static_assert(shift_ties_away(-6, 2) == -2 && shift_ties_up(-6, 2) == -1 && shift_ties_even(-6, 2) == -2);

}  // namespace
}  // namespace peraxis::num
