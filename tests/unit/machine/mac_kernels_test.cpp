// Every instruction set's inner loops against a plain sum, with the extreme values of both operands.
#include "machine/mac_kernels.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace peraxis::machine {
namespace {

std::vector<const MacKernels*> all() {
  std::vector<const MacKernels*> out{&portable_mac()};
  if (avx2_mac() != nullptr) out.push_back(avx2_mac());
  if (avx512_mac() != nullptr) out.push_back(avx512_mac());
  return out;
}

TEST(MacKernels, DirectRow) {
  std::mt19937 rng(5);
  const int64_t blocks = 7, step = 64;
  for (const int64_t pixels : {1, 2, 7, 8, 9, 23}) {
    std::vector<uint8_t> tile(static_cast<size_t>(pixels * step + blocks * 96 + 32));
    for (uint8_t& v : tile) v = static_cast<uint8_t>(rng() % 3 == 0 ? 255 : rng());
    std::vector<int8_t> weights(static_cast<size_t>(blocks * 1024));
    for (int8_t& v : weights)
      v = static_cast<int8_t>(rng() % 3 == 0 ? -128 : static_cast<int>(rng() % 256) - 128);
    std::vector<int64_t> offsets;
    for (int64_t b = 0; b < blocks; ++b) offsets.push_back((b * 5 % 7) * 96);
    std::vector<int32_t> start(32);
    for (int32_t& v : start) v = static_cast<int32_t>(rng() % 10000) - 5000;
    for (const MacKernels* k : all()) {
      std::vector<uint8_t> packed(static_cast<size_t>(k->block_bytes * blocks));
      for (int64_t b = 0; b < blocks; ++b)
        k->pack(&weights[static_cast<size_t>(b * 1024)], &packed[static_cast<size_t>(b * k->block_bytes)]);
      std::vector<int32_t> acc(static_cast<size_t>(pixels * 32));
      k->row({tile.data(), step, pixels, offsets.data(), blocks}, packed.data(), start.data(), acc.data());
      for (int64_t p = 0; p < pixels; ++p)
        for (int64_t oc = 0; oc < 32; ++oc) {
          int64_t want = start[static_cast<size_t>(oc)];
          for (int64_t b = 0; b < blocks; ++b)
            for (int64_t ic = 0; ic < 32; ++ic)
              want += tile[static_cast<size_t>(p * step + offsets[static_cast<size_t>(b)] + ic)] *
                      weights[static_cast<size_t>(b * 1024 + oc * 32 + ic)];
          ASSERT_EQ(acc[static_cast<size_t>(p * 32 + oc)], want)
              << k->name << " pixel " << p << " kernel " << oc;
        }
    }
  }
}

TEST(MacKernels, DotRow) {
  std::mt19937 rng(7);
  const int64_t step = 64;
  for (const int64_t blocks : {0, 1, 6, 2048})
    for (const int64_t pixels : {1, 2, 7, 8, 9, 23}) {
      std::vector<uint8_t> tile(static_cast<size_t>(pixels * step + blocks * 32 + 32));
      for (uint8_t& v : tile) v = static_cast<uint8_t>(rng() % 3 != 0 ? 255 : rng());
      std::vector<int16_t> weights(static_cast<size_t>(blocks * 32));
      for (int16_t& v : weights)
        v = static_cast<int16_t>(rng() % 3 != 0 ? -128 : static_cast<int>(rng() % 256) - 128);
      std::vector<int64_t> offsets;
      for (int64_t b = 0; b < blocks; ++b) offsets.push_back((blocks - 1 - b) * 32);
      for (const MacKernels* k : all()) {
        std::vector<int32_t> acc(static_cast<size_t>(pixels + 1), 77);
        k->dot_row({tile.data(), step, pixels, offsets.data(), blocks}, weights.data(), -12345, acc.data());
        for (int64_t p = 0; p < pixels; ++p) {
          int64_t want = -12345;
          for (int64_t b = 0; b < blocks; ++b)
            for (int64_t i = 0; i < 32; ++i)
              want += tile[static_cast<size_t>(p * step + offsets[static_cast<size_t>(b)] + i)] *
                      weights[static_cast<size_t>(b * 32 + i)];
          ASSERT_EQ(acc[static_cast<size_t>(p)], want) << k->name << " pixel " << p << " of " << pixels;
        }
        EXPECT_EQ(acc[static_cast<size_t>(pixels)], 77) << k->name << " writes beyond the row";
      }
    }
}

TEST(MacKernels, DepthwiseRow) {
  std::mt19937 rng(6);
  const int64_t taps = 9, pixels = 5, step = 128;
  std::vector<int8_t> tile(static_cast<size_t>(pixels * step + taps * 64 + 64));
  for (int8_t& v : tile) v = static_cast<int8_t>(rng() % 4 == 0 ? -128 : static_cast<int>(rng() % 256) - 128);
  std::vector<int16_t> weights(static_cast<size_t>(taps * 64));
  for (int16_t& v : weights)
    v = static_cast<int16_t>(rng() % 4 == 0 ? -128 : static_cast<int>(rng() % 256) - 128);
  std::vector<int64_t> offsets;
  for (int64_t t = 0; t < taps; ++t) offsets.push_back(t * 64);
  for (const MacKernels* k : all()) {
    std::vector<int32_t> acc(static_cast<size_t>(pixels * 64));
    k->depthwise_row({tile.data(), step, pixels, offsets.data(), taps}, weights.data(), acc.data());
    for (int64_t p = 0; p < pixels; ++p)
      for (int64_t c = 0; c < 64; ++c) {
        int64_t want = 0;
        for (int64_t t = 0; t < taps; ++t)
          want += tile[static_cast<size_t>(p * step + t * 64 + c)] * weights[static_cast<size_t>(t * 64 + c)];
        ASSERT_EQ(acc[static_cast<size_t>(p * 64 + c)], want) << k->name;
      }
  }
}

}  // namespace
}  // namespace peraxis::machine
