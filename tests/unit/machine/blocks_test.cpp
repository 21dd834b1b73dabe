// The programs of blocks.hpp against plain arithmetic on their tensors, and the fast way through the
// convolutions among them against the obvious one.
#include "blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace peraxis::machine::test {
namespace {

using namespace rk3588;

struct Tensors {
  std::vector<uint8_t> first, second, output;
  int64_t a(int64_t atom, int64_t lane) const { return signed_byte(first, atom, lane); }
  int64_t b(int64_t atom, int64_t lane) const { return signed_byte(second, atom, lane); }
  int64_t out(int64_t atom, int64_t lane) const { return signed_byte(output, atom, lane); }

 private:
  static int64_t signed_byte(const std::vector<uint8_t>& bytes, int64_t atom, int64_t lane) {
    return static_cast<int8_t>(bytes[static_cast<size_t>(atom * 16 + lane)]);
  }
};

Tensors run(const std::vector<Program>& programs) {
  Bench bench;
  load_tensors(bench, 5);
  for (size_t i = 0; i < programs.size(); ++i) {
    const uint32_t next = kCommands + static_cast<uint32_t>(i + 1) * 0x4000;
    const bool last = i + 1 == programs.size();
    bench.add_words(
        next - 0x4000,
        programs[i].words(next, last ? 0 : static_cast<uint32_t>(programs[i + 1].words().size())));
  }
  const auto result =
      bench.run(static_cast<uint32_t>(programs[0].words().size()), static_cast<int32_t>(programs.size()));
  EXPECT_TRUE(result) << result.error().text();
  return {bench.bytes(kFeatures), bench.bytes(kSecond), bench.bytes(kOutput)};
}

int64_t cut8(int64_t v) {
  return std::clamp<int64_t>(v, -128, 127);
}

TEST(Blocks, AddsASecondTensor) {
  const Tensors t = run({add_program()});
  for (int64_t s = 0; s < 2; ++s)
    for (int64_t p = 0; p < 15; ++p)
      for (int64_t i = 0; i < 16; ++i) {
        const int64_t at = s * 20 + p;
        ASSERT_EQ(t.out(at, i), cut8(t.a(at, i) + round_shift((t.b(at, i) + 2) * 3, 1, 0))) << at << ' ' << i;
      }
}

TEST(Blocks, LooksUp) {
  const Tensors t = run({table_program(), lookup_program()});
  const auto entry = [](int64_t side, int64_t i) {
    return static_cast<int64_t>(static_cast<int16_t>((i * i * 7 + side * 999) % 65536));
  };
  for (int64_t p = 0; p < 16; ++p)
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t x = t.a(p, i) * 9, side = x < 0 ? 0 : 1;
      const int64_t start = side == 0 ? -1100 : 70, end = start + 1024;
      int64_t y;
      if (x < start) {
        y = entry(side, 0) + (side == 0 ? (x - start) * 700 >> 1 : (x - start) * 600 >> 2);
      } else if (x >= end) {
        y = entry(side, 512) + (side == 0 ? (x - end) * 900 >> 2 : (x - end) * 800 >> 1);
      } else {
        const int64_t k = (x - start) / 2;
        y = entry(side, k);
        if ((x - start) % 2 != 0) y += round_shift(entry(side, k + 1) - y, 1, 2);
      }
      ASSERT_EQ(t.out(p, i), cut8(round_shift(y * 3, 9, 0))) << x;
    }
}

void check_pool(const Tensors& t, bool average) {
  for (int64_t s = 0; s < 2; ++s)
    for (int64_t y = 0; y < 6; ++y)
      for (int64_t x = 0; x < 3; ++x)
        for (int64_t i = 0; i < 16; ++i) {
          int64_t largest = -128, sum = 0;
          for (int64_t iy = y - 1; iy < y + 1; ++iy)
            for (int64_t ix = 2 * x - 1; ix < 2 * x + 2; ++ix) {
              const bool inside = iy >= 0 && iy < 5 && ix >= 0 && ix < 6;
              const int64_t v = inside ? t.a(s * 30 + iy * 6 + ix, i) : 77;
              if (inside) largest = std::max(largest, v);
              sum += v;
            }
          const int64_t mean = round_shift(std::abs(sum) * 0x5555 * 0x8000, 32, 0);
          ASSERT_EQ(t.out(s * 24 + y * 3 + x, i), average ? (sum < 0 ? -mean : mean) : largest)
              << s << ' ' << y << ' ' << x << ' ' << i;
        }
}

TEST(Blocks, PoolsMaxima) {
  check_pool(run({max_pool_program()}), false);
}

TEST(Blocks, PoolsAverages) {
  check_pool(run({average_pool_program()}), true);
}

