// The layout code against the index formula written out once more, element by element, and the host's
// arithmetic against values worked out by hand from the definition of LiteRT's rounding.
#include "runtime/layout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace peraxis::runtime {
namespace {

struct Shape {
  int64_t h, w, c;
};

// Byte of channel c at (y, x): block of 16 channels, then row, then column, then channel in the block.
size_t int8_index(const exe::Cube& cube, int64_t y, int64_t x, int64_t c) {
  return static_cast<size_t>((((c / 16) * cube.h + y) * cube.w + x) * 16 + c % 16);
}
size_t int32_index(const exe::Cube& cube, int64_t y, int64_t x, int64_t c) {
  return static_cast<size_t>(((((c / 4) * cube.h + y) * cube.w + x) * 4 + c % 4) * 4);
}

exe::Placement placement_of(Shape shape, bool is_uint8, int64_t extra_slots = 0) {
  exe::Placement placement;
  placement.cube = {0, 0, shape.h, shape.w, (shape.c + 15) / 16 * 16 + extra_slots, 1};
  placement.c = shape.c;
  placement.is_uint8 = is_uint8;
  placement.zero_point = -37;
  return placement;
}

std::vector<uint8_t> random_bytes(size_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<uint8_t> out(count);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(rng());
  return out;
}

const Shape kShapes[] = {{1, 1, 1},  {3, 5, 3},  {2, 7, 15}, {5, 2, 16}, {4, 3, 17},
                         {1, 9, 31}, {7, 1, 32}, {2, 3, 33}, {3, 2, 255}};

TEST(Layout, UploadPutsEveryElementWhereTheFormulaSays) {
  for (const Shape shape : kShapes)
    for (const bool is_uint8 : {false, true})
      for (const int64_t extra : {0, 16}) {
        const exe::Placement placement = placement_of(shape, is_uint8, extra);
        const std::vector<uint8_t> host = random_bytes(static_cast<size_t>(shape.h * shape.w * shape.c), 1);
        std::vector<uint8_t> cube(static_cast<size_t>(cube_bytes(placement.cube)), 0x55);
        upload(host, placement, cube);
        for (int64_t y = 0; y < shape.h; ++y)
          for (int64_t x = 0; x < shape.w; ++x)
            for (int64_t c = 0; c < placement.cube.channels; ++c) {
              const int got = static_cast<int8_t>(cube[int8_index(placement.cube, y, x, c)]);
              int want = placement.zero_point;
              if (c < shape.c) {
                const uint8_t stored = host[static_cast<size_t>((y * shape.w + x) * shape.c + c)];
                want = is_uint8 ? int{stored} - 128 : int{static_cast<int8_t>(stored)};
              }
              ASSERT_EQ(got, want) << shape.h << "x" << shape.w << "x" << shape.c << " at " << y << "," << x
                                   << "," << c << (is_uint8 ? " uint8" : " int8");
            }
      }
}

TEST(Layout, DownloadIsTheInverse) {
  for (const Shape shape : kShapes)
    for (const bool is_uint8 : {false, true})
      for (const bool own_slots : {false, true}) {
        exe::Placement placement = placement_of(shape, is_uint8, own_slots ? 16 : 0);
        if (own_slots)  // from the last slot downwards
          for (int64_t c = 0; c < shape.c; ++c)
            placement.slot_of.push_back(static_cast<int32_t>(placement.cube.channels - 1 - c));
        const std::vector<uint8_t> cube = random_bytes(static_cast<size_t>(cube_bytes(placement.cube)), 2);
        std::vector<uint8_t> host(static_cast<size_t>(shape.h * shape.w * shape.c), 0x55);
        download(cube, placement, host);
        for (int64_t y = 0; y < shape.h; ++y)
          for (int64_t x = 0; x < shape.w; ++x)
            for (int64_t c = 0; c < shape.c; ++c) {
              const int stored = static_cast<int8_t>(
                  cube[int8_index(placement.cube, y, x, own_slots ? placement.cube.channels - 1 - c : c)]);
              const uint8_t got = host[static_cast<size_t>((y * shape.w + x) * shape.c + c)];
              ASSERT_EQ(is_uint8 ? int{got} - 128 : int{static_cast<int8_t>(got)}, stored);
            }
      }
}

// Rows of pixels as they are on the host, a pitch apart.
TEST(Layout, PackedRowsAreCopied) {
  for (const Shape shape : {Shape{1, 1, 1}, {3, 5, 3}, {4, 16, 2}, {7, 31, 4}, {2, 33, 1}})
    for (const bool is_uint8 : {false, true})
      for (const int64_t gap : {0, 1, 11}) {
        exe::Placement placement = placement_of(shape, is_uint8);
        placement.cube.channels = shape.c;
        placement.pitch = shape.w + gap;
        ASSERT_EQ(placement_bytes(placement), shape.h * (shape.w + gap) * shape.c);
        const std::vector<uint8_t> host = random_bytes(static_cast<size_t>(shape.h * shape.w * shape.c), 7);
        std::vector<uint8_t> rows(static_cast<size_t>(placement_bytes(placement)), 0x55);
        upload(host, placement, rows);
        for (int64_t y = 0; y < shape.h; ++y)
          for (int64_t i = 0; i < placement.pitch * shape.c; ++i) {
            const int got = static_cast<int8_t>(rows[static_cast<size_t>(y * placement.pitch * shape.c + i)]);
            int want = placement.zero_point;
            if (i < shape.w * shape.c) {
              const uint8_t stored = host[static_cast<size_t>(y * shape.w * shape.c + i)];
              want = is_uint8 ? int{stored} - 128 : int{static_cast<int8_t>(stored)};
            }
            ASSERT_EQ(got, want) << shape.h << "x" << shape.w << "x" << shape.c << ", gap " << gap << " at "
                                 << y << "," << i;
          }
        std::vector<uint8_t> back(host.size(), 0x55);
        download(rows, placement, back);
        EXPECT_EQ(back, host);
      }
}

TEST(Layout, GatherTakesEachChannelFromItsRegionAndSlot) {
  const Shape shape{3, 5, 21};
  const exe::Placement placement = placement_of(shape, false);
  exe::HostStep step;
  step.regions = {{0, 0, 3, 5, 16, 1}, {0, 0, 3, 5, 32, 1}};
  for (int32_t c = 0; c < 21; ++c) {
    exe::HostChannel channel;
    channel.region = c % 2;
    channel.slot = c % 2 == 0 ? c / 2 : 31 - c;
    step.channels.push_back(channel);
  }
  const std::vector<uint8_t> first = random_bytes(3 * 5 * 16, 3), second = random_bytes(3 * 5 * 32, 4);
  const std::span<const uint8_t> regions[] = {first, second};
  std::vector<uint8_t> cube(static_cast<size_t>(cube_bytes(placement.cube)));
  gather(step, regions, placement, cube);
  for (int64_t y = 0; y < 3; ++y)
    for (int64_t x = 0; x < 5; ++x)
      for (int64_t c = 0; c < 32; ++c) {
        const uint8_t got = cube[int8_index(placement.cube, y, x, c)];
        if (c >= 21) {
          ASSERT_EQ(static_cast<int8_t>(got), -37);
          continue;
        }
        const exe::HostChannel& channel = step.channels[static_cast<size_t>(c)];
        const auto& region = channel.region == 0 ? first : second;
        ASSERT_EQ(got,
                  region[int8_index(step.regions[static_cast<size_t>(channel.region)], y, x, channel.slot)]);
      }
}

// docs/arithmetic.md#two-roundings: multiplier 1/2 has mantissa 2^30 and exponent 0; 1/4 has exponent -1.
TEST(Requantize, TwoRoundingsOnTies) {
  exe::HostStep step;
  step.rounding = exe::Rounding::Two;
  exe::HostChannel half;
  half.mantissa = 1 << 30;
  const int accumulators[] = {-7, -5, -3, -1, 1, 3, 5};
  const int want[] = {-3, -2, -1, 0, 1, 2, 3};
  for (size_t i = 0; i < std::size(want); ++i)
    EXPECT_EQ(requantize_value(step, half, accumulators[i]), want[i]) << accumulators[i];
  exe::HostChannel quarter = half;
  quarter.exponent = -1;
  EXPECT_EQ(requantize_value(step, quarter, 5), 2);  // 1.25, but 2.5 -> 3 first, then 1.5 -> 2
  step.rounding = exe::Rounding::Once;
  EXPECT_EQ(requantize_value(step, quarter, 5), 1);
  EXPECT_EQ(requantize_value(step, quarter, 6), 2);    // 1.5, ties up
  EXPECT_EQ(requantize_value(step, quarter, -6), -1);  // -1.5, ties up
  step.rounding = exe::Rounding::Double;
  quarter.multiplier = 0.25;
  EXPECT_EQ(requantize_value(step, quarter, 5), 1);
  EXPECT_EQ(requantize_value(step, quarter, 6), 2);
  EXPECT_EQ(requantize_value(step, quarter, -6), -2);  // half away from zero
}

TEST(Requantize, ClampsAfterTheZeroPoint) {
  exe::HostStep step;
  step.zero_point = -100;
  step.low = -100;
  step.high = 20;
  exe::HostChannel half;
  half.mantissa = 1 << 30;
  EXPECT_EQ(requantize_value(step, half, -50), -100);
  EXPECT_EQ(requantize_value(step, half, 50), -75);
  EXPECT_EQ(requantize_value(step, half, 5000), 20);
  EXPECT_EQ(requantize_value(step, half, (int64_t{1} << 32) + 50), -75);  // the accumulator is 32 bits wide
}

TEST(Requantize, DoubleOutsideInt32IsTheLowestValue) {
  exe::HostStep step;
  step.rounding = exe::Rounding::Double;
  exe::HostChannel channel;
  channel.multiplier = 1e6;
  step.zero_point = 5;
  EXPECT_EQ(requantize_value(step, channel, 1'000'000), -128);
  step.zero_point = -5;  // wraps to the highest instead, as LiteRT's 32-bit sum does
  EXPECT_EQ(requantize_value(step, channel, 1'000'000), 127);
}

TEST(Requantize, CubesAddendsAndWindowSums) {
  const Shape shape{3, 4, 18};
  const exe::Placement placement = placement_of(shape, true);
  exe::HostStep step;
  step.regions = {{0, 0, 3, 4, 24, 4}};
  step.zero_point = 7;
  for (int32_t c = 0; c < 18; ++c) {
    exe::HostChannel channel;
    channel.slot = 17 - c;
    channel.addend = 1000 * (c - 9);
    channel.sum_slot = c % 3 == 0 ? 20 : -1;
    channel.sum_factor = -c;
    channel.mantissa = 1 << 30;
    channel.exponent = -4;
    step.channels.push_back(channel);
  }
  std::mt19937 rng(5);
  std::vector<uint8_t> raw(static_cast<size_t>(cube_bytes(step.regions[0])));
  for (size_t i = 0; i < raw.size(); i += 4) {
    const int32_t value = static_cast<int32_t>(rng() % 4001) - 2000;
    std::memcpy(&raw[i], &value, 4);
  }
  const std::span<const uint8_t> regions[] = {raw};
  std::vector<uint8_t> cube(static_cast<size_t>(cube_bytes(placement.cube)));
  requantize(step, regions, placement, cube);
  const auto raw_at = [&](int64_t y, int64_t x, int64_t slot) {
    int32_t value = 0;
    std::memcpy(&value, &raw[int32_index(step.regions[0], y, x, slot)], 4);
    return int64_t{value};
  };
  for (int64_t y = 0; y < 3; ++y)
    for (int64_t x = 0; x < 4; ++x)
      for (int64_t c = 0; c < 32; ++c) {
        const int got = static_cast<int8_t>(cube[int8_index(placement.cube, y, x, c)]);
        if (c >= 18) {
          ASSERT_EQ(got, -37);
          continue;
        }
        int64_t sum = raw_at(y, x, 17 - c) + 1000 * (c - 9);
        if (c % 3 == 0) sum -= c * raw_at(y, x, 20);
        // 2^30 * 2^-31 = 1/2 with ties up, then 2^-4 with ties away from zero.
        const double doubled = std::floor(static_cast<double>(sum) / 2 + 0.5);
        const double value = std::round(doubled / 16) + 7;
        ASSERT_EQ(got, static_cast<int>(std::min(127.0, std::max(-128.0, value)))) << sum;
      }
}

TEST(Correct, ScalesTheDistanceFromTheZeroPoint) {
  const Shape shape{2, 3, 3};
  const exe::Placement placement = placement_of(shape, false);
  exe::HostStep step;
  step.regions = {{0, 0, 2, 3, 16, 1}};
  step.zero_point = -10;
  step.low = -60;
  step.high = 100;
  const double ratios[] = {0.5, 1.0, 2.75};
  for (int32_t c = 0; c < 3; ++c) {
    exe::HostChannel channel;
    channel.slot = 5 + c;
    channel.multiplier = ratios[c];
    step.channels.push_back(channel);
  }
  const std::vector<uint8_t> source = random_bytes(2 * 3 * 16, 6);
  const std::span<const uint8_t> regions[] = {source};
  std::vector<uint8_t> cube(static_cast<size_t>(cube_bytes(placement.cube)));
  correct(step, regions, placement, cube);
  for (int64_t p = 0; p < 6; ++p)
    for (int64_t c = 0; c < 3; ++c) {
      const int q = static_cast<int8_t>(source[static_cast<size_t>(p * 16 + 5 + c)]);
      const double want = std::round((q + 10) * ratios[c]) - 10;
      EXPECT_EQ(static_cast<int8_t>(cube[static_cast<size_t>(p * 16 + c)]),
                static_cast<int>(std::min(100.0, std::max(-60.0, want))))
          << q << " * " << ratios[c];
    }
}

}  // namespace
}  // namespace peraxis::runtime
