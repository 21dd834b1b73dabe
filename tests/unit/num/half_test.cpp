// Every half float against the definition of the format.
#include "num/half.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace peraxis::num {
namespace {

TEST(Half, EveryValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bool negative = (bits & 0x8000) != 0;
    const int exponent = static_cast<int>(bits >> 10 & 0x1F);
    const int fraction = static_cast<int>(bits & 0x3FF);
    const float got = float_from_half(static_cast<uint16_t>(bits));
    EXPECT_EQ(std::signbit(got), negative) << bits;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      EXPECT_EQ(std::bit_cast<uint32_t>(got) & 0x7FFFFF, static_cast<uint32_t>(fraction) << 13) << bits;
      continue;
    }
    const double magnitude = exponent == 31  ? HUGE_VAL
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, exponent - 25);
    EXPECT_EQ(std::fabs(static_cast<double>(got)), magnitude) << bits;
  }
}

}  // namespace
}  // namespace peraxis::num
