// First layers that read pictures as they lie: which do, where their tiles begin, and the vendor compiler's
// own tiles (vendor tiling.csv, one core: 3 channels, int8).
#include "lower/packed_input.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "graphs.hpp"
#include "lower/convolution.hpp"
#include "lower/parts.hpp"
#include "target/rk3588/cost.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

struct Shape {
  int32_t h, w, c, outputs, kernel, stride, pad;
  int32_t batch = 1;
};

// A convolution with `pad` rows and columns all around.
ir::Graph convolution(const Shape& s, ir::OpKind kind = ir::OpKind::Conv2D) {
  ir::Graph g;
  const int32_t out_h = (s.h + 2 * s.pad - s.kernel) / s.stride + 1,
                out_w = (s.w + 2 * s.pad - s.kernel) / s.stride + 1;
  add_tensor(g, {s.batch, s.h, s.w, s.c}, false);
  add_tensor(g,
             kind == ir::OpKind::Conv2D ? std::vector{s.outputs, s.kernel, s.kernel, s.c}
                                        : std::vector{1, s.kernel, s.kernel, s.outputs},
             true);
  add_tensor(g, {s.batch, out_h, out_w, s.outputs}, false);
  ir::ConvAttributes a;
  a.stride_h = a.stride_w = s.stride;
  a.pads = {s.pad, s.pad, s.pad, s.pad};
  g.ops.push_back({kind, {0, 1}, {2}, a});
  return g;
}

std::vector<ConvTask> tasks_of(const ir::Graph& graph, bool packed, const TileLimits& limits = {}) {
  const Geometry g = geometry(graph, 0);
  requant::LayerParams params;
  params.sets.resize(1);
  params.sets[0].dpu.multiply = true;
  params.sets[0].channels.resize(static_cast<size_t>(g.out_c));
  std::iota(params.sets[0].channels.begin(), params.sets[0].channels.end(), 0);
  params.sets[0].params.resize(static_cast<size_t>(g.out_c));
  MemoryPlan memory;
  const CostConstants cost;
  const auto lowered = lower_convolution({.graph = graph,
                                          .op = 0,
                                          .layer = {},
                                          .params = params,
                                          .input = packed ? packed_input(g, {0, 0}) : plain_input(g, {0, 0}),
                                          .cutting = {limits, cost}},
                                         memory);
  EXPECT_TRUE(lowered) << lowered.error().text();
  std::vector<ConvTask> tasks;
  if (lowered)
    for (const LoweredTask& task : lowered->tasks) tasks.push_back(task.task);
  return tasks;
}

struct VendorTile {
  int64_t in_rows, out_rows, pad_top, first_byte;
};
struct VendorLayer {
  Shape shape;
  int64_t line, surface_jump;
  std::vector<VendorTile> tiles;
};

TEST(PackedInput, TilesAreTheVendors) {
  const VendorLayer layers[] = {
      {{224, 224, 3, 32, 3, 2, 1}, 224, 49952, {{100, 50, 1, 0}, {99, 49, 0, 66528}, {27, 13, 0, 132384}}},
      {{320, 320, 3, 32, 6, 2, 2},
       320,
       102080,
       {{70, 34, 2, 0}, {70, 33, 0, 63360}, {70, 33, 0, 126720}, {70, 33, 0, 190080}, {56, 27, 0, 253440}}},
      {{416, 416, 3, 16, 3, 1, 1},
       416,
       172640,
       {{54, 53, 1, 0},
        {54, 52, 0, 64896},
        {54, 52, 0, 129792},
        {54, 52, 0, 194688},
        {54, 52, 0, 259584},
        {54, 52, 0, 324480},
        {54, 52, 0, 389376},
        {52, 51, 0, 454272}}},
  };
  for (const VendorLayer& layer : layers) {
    SCOPED_TRACE(layer.shape.w);
    const ir::Graph graph = convolution(layer.shape);
    EXPECT_TRUE(takes_packed_input(graph, 0));
    const std::vector<ConvTask> tasks = tasks_of(graph, true);
    ASSERT_EQ(tasks.size(), layer.tiles.size());
    for (size_t i = 0; i < tasks.size(); ++i) {
      const ConvTask& t = tasks[i];
      EXPECT_EQ(t.packed, 3);
      EXPECT_EQ(t.in_channels, 16);
      EXPECT_EQ(t.in_channels_real, 3);
      EXPECT_EQ(t.in_height, layer.tiles[i].in_rows);
      EXPECT_EQ(t.out_height, layer.tiles[i].out_rows);
      EXPECT_EQ(t.pad_top, layer.tiles[i].pad_top);
      EXPECT_EQ(t.input.offset, layer.tiles[i].first_byte);
      EXPECT_EQ(t.line, layer.line);
      EXPECT_EQ(t.in_plane - t.line, layer.surface_jump);
      EXPECT_EQ(std::pair(t.data_banks, t.weight_banks), std::pair(int64_t{11}, int64_t{1}));
      EXPECT_EQ(t.weight_reuse, i > 0);
    }
  }
}

