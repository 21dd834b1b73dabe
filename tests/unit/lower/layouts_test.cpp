#include "lower/layouts.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace peraxis::lower {
namespace {

// Against the order of docs/hardware/weights.md#direct-convolution, written out: block, tap, kernel, channel.
TEST(DirectWeights, FollowTheBlockOrder) {
  const int64_t out = 64, in = 80, kh = 3, kw = 2;
  auto value = [](int64_t o, int64_t ky, int64_t kx, int64_t i) {
    return (o * 7 + ky * 31 + kx * 57 + i * 3) % 251 - 125;
  };
  const std::vector<uint8_t> packed = pack_direct_weights(out, in, kh, kw, value);
  ASSERT_EQ(packed.size(), static_cast<size_t>(out * in * kh * kw));
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < in; ++i)
      for (int64_t ky = 0; ky < kh; ++ky)
        for (int64_t kx = 0; kx < kw; ++kx) {
          const int64_t block = i / 32, width = block == 2 ? 16 : 32;
          const int64_t at = (o / 32) * 32 * in * kh * kw + block * 32 * 32 * kh * kw +
                             ((ky * kw + kx) * 32 + o % 32) * width + i % 32;
          ASSERT_EQ(static_cast<int8_t>(packed[static_cast<size_t>(at)]), value(o, ky, kx, i));
        }
}

TEST(DepthwiseWeights, LastBlockIsAsWideAsTheRest) {
  auto value = [](int64_t c, int64_t ky, int64_t kx) { return (c * 5 + ky * 11 + kx) % 200 - 100; };
  const std::vector<uint8_t> packed = pack_depthwise_weights(80, 3, 3, value);
  ASSERT_EQ(packed.size(), 720U);
  EXPECT_EQ(static_cast<int8_t>(packed[static_cast<size_t>((1 * 3 + 2) * 64 + 63)]), value(63, 1, 2));
  EXPECT_EQ(static_cast<int8_t>(packed[static_cast<size_t>(576 + (2 * 3 + 0) * 16 + 5)]), value(69, 2, 0));
}

TEST(Operands, RecordsOfEightChannels) {
  std::vector<requant::ChannelParams> params(16);
  std::vector<const requant::ChannelParams*> slots;
  for (int i = 0; i < 16; ++i) {
    params[static_cast<size_t>(i)].a = 1000 * i - 5;
    params[static_cast<size_t>(i)].c = static_cast<int16_t>(100 * i + 1);
    slots.push_back(i == 11 ? nullptr : &params[static_cast<size_t>(i)]);
  }
  const std::vector<uint8_t> records = pack_operands(slots, true, 9);
  ASSERT_EQ(records.size(), 128U);
  int32_t a = 0;
  int16_t b = 0, c = 0;
  std::memcpy(&a, records.data() + 64 + 4 * 2, 4);
  std::memcpy(&b, records.data() + 64 + 32 + 2 * 2, 2);
  std::memcpy(&c, records.data() + 64 + 48 + 2 * 2, 2);
  EXPECT_EQ(a, 9995);
  EXPECT_EQ(b, -9);
  EXPECT_EQ(c, 1001);
  std::memcpy(&a, records.data() + 64 + 4 * 3, 4);
  EXPECT_EQ(a, 0);  // the dummy channel
  const std::vector<uint8_t> dense = pack_operands(slots, false, 9);
  ASSERT_EQ(dense.size(), 64U);
  std::memcpy(&a, dense.data() + 4 * 5, 4);
  EXPECT_EQ(a, 4995);
}

}  // namespace
}  // namespace peraxis::lower