TEST(Blocks, RepeatsPixels) {
  const Tensors t = run({unpool_program()});
  for (int64_t y = 0; y < 8; ++y)
    for (int64_t x = 0; x < 10; ++x)
      for (int64_t i = 0; i < 16; ++i)
        ASSERT_EQ(t.out(y * 10 + x, i), t.a(y / 2 * 5 + x / 2, i)) << y << ' ' << x;
}

// The windows need one row of padding above and below and one column on the left.
TEST(Blocks, RefusesPaddingThatNoWindowReaches) {
  for (const uint32_t padding : {0x1111U, 0x2011U}) {
    Program p = max_pool_program();
    *p.find(0x6040) = padding;
    Bench bench;
    load_tensors(bench, 5);
    bench.add_words(kCommands, p.words());
    const auto result = bench.run(static_cast<uint32_t>(p.words().size()));
    ASSERT_FALSE(result) << padding;
    EXPECT_NE(result.error().text().find("PPU.POOLING_PADDING_CFG"), std::string::npos)
        << result.error().text();
  }
}

// The output of a convolution that adds a tensor of 4 surfaces, `plane` atoms apart; or the refusal.
struct Added {
  std::vector<uint8_t> output;
  std::string refusal;
};
Added run_added(Program program, int64_t plane, Options options = {}) {
  Bench bench(options);
  bench.load(add_layer(), random_data(add_layer(), 21));
  std::mt19937 rng(3);
  std::vector<uint8_t> second(4096, 0x5A);
  for (int64_t surface = 0; surface < 4; ++surface)
    for (int64_t i = 0; i < 30 * 16; ++i)
      second[static_cast<size_t>(surface * plane * 16 + i)] = static_cast<uint8_t>(rng());
  bench.add(kSecond, second, true, "second");
  bench.add_words(kCommands, program.words());
  const auto result = bench.run(static_cast<uint32_t>(program.words().size()));
  return result ? Added{bench.bytes(kOutput), ""} : Added{{}, result.error().text()};
}

TEST(Blocks, AddsATensorWhosePlaneIsLargerThanTheMap) {
  const Added plain = run_added(conv_add_program(), 30), padded = run_added(conv_add_padded_program(), 40);
  ASSERT_EQ(plain.refusal, "");
  ASSERT_EQ(padded.refusal, "");
  EXPECT_EQ(plain.output, padded.output);
  EXPECT_NE(run_added(conv_add_padded_program(), 30).output, padded.output);
}

// EW_SURF_STRIDE is the plane; what the notch says, the plane of the map or none at all contradicts it.
TEST(Blocks, TheOperandsPlaneAndNotchMustAgree) {
  const Added right = run_added(conv_add_padded_program(), 40);
  Options unread;
  unread.switches.ew_surf_stride_unread = true;
  for (const uint32_t plane : {50, 30, 0}) {
    Program p = conv_add_padded_program();
    p.set(DPU_RDMA::EW_SURF_STRIDE::EW_SURF_STRIDE(plane));
    EXPECT_NE(run_added(p, 40).refusal.find("DPU_RDMA.EW_SURF_STRIDE"), std::string::npos) << plane;
    const Added other = run_added(p, 40, unread);
    EXPECT_EQ(other.refusal, "");
    EXPECT_EQ(other.output, right.output);
  }
}

struct Convolution {
  const char* name;
  Layer (*layer)();
  Program (*program)();
};

class BlockConvolutions : public testing::TestWithParam<Convolution> {};

TEST_P(BlockConvolutions, FastEqualsPlain) {
  const Layer layer = GetParam().layer();
  const Data data = random_data(layer, 21);
  std::vector<uint8_t> outputs[2];
  for (const bool plain : {false, true}) {
    Options options;
    options.plain = plain;
    Bench bench(options);
    bench.load(layer, data);
    std::mt19937 rng(3);
    std::vector<uint8_t> second(4096);
    for (uint8_t& b : second) b = static_cast<uint8_t>(rng());
    bench.add(kSecond, second, true, "second");
    const std::vector<uint64_t> words = GetParam().program().words();
    bench.add_words(kCommands, words);
    const auto result = bench.run(static_cast<uint32_t>(words.size()));
    ASSERT_TRUE(result) << result.error().text();
    outputs[plain ? 1 : 0] = bench.bytes(kOutput);
  }
  EXPECT_EQ(outputs[0], outputs[1]);
}

INSTANTIATE_TEST_SUITE_P(All, BlockConvolutions,
                         testing::Values(Convolution{"tensor", add_layer, conv_add_program},
                                         Convolution{"packed", packed_layer, packed_program},
                                         Convolution{"deconv", deconv_layer, deconv_program}),
                         [](const testing::TestParamInfo<Convolution>& test) { return test.param.name; });

}  // namespace
}  // namespace peraxis::machine::test