// Rows of a width that is no multiple of 16 begin where a tile may begin; images lie one below the other.
TEST(PackedInput, EveryTileBeginsAtAnAtom) {
  std::mt19937_64 rng(20261130);
  const auto pick = [&](int32_t low, int32_t high) {
    return low + static_cast<int32_t>(rng() % static_cast<uint64_t>(high - low + 1));
  };
  int tiled = 0, images = 0;
  for (int round = 0; round < 400; ++round) {
    Shape s{pick(8, 90), pick(17, 200), pick(1, 4), pick(1, 70),
            pick(1, 7),  pick(1, 4),    pick(0, 1), pick(1, 3)};
    if (round % 9 == 0) s.w = pick(600, 2047);
    if (s.kernel == 1) s.pad = 0;
    const ir::Graph graph = convolution(s);
    SCOPED_TRACE(
        fmt::format("{}x{}x{}, kernel {}, stride {}, {} images", s.h, s.w, s.c, s.kernel, s.stride, s.batch));
    ASSERT_TRUE(takes_packed_input(graph, 0));
    const Geometry g = geometry(graph, 0);
    const int64_t row = packed_pitch(s.w) * s.c;
    EXPECT_EQ(packed_bytes(g), s.batch * s.h * row);
    const std::vector<ConvTask> tasks = tasks_of(graph, true, {rng() % 3 == 0 ? pick(1, 4) : 0, 32});
    images += s.batch > 1 ? 1 : 0;
    tiled += tasks.size() > 3 ? 1 : 0;
    std::vector<int> written(static_cast<size_t>(g.out_rows() * g.out_w));
    for (const ConvTask& t : tasks) {
      ASSERT_EQ(t.input.offset % kAtomBytes, 0);
      ASSERT_EQ(t.input.offset % row, 0);
      ASSERT_EQ(t.line, packed_pitch(s.w));
      ASSERT_LE(t.in_height * t.in_width * kAtomBytes, t.data_banks * kCbufBankBytes);
      ASSERT_LT(t.in_height * t.in_width, 1 << 15) << "DATA_ENTRIES has 15 bits";
      ASSERT_LE(t.input.offset / row + t.in_height, s.batch * s.h);
      // The tile's first row is the one under its first window's first row, or the padding above says less.
      const int64_t first_out = t.output.offset / kAtomBytes / g.out_w % g.out_rows();
      const int64_t image = first_out / g.out_h, first = first_out % g.out_h;
      ASSERT_EQ(t.input.offset / row - t.pad_top, image * g.in_h + first * g.stride_h - g.pad_top);
      for (int64_t y = 0; y < t.out_height; ++y) ++written[static_cast<size_t>((first_out + y) * g.out_w)];
    }
    const int64_t passes = round_up(s.outputs, kKernelGroup) / kKernelGroup;
    for (int64_t y = 0; y < g.out_rows(); ++y)
      ASSERT_EQ(written[static_cast<size_t>(y * g.out_w)], passes) << "row " << y;
  }
  EXPECT_GT(tiled, 100);
  EXPECT_GT(images, 200);
}

TEST(PackedInput, WhoReadsIt) {
  EXPECT_TRUE(takes_packed_input(convolution({120, 160, 1, 8, 3, 2, 1}), 0));
  EXPECT_TRUE(takes_packed_input(convolution({9, 17, 4, 8, 3, 1, 1}), 0));
  EXPECT_FALSE(takes_packed_input(convolution({9, 17, 5, 8, 3, 1, 1}), 0)) << "5 channels";
  // One channel: an ordinary convolution, whatever its kind.
  EXPECT_TRUE(takes_packed_input(convolution({20, 40, 1, 16, 5, 2, 0}, ir::OpKind::DepthwiseConv2D), 0));
  EXPECT_FALSE(takes_packed_input(convolution({20, 40, 3, 3, 5, 2, 0}, ir::OpKind::DepthwiseConv2D), 0));
  EXPECT_FALSE(takes_packed_input(convolution({20, 40, 3, 6, 5, 2, 0}, ir::OpKind::DepthwiseConv2D), 0));
  // Beyond the fields the lines are addressed one by one, more padding takes a copy first.
  EXPECT_FALSE(takes_packed_input(convolution({64, 64, 3, 8, 3, 8, 0}), 0)) << "stride 8";
  EXPECT_FALSE(takes_packed_input(convolution({64, 2100, 3, 8, 3, 1, 0}), 0)) << "2100 columns";
  EXPECT_FALSE(takes_packed_input(convolution({64, 64, 3, 8, 31, 1, 16}), 0)) << "padding 16";
  EXPECT_FALSE(takes_packed_input(convolution({40, 2040, 3, 8, 21, 1, 0}), 0))
      << "a window's rows beyond CBUF";
  // Few columns: 16 pixels of 4 bytes are more than 4 atoms' worth.
  EXPECT_FALSE(takes_packed_input(convolution({9, 4, 4, 8, 1, 1, 0}), 0));
  EXPECT_TRUE(takes_packed_input(convolution({9, 5, 4, 8, 1, 1, 0}), 0));
}

// A tile's rows are counted by a field of 10 bits; CBUF would take 1325 rows of 17 pixels.
TEST(PackedInput, NarrowPicturesHaveTilesOf1023Rows) {
  const std::vector<ConvTask> tasks = tasks_of(convolution({1500, 17, 3, 8, 1, 1, 0}), true);
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].in_height, 1023);
  EXPECT_EQ(tasks[1].in_height, 477);
}

// 3 bytes a pixel are read in place of 16; nothing else of the tasks changes.
TEST(PackedInput, MovesFewerBytes) {
  const ir::Graph graph = convolution({64, 96, 3, 24, 3, 2, 1});
  const std::vector<ConvTask> packed = tasks_of(graph, true), cubes = tasks_of(graph, false);
  ASSERT_EQ(packed.size(), 1U);
  ASSERT_EQ(cubes.size(), 1U);
  EXPECT_EQ(bytes_moved(cubes[0], 100) - bytes_moved(packed[0], 100), 64 * 96 * (16 - 3));
  EXPECT_EQ(mac_cycles(packed[0]), mac_cycles(cubes[0]));
  EXPECT_EQ(packed[0].weight_bytes, cubes[0].weight_bytes);
}

}  // namespace
}  // namespace peraxis::lower
