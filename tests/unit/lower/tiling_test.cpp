#include "lower/tiling.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ir/pads.hpp"
#include "lower/parts.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

Geometry random_geometry(std::mt19937_64& rng) {
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  Geometry g;
  g.depthwise = rng() % 4 == 0;
  g.kernel_h = pick(1, 7);
  g.kernel_w = pick(1, 7);
  g.stride_h = pick(1, 4);
  g.stride_w = pick(1, 4);
  g.in_h = pick(1, 10) == 1 ? pick(200, 700) : pick(1, 90);
  g.in_w = pick(1, 10) == 1 ? pick(200, 700) : pick(1, 90);
  g.in_c = pick(1, 600);
  g.out_c = g.depthwise ? g.in_c : pick(1, 600);
  if (rng() % 4 == 0) {
    g.dilation_h = pick(1, 4);
    g.dilation_w = pick(1, 4);
  } else if (rng() % 4 == 0 && !g.depthwise) {
    constexpr int64_t kDistances[] = {1, 2, 4, 8};
    g.insert_h = kDistances[rng() % 4];
    g.insert_w = kDistances[rng() % 4];
    g.stride_h = g.stride_w = 1;
    g.kernel_h = std::max(g.kernel_h, g.insert_h);
    g.kernel_w = std::max(g.kernel_w, g.insert_w);
    g.pad_top = pick(0, g.kernel_h - 1);
    g.pad_left = pick(0, g.kernel_w - 1);
    g.out_h = g.plane_h() + g.pad_top;
    g.out_w = g.plane_w() + g.pad_left;
    return g;
  }
  const bool same = rng() % 2 == 0 || g.in_h < g.span_h() || g.in_w < g.span_w();
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  ir::ConvAttributes a;
  a.stride_h = narrow(g.stride_h);
  a.stride_w = narrow(g.stride_w);
  a.dilation_h = narrow(g.dilation_h);
  a.dilation_w = narrow(g.dilation_w);
  const ir::Nhwc map{1, g.in_h, g.in_w, 1};
  if (same) a.pads = ir::even_pads(map, g.kernel_h, g.kernel_w, a);
  // Any amounts that leave every window a pixel and fit the fields.
  const auto side = [&](int64_t span) { return narrow(pick(0, std::min<int64_t>(span - 1, 15))); };
  if (pick(0, 2) == 0 && g.in_h >= g.span_h() && g.in_w >= g.span_w())
    a.pads = {side(g.span_h()), side(g.span_h()), side(g.span_w()), side(g.span_w())};
  const auto [h, w] = ir::conv_axes(map, g.kernel_h, g.kernel_w, a);
  g.out_h = h.out;
  g.out_w = w.out;
  g.pad_top = h.before;
  g.pad_left = w.before;
  return g;
}

// Every output row once and in order, every tile holding all the rows its windows need, CBUF never over full.
TEST(Tiling, CoversTheOutputOnceAndFitsCbuf) {
  std::mt19937_64 rng(20261129);
  int fitted = 0, tiled = 0;
  for (int round = 0; round < 4000; ++round) {
    const Geometry g = random_geometry(rng);
    const int64_t group = g.depthwise ? kDepthwiseGroup : kKernelGroup;
    const TilingProblem p{g, round_up(g.in_c, 16), round_up(g.out_c, group), g.depthwise};
    const TileLimits limits{static_cast<int64_t>(rng() % 3 == 0 ? 1 + rng() % 5 : 0),
                            static_cast<int64_t>(rng() % 3 == 0 ? 64 : 0)};
    const Result<Tiling> tiling = tile(p, limits);
    if (!tiling) continue;
    ++fitted;
    tiled += tiling->rows.size() > 1 ? 1 : 0;
    ASSERT_EQ(tiling->data_banks + tiling->weight_banks, kCbufBanks);
    ASSERT_GE(tiling->data_banks, g.in_w == 1 ? 2 : 1);
    ASSERT_GE(tiling->weight_banks, 1);
    ASSERT_EQ(tiling->channels_per_task % group, 0);
    const int64_t in_channels =
        g.depthwise ? std::min(p.in_channels, tiling->channels_per_task) : p.in_channels;
    int64_t next = 0;
    for (const RowTile& row : tiling->rows) {
      ASSERT_EQ(row.first, next);
      ASSERT_GE(row.rows, 1);
      next += row.rows;
      if (limits.max_rows > 0) {
        ASSERT_LE(row.rows, limits.max_rows);
      }
      for (int64_t y = row.first; y < row.first + row.rows; ++y)
        for (int64_t k = 0; k < g.kernel_h; ++k) {
          const int64_t in = y * g.stride_h - g.pad_top + k * g.dilation_h;  // of the plane
          if (in < 0 || in >= g.plane_h() || in % g.insert_h != 0) continue;
          ASSERT_GE(in / g.insert_h, row.in_first);
          ASSERT_LT(in / g.insert_h, row.in_first + row.in_rows);
        }
      // The tile's own coordinates lead to the same rows: local y * stride - pad_top + in_first.
      ASSERT_EQ(row.first * g.stride_h - g.pad_top, row.in_first * g.insert_h - row.pad_top);
      // No tile begins with a window that has no row of its own.
      ASSERT_LT(row.pad_top, g.span_h());
      ASSERT_LT((row.rows - 1) * g.stride_h - row.pad_top, (row.in_rows - 1) * g.insert_h + 1);
      ASSERT_GE(row.in_first, 0);
      ASSERT_LE(row.in_first + row.in_rows, g.in_h);
      const int64_t bytes = row.in_rows * round_up(g.in_w * in_channels, 64);
      ASSERT_LE(bytes, (tiling->data_banks - (g.in_w == 1 ? kSpareDataBanks : 0)) * kCbufBankBytes);
    }
    ASSERT_EQ(next, g.out_h);
    const int64_t taps = g.kernel_h * g.kernel_w;
    const int64_t all = g.depthwise
                            ? taps * in_channels
                            : taps * in_channels * std::min(tiling->channels_per_task, p.out_channels);
    const int64_t resident = tiling->weights_resident ? all : 2 * kKernelGroup * taps * in_channels;
    ASSERT_LE(resident, tiling->weight_banks * kCbufBankBytes);
  }
  EXPECT_GT(fitted, 3000);
  EXPECT_GT(tiled, 500);
}

TEST(Tiling, RefusesWhatCannotFit) {
  Geometry g;
  g.in_h = g.in_w = g.out_h = g.out_w = 20;
  g.in_c = 4096;
  g.out_c = 64;
  g.kernel_h = g.kernel_w = 3;
  const Result<Tiling> tiling = tile({g, 4096, 64, false}, {});
  ASSERT_FALSE(tiling);
  EXPECT_NE(tiling.error().message.find("4096 channels"), std::string::npos);
  EXPECT_FALSE(fits_cbuf(g));
}

TEST(Tiling, SplitsDeepLayersByOutputChannels) {
  Geometry g;
  g.in_h = g.in_w = g.out_h = g.out_w = 7;
  g.in_c = 1024;
  g.out_c = 256;
  g.kernel_h = g.kernel_w = 3;
  g.pad_top = g.pad_left = 1;
  const Result<Tiling> tiling = tile({g, 1024, 256, false}, {});
  ASSERT_TRUE(tiling);
  EXPECT_EQ(tiling->channels_per_task, 32);  // one group is nine banks
}

}  // namespace
}  // namespace peraxis::lower
