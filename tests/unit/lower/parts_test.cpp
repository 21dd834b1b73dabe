// Convolutions beyond the chip's fields, cut into parts: every output is computed once, and the atom that a
// task fetches for a tap is the one the convolution means, or padding where it means padding.
#include "lower/parts.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ir/pads.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

struct Random {
  std::mt19937_64 rng{20261130};
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
  }
};

Geometry random_geometry(Random& random) {
  Geometry g;
  g.batch = random.pick(1, 3);
  g.kernel_h = random.pick(1, 9);
  g.kernel_w = random.pick(1, 9);
  g.stride_h = random.pick(1, 12);
  g.stride_w = random.pick(1, 12);
  g.dilation_h = random.pick(1, 3);
  g.dilation_w = random.pick(1, 3);
  g.in_h = random.pick(1, 40);
  g.in_w = random.pick(1, 20) == 1 ? random.pick(2000, 3000) : random.pick(1, 40);
  g.in_c = random.pick(1, 3) == 1 ? 3 : random.pick(1, 200);
  g.out_c = random.pick(1, 80);
  const bool same = random.pick(0, 1) == 0 || g.in_h < g.span_h() || g.in_w < g.span_w();
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  ir::ConvAttributes a;
  a.stride_h = narrow(g.stride_h);
  a.stride_w = narrow(g.stride_w);
  a.dilation_h = narrow(g.dilation_h);
  a.dilation_w = narrow(g.dilation_w);
  const ir::Nhwc map{1, g.in_h, g.in_w, 1};
  if (same) a.pads = ir::even_pads(map, g.kernel_h, g.kernel_w, a);
  // Any amounts that leave every window a pixel and fit the fields.
  const auto side = [&](int64_t span) { return narrow(random.pick(0, std::min<int64_t>(span - 1, 15))); };
  if (random.pick(0, 2) == 0 && g.in_h >= g.span_h() && g.in_w >= g.span_w())
    a.pads = {side(g.span_h()), side(g.span_h()), side(g.span_w()), side(g.span_w())};
  const auto [h, w] = ir::conv_axes(map, g.kernel_h, g.kernel_w, a);
  g.out_h = h.out;
  g.out_w = w.out;
  g.pad_top = h.before;
  g.pad_left = w.before;
  return g;
}

// Atom of the input's first surface that output (image, y, x) reads under a tap; -1: padding.
int64_t meant(const Geometry& g, int64_t image, int64_t y, int64_t x, int64_t ky, int64_t kx) {
  const int64_t row = y * g.stride_h - g.pad_top + ky * g.dilation_h;
  const int64_t column = x * g.stride_w - g.pad_left + kx * g.dilation_w;
  if (row < 0 || row >= g.in_h || column < 0 || column >= g.in_w) return -1;
  return (image * g.in_h + row) * g.in_w + column;
}

void check_parts(const Geometry& g, const Parts& parts, bool windows) {
  ASSERT_EQ(parts.out_plane, g.out_rows() * g.out_w);
  std::vector<int> written(static_cast<size_t>(parts.out_plane));
  for (const Part& part : parts.parts)
    for (const RowTile& tile : part.rows) {
      ASSERT_LE(std::max(part.g.stride_h, part.g.stride_w), kMaxStride);
      ASSERT_LE(std::max({part.g.in_w, tile.in_rows, part.g.out_w}), kMaxInputExtent);
      ASSERT_LE(std::max(part.g.pad_left, tile.pad_top), kMaxPad);
      ASSERT_LT(tile.pad_top, part.g.span_h());
      ASSERT_LT(part.g.pad_left, part.g.span_w());
      const int64_t line = parts.line > 0 ? parts.line : part.g.in_w;
      for (int64_t y = 0; y < tile.rows; ++y)
        for (int64_t x = 0; x < part.g.out_w; ++x) {
          const int64_t out = part.out_first + (tile.first + y) * part.g.out_w + x;
          ASSERT_EQ(++written[static_cast<size_t>(out)], 1) << "output " << out;
          const int64_t image = out / g.out_w / g.out_h, oy = out / g.out_w % g.out_h, ox = out % g.out_w;
          ASSERT_TRUE(windows || part.first_row + tile.first + y == image * g.out_h + oy);
          for (int64_t ky = 0; ky < g.kernel_h; ++ky)
            for (int64_t kx = 0; kx < g.kernel_w; ++kx) {
              // Windows: a row of the kernel is a surface.
              const int64_t tap = windows ? 0 : ky * part.g.dilation_h;
              const int64_t row = y * part.g.stride_h - tile.pad_top + tap;
              const int64_t column = x * part.g.stride_w - part.g.pad_left + kx * part.g.dilation_w;
              int64_t atom = -1;
              if (row >= 0 && row < tile.in_rows && column >= 0 && column < part.g.in_w)
                atom = part.in_first + (tile.in_first + row) * line + column +
                       (windows ? ky * parts.in_plane : 0);
              ASSERT_EQ(atom, meant(g, image, oy, ox, ky, kx))
                  << "output " << oy << ", " << ox << ", tap " << ky << ", " << kx;
            }
        }
    }
  for (const int count : written) ASSERT_EQ(count, 1);
}

TEST(Parts, FetchWhatTheConvolutionMeans) {
  Random random;
  int by_lines = 0, by_windows = 0, checked = 0;
  for (int round = 0; round < 1500; ++round) {
    const Geometry g = random_geometry(random);
    if (margin_of(g).any()) continue;
    const int64_t slots = round_up(g.in_c, kAtomBytes);
    const Result<Parts> parts = cut({g, slots, round_up(g.out_c, kKernelGroup), false}, {});
    if (!parts) continue;
    SCOPED_TRACE(fmt::format("{}x{}, kernel {}x{}, stride {}x{}, dilation {}x{}, {} images", g.in_h, g.in_w,
                             g.kernel_h, g.kernel_w, g.stride_h, g.stride_w, g.dilation_h, g.dilation_w,
                             g.batch));
    ++checked;
    by_lines += parts->line > 0 ? 1 : 0;
    check_parts(g, *parts, false);
    if (HasFatalFailure()) return;
    if (!cuts_into_windows(g, slots)) continue;
    const Result<Parts> windows =
        cut_windows({g, slots * g.kernel_h, round_up(g.out_c, kKernelGroup), false}, {});
    ASSERT_TRUE(windows) << windows.error().text();
    ++by_windows;
    check_parts(g, *windows, true);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checked, 800);
  EXPECT_GT(by_lines, 300);
  EXPECT_GT(by_windows, 20);
}

// Dilated rows that do not fit CBUF together are fetched alone.
TEST(Parts, DilatedRowsBeyondCbuf) {
  Geometry g;
  g.in_h = g.in_w = g.out_h = g.out_w = 33;
  g.in_c = 1024;
  g.out_c = 256;
  g.kernel_h = g.kernel_w = 3;
  g.dilation_h = g.dilation_w = 12;
  g.pad_top = g.pad_left = 12;
  const Result<Parts> parts = cut({g, 1024, 256, false}, {});
  ASSERT_TRUE(parts) << parts.error().text();
  EXPECT_EQ(parts->line, 12 * 33);
  check_parts(g, *parts, false);
}

// The copies move the map, so that what is left of the padding fits its field.
TEST(Parts, MarginTakesWhatTheFieldCannot) {
  Geometry g;
  g.in_h = g.out_h = 20;
  g.in_w = g.out_w = 30;
  g.in_c = g.out_c = 32;
  g.kernel_h = g.kernel_w = 3;
  g.dilation_h = 16;
  g.dilation_w = 18;
  g.pad_top = 16;
  g.pad_left = 18;
  const Margin margin = margin_of(g);
  EXPECT_EQ(margin.top, 1);
  EXPECT_EQ(margin.left, 3);
  const Geometry moved = with_margin(g, margin);
  EXPECT_EQ(moved.pad_top, 15);
  EXPECT_EQ(moved.pad_left, 15);
  EXPECT_EQ(moved.in_h, 21);
  EXPECT_EQ(moved.in_w, 33);
  const std::vector<Geometry> copies = margin_copies(g, margin, 32);
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].out_h, 20);
  EXPECT_EQ(copies[0].out_w, 33);
  EXPECT_EQ(copies[1].in_w, 33);
  EXPECT_EQ(copies[1].out_h, 21);
  EXPECT_TRUE(fits_cbuf(g));
  // Pixels of a transposed convolution lie apart: one of them moves the plane by as much.
  g = {};
  g.in_h = g.in_w = 4;
  g.kernel_h = g.kernel_w = 16;
  g.insert_h = g.insert_w = 8;
  g.pad_top = g.pad_left = 15;
  EXPECT_EQ(margin_of(g).top, 1);
  EXPECT_EQ(with_margin(g, margin_of(g)).pad_top, 7);
}

}  // namespace
}  // namespace peraxis::lower
