// Which operators the NPU takes beside convolutions, and why not the others.
#include "lower/device_op.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "forms.hpp"

namespace peraxis::lower {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string device_refusal(const ir::Graph& graph, size_t op, bool exact) {
  return form_of(graph, op, exact).refusal;
}

int32_t add_tensor(ir::Graph& g, std::vector<int32_t> shape, float scale = 0.1F, int64_t zero_point = -5,
                   ir::DataType type = ir::DataType::Int8) {
  ir::Tensor t;
  t.name = fmt::format("t{}", g.tensors.size());
  t.type = type;
  t.shape = std::move(shape);
  t.quant = {{scale}, {zero_point}, 0};
  g.tensors.push_back(std::move(t));
  return static_cast<int32_t>(g.tensors.size() - 1);
}

ir::Graph one(ir::OpKind kind, const std::vector<std::vector<int32_t>>& inputs,
              const std::vector<std::vector<int32_t>>& outputs, ir::Attributes attributes) {
  ir::Graph g;
  ir::Op op;
  op.kind = kind;
  for (const auto& shape : inputs) op.inputs.push_back(add_tensor(g, shape));
  for (const auto& shape : outputs) op.outputs.push_back(add_tensor(g, shape));
  op.attributes = std::move(attributes);
  g.ops.push_back(std::move(op));
  return g;
}

ir::Graph pool(ir::PoolAttributes a, std::vector<int32_t> in, std::vector<int32_t> out) {
  return one(ir::OpKind::MaxPool2D, {std::move(in)}, {std::move(out)}, a);
}

ir::PoolAttributes window(int32_t filter, int32_t stride, ir::Pads pads = {},
                          ir::Activation activation = ir::Activation::None) {
  return {pads, stride, stride, filter, filter, activation};
}

TEST(DeviceOps, MaxPool) {
  EXPECT_THAT(device_refusal(pool(window(5, 1, {2, 2, 2, 2}), {1, 8, 9, 20}, {1, 8, 9, 20}), 0, true),
              IsEmpty());
  EXPECT_THAT(device_refusal(pool(window(16, 16), {1, 32, 32, 20}, {1, 2, 2, 20}), 0, true), IsEmpty());
  EXPECT_THAT(device_refusal(pool(window(17, 1), {1, 32, 32, 20}, {1, 16, 16, 20}), 0, true),
              HasSubstr("window 17x17"));
  EXPECT_THAT(device_refusal(pool(window(2, 17), {1, 34, 34, 20}, {1, 2, 2, 20}), 0, true),
              HasSubstr("stride 17x17"));
  EXPECT_THAT(device_refusal(pool(window(16, 1, {7, 8, 7, 8}), {1, 32, 32, 20}, {1, 32, 32, 20}), 0, true),
              HasSubstr("padding of 8"));
  EXPECT_THAT(
      device_refusal(pool(window(2, 2, {}, ir::Activation::Relu), {1, 8, 8, 16}, {1, 4, 4, 16}), 0, true),
      HasSubstr("its activation keeps outputs in -5..127"));
  ir::Graph g = pool(window(2, 2), {1, 8, 8, 16}, {1, 4, 4, 16});
  g.tensors[1].quant.scale[0] = 0.2F;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("different scales"));
  EXPECT_THAT(device_refusal(pool(window(2, 2), {300, 8, 8, 16}, {300, 4, 4, 16}), 0, true),
              HasSubstr("batch of 300"));
  EXPECT_THAT(device_refusal(pool(window(2, 2), {1, 0, 8, 16}, {1, 0, 4, 16}), 0, true), HasSubstr("0x8x16"));
  EXPECT_THAT(device_refusal(pool(window(2, 2), {1, 9000, 8, 16}, {1, 4500, 4, 16}), 0, true),
              HasSubstr("9000x8x16"));
  g = pool(window(2, 2), {1, 8, 8, 16}, {1, 4, 4, 16});
  g.tensors[0].type = g.tensors[1].type = ir::DataType::Float32;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("not int8 or uint8"));
}

TEST(DeviceOps, MaxPoolTask) {
  const ir::Graph g = pool(window(3, 2, {0, 1, 1, 1}), {1, 8, 9, 20}, {1, 4, 5, 20});
  MemoryPlan memory;
  const auto tasks = lower_device_op(g, 0, {}, {{{{3, 256}, 72, 32}}, {{4, 0}, 20, 32}, memory, {}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 1U);
  const auto& t = std::get<rk3588::PoolTask>(tasks->front());
  EXPECT_EQ(std::tie(t.in_width, t.in_height, t.out_width, t.out_height, t.channels),
            std::make_tuple(9, 8, 5, 4, 32));
  // SAME: 8 rows, 4 windows of 3 every 2 need 9: one row below; 9 columns need 11: one on each side.
  EXPECT_EQ(std::tie(t.pad_top, t.pad_bottom, t.pad_left, t.pad_right), std::make_tuple(0, 1, 1, 1));
  EXPECT_EQ(std::tie(t.input.allocation, t.input.offset, t.in_plane, t.output.allocation, t.out_plane),
            std::make_tuple(3, 256, 72, 4, 20));
}

TEST(DeviceOps, ATaskForEachImage) {
  const ir::Graph g = pool(window(2, 2), {3, 8, 6, 16}, {3, 4, 3, 16});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  MemoryPlan memory;
  const auto tasks = lower_device_op(g, 0, {}, {{{{3, 256}, 144, 16}}, {{4, 0}, 36, 16}, memory, {}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 3U);
  const auto& t = std::get<rk3588::PoolTask>(tasks->back());
  EXPECT_EQ(std::tie(t.in_height, t.in_plane, t.input.offset, t.out_plane, t.output.offset),
            std::make_tuple(8, 144, 256 + 2 * 48 * 16, 36, 2 * 12 * 16));
}

TEST(DeviceOps, Concatenation) {
  const auto joined = [](std::vector<std::vector<int32_t>> parts, std::vector<int32_t> out,
                         int32_t axis = 3) {
    return one(ir::OpKind::Concatenation, parts, {std::move(out)},
               ir::ConcatenationAttributes{axis, ir::Activation::None});
  };
  ir::Graph g = joined({{1, 4, 4, 32}, {1, 4, 4, 20}}, {1, 4, 4, 52});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_THAT(misaligned(g, 0, {}), IsEmpty());
  const ir::Graph gaps = joined({{1, 4, 4, 20}, {1, 4, 4, 32}}, {1, 4, 4, 52});
  EXPECT_THAT(device_refusal(gaps, 0, true), IsEmpty());
  EXPECT_THAT(misaligned(gaps, 0, {}), HasSubstr("'t0' has 20 channels and others follow"));
  EXPECT_EQ(channel_order(gaps, 0, {}), ChannelOrder::Joined);
  EXPECT_THAT(device_refusal(joined({{1, 4, 4, 16}, {1, 4, 4, 16}}, {1, 4, 8, 16}, 2), 0, true),
              HasSubstr("dimension 2, neither channels nor"));
  // The first part is where it belongs already: one copy, behind two surfaces of 16 atoms.
  MemoryPlan memory;
  const auto tasks =
      lower_device_op(g, 0, {}, {{{{9, 64}, 16, 32}, {{5, 0}, 16, 32}}, {{9, 64}, 16, 64}, memory, {0, 32}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 1U);
  const auto& t = std::get<rk3588::ElementTask>(tasks->front());
  EXPECT_EQ(std::tie(t.input.allocation, t.channels, t.output.allocation, t.output.offset, t.factor,
                     t.out_scale, t.out_shift),
            std::make_tuple(5, 32, 9, 64 + 2 * 16 * 16, 1, 1, 0));
  g.tensors[1].quant.zero_point[0] = 3;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("another scale"));
  g = joined({{1, 4, 4, 32}, {1, 4, 4, 20}}, {1, 4, 4, 52});
  g.tensors[1].is_constant = true;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("constant"));
}

TEST(DeviceOps, ResizeAndSplit) {
  const auto resized = [](int32_t h, int32_t w, bool align) {
    return one(ir::OpKind::ResizeNearestNeighbor, {{1, 4, 5, 20}}, {{1, h, w, 20}},
               ir::ResizeAttributes{align, false});
  };
  EXPECT_THAT(device_refusal(resized(8, 10, false), 0, true), IsEmpty());
  EXPECT_THAT(device_refusal(resized(12, 15, true), 0, true), HasSubstr("align_corners"));
  EXPECT_THAT(device_refusal(resized(8, 10, true), 0, true),
              IsEmpty());  // round(i * 3 / 7), round(i * 4 / 9)
  EXPECT_THAT(device_refusal(resized(9, 10, false), 0, true),
              HasSubstr("4x5 becomes 9x10: no whole multiple"));
  EXPECT_THAT(device_refusal(resized(44, 10, false), 0, true), HasSubstr("a factor has a prime above 8"));
  EXPECT_THAT(device_refusal(one(ir::OpKind::ResizeNearestNeighbor, {{1, 4, 500, 20}}, {{1, 20, 2500, 20}},
                                 ir::ResizeAttributes{}),
                             0, true),
              HasSubstr("a step of 5 rows has up to 2047 pixels"));
  MemoryPlan memory;
  // Twofold steps as long as both factors are even.
  const auto steps = [&](int32_t h, int32_t w) {
    std::vector<std::pair<int64_t, int64_t>> out;
    const auto made =
        lower_device_op(resized(h, w, false), 0, {}, {{{{1, 0}, 20, 16}}, {{2, 0}, h * w, 16}, memory, {}});
    for (const rk3588::Task& task : *made) {
      const auto& t = std::get<rk3588::UpsampleTask>(task);
      out.emplace_back(t.rows, t.columns);
    }
    return out;
  };
  using Steps = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(steps(16, 15), (Steps{{4, 3}}));
  EXPECT_EQ(steps(16, 20), (Steps{{2, 2}, {2, 2}}));
  EXPECT_EQ(steps(64, 20), (Steps{{2, 2}, {2, 2}, {4, 1}}));
  EXPECT_EQ(steps(4, 45), (Steps{{1, 3}, {1, 3}}));
  const auto tasks =
      lower_device_op(resized(8, 10, false), 0, {}, {{{{1, 0}, 20, 32}}, {{2, 0}, 80, 32}, memory, {}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  EXPECT_EQ(tasks->size(), 2U);  // one a surface
  const auto split = [](std::vector<std::vector<int32_t>> parts) {
    ir::Graph g = one(ir::OpKind::Split, {{1}, {1, 4, 4, 48}}, parts, ir::SplitAttributes{2});
    g.tensors[0].is_constant = true;
    return g;
  };
  EXPECT_THAT(device_refusal(split({{1, 4, 4, 16}, {1, 4, 4, 32}}), 0, true), IsEmpty());
  EXPECT_EQ(device_views(split({{1, 4, 4, 16}, {1, 4, 4, 32}}), 0), (std::vector<int64_t>{0, 16}));
  EXPECT_THAT(misaligned(split({{1, 4, 4, 16}, {1, 4, 4, 32}}), 0, {}), IsEmpty());
  EXPECT_THAT(misaligned(split({{1, 4, 4, 24}, {1, 4, 4, 24}}), 0, {}), HasSubstr("begins at channel 24"));
  EXPECT_EQ(channel_order(split({{1, 4, 4, 24}, {1, 4, 4, 24}}), 0, {}), ChannelOrder::Parts);
  EXPECT_THAT(device_refusal(split({{1, 2, 4, 48}, {1, 2, 4, 48}}), 0, true), HasSubstr("rows or columns"));
}

TEST(DeviceOps, Slices) {
  const auto slice = [](std::vector<int32_t> begin, std::vector<int32_t> out) {
    ir::Graph g = one(ir::OpKind::Slice, {{1, 6, 5, 40}, {4}, {4}}, {out}, ir::NoAttributes{});
    for (const size_t t : {size_t{1}, size_t{2}}) {
      g.tensors[t].type = ir::DataType::Int32;
      g.tensors[t].is_constant = true;
      const std::vector<int32_t>& values = t == 1 ? begin : out;
      g.tensors[t].data.resize(16);
      std::memcpy(g.tensors[t].data.data(), values.data(), 16);
    }
    return g;
  };
  // Channels: a part of the input.
  ir::Graph g = slice({0, 0, 0, 20}, {1, 6, 5, 12});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(device_views(g, 0), (std::vector<int64_t>{20}));
  EXPECT_THAT(misaligned(g, 0, {}), HasSubstr("begins at channel 20"));
  // Rows 2 to 4: a copy that begins 2 rows of 5 pixels behind the input's start.
  g = slice({0, 2, 0, 0}, {1, 3, 5, 40});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(channel_order(g, 0, {}), ChannelOrder::Kept);
  MemoryPlan memory;
  const auto tasks = lower_device_op(g, 0, {}, {{{{3, 256}, 30, 48}}, {{4, 0}, 15, 48}, memory, {}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  const auto& t = std::get<rk3588::ElementTask>(tasks->front());
  EXPECT_EQ(std::tie(t.width, t.height, t.channels, t.input.offset, t.in_plane, t.out_plane),
            std::make_tuple(5, 3, 48, 256 + 2 * 5 * 16, 30, 15));
  // Columns, and channels of some rows: convolutions that read lines of what they take.
  g = slice({0, 1, 1, 0}, {1, 3, 4, 40});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(channel_order(g, 0, {}), ChannelOrder::Ordered);
  const auto columns = lower_device_op(g, 0, {}, {{{{3, 256}, 30, 48}}, {{4, 0}, 12, 48}, memory, {}});
  ASSERT_TRUE(columns) << columns.error().text();
  const auto& c = std::get<rk3588::ConvTask>(columns->front());
  EXPECT_EQ(std::tie(c.in_width, c.in_height, c.line, c.input.offset, c.out_width, c.out_height),
            std::make_tuple(4, 3, 5, 256 + (5 + 1) * 16, 4, 3));
  EXPECT_EQ(channel_order(slice({0, 1, 0, 0}, {1, 4, 5, 16}), 0, {}), ChannelOrder::Ordered);
  // Channels that a reader wants in order.
  g = slice({0, 0, 0, 20}, {1, 6, 5, 12});
  DeviceForm ordered = form_of(g, 0, true);
  EXPECT_TRUE(order_by_tasks(g, 0, ordered));
  EXPECT_EQ(channel_order(g, 0, ordered), ChannelOrder::Ordered);
  // x[:, newaxis, :, 2, :] of a square map: the output's shape is that of a range of rows.
  g = one(ir::OpKind::StridedSlice, {{1, 5, 5, 16}, {5}, {5}, {5}}, {{1, 1, 5, 16}},
          ir::StridedSliceAttributes{0, 0, 0, 2, 8, false});
  const std::vector<std::vector<int32_t>> operands{{0, 0, 0, 2, 0}, {1, 0, 5, 3, 16}, {1, 1, 1, 1, 1}};
  for (size_t i = 1; i < 4; ++i) {
    g.tensors[i].type = ir::DataType::Int32;
    g.tensors[i].is_constant = true;
    g.tensors[i].data.resize(20);
    std::memcpy(g.tensors[i].data.data(), operands[i - 1].data(), 20);
  }
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(channel_order(g, 0, {}), ChannelOrder::Ordered);  // column 2 of every row, not row 2
  g = slice({0, 2, 0, 0}, {1, 3, 5, 40});
  g.tensors[1].is_constant = false;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("begin input"));
}

TEST(DeviceOps, Reshapes) {
  const auto reshape = [](std::vector<int32_t> in, std::vector<int32_t> out) {
    return one(ir::OpKind::Reshape, {std::move(in)}, {std::move(out)}, ir::NoAttributes{});
  };
  const auto order = [](const ir::Graph& g) { return channel_order(g, 0, form_of(g, 0, true)); };
  // A pixel keeps its channels: a view.
  for (const ir::Graph& g : {reshape({1, 1, 1, 40}, {1, 40}), reshape({1, 6, 5, 40}, {1, 30, 40}),
                             reshape({1, 30, 40}, {3, 2, 5, 40}), reshape({1, 100, 300, 8}, {30000, 8})}) {
    EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
    EXPECT_EQ(device_views(g, 0), std::vector<int64_t>{0});
    EXPECT_EQ(order(g), ChannelOrder::Parts);
  }
  // All pixels become one: a view whose channels are in slots of their own, unless a reader wants them in
  // order.
  ir::Graph g = reshape({1, 6, 5, 40}, {1, 1200});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(order(g), ChannelOrder::Flat);
  EXPECT_THAT(misaligned(g, 0, {}), HasSubstr("the 40 channels of a pixel of 't0' do not follow"));
  DeviceForm form = form_of(g, 0, true);
  EXPECT_TRUE(order_by_tasks(g, 0, form));
  EXPECT_EQ(channel_order(g, 0, form), ChannelOrder::Ordered);
  g = reshape({1, 32, 1, 4}, {1, 128});
  EXPECT_FALSE(order_by_tasks(g, 0, form));  // a window has 31 pixels
  EXPECT_THAT(misaligned(reshape({1, 6, 5, 16}, {1, 480}), 0, {}), IsEmpty());
  EXPECT_THAT(device_refusal(reshape({1, 40, 40, 16}, {1, 25600}), 0, true),
              HasSubstr("1600 pixels of 16 channels take 25600 slots of one pixel, up to 16384"));
  // A pixel becomes several, or several one.
  EXPECT_EQ(order(reshape({1, 20, 20, 255}, {1, 1200, 85})), ChannelOrder::Ordered);
  EXPECT_EQ(order(reshape({1, 1200, 85}, {1, 20, 20, 255})), ChannelOrder::Ordered);
  EXPECT_THAT(device_refusal(reshape({1, 2, 2, 34}, {1, 68, 2}), 0, true), HasSubstr("a pixel becomes 17"));
  EXPECT_THAT(device_refusal(reshape({1, 68, 1, 2}, {1, 2, 1, 68}), 0, true),
              HasSubstr("windows of 34 pixels"));
  EXPECT_THAT(device_refusal(reshape({1, 4, 3, 4}, {1, 8, 6}), 0, true), HasSubstr("neither is a multiple"));
  EXPECT_THAT(device_refusal(reshape({1, 1, 1, 9000}, {1, 9000}), 0, true), HasSubstr("and 8176 channels"));
  EXPECT_THAT(device_refusal(reshape({1, 2, 2, 2, 8}, {1, 8, 8}), 0, true), HasSubstr("has 5 dimensions"));
  g = reshape({1, 1, 1, 40}, {1, 40});
  g.tensors[1].quant.zero_point[0] = 3;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("has another scale than the input"));
}

TEST(DeviceOps, PixelsOfAnyShape) {
  const auto map = [](std::vector<int32_t> shape) {
    ir::Tensor t;
    t.shape = std::move(shape);
    const ir::Nhwc m = pixel_map(t);
    return std::array{m.n, m.h, m.w, m.c};
  };
  using Map = std::array<int64_t, 4>;
  EXPECT_EQ(map({1, 20, 30, 8}), (Map{1, 20, 30, 8}));
  EXPECT_EQ(map({3, 20, 30, 8}), (Map{1, 60, 30, 8}));
  EXPECT_EQ(map({1, 4096, 8}), (Map{1, 1, 4096, 8}));
  EXPECT_EQ(map({1, 25200, 85}), (Map{1, 7, 3600, 85}));  // the largest divisor up to 4096
  EXPECT_EQ(map({4099, 8}), (Map{1, 4099, 1, 8}));        // a prime
  EXPECT_EQ(map({40}), (Map{1, 1, 1, 40}));
  const auto relu = [](std::vector<int32_t> shape) {
    return one(ir::OpKind::Relu, {shape}, {shape}, ir::NoAttributes{});
  };
  EXPECT_THAT(device_refusal(relu({1, 25200, 85}), 0, true), IsEmpty());
  EXPECT_THAT(device_refusal(relu({8209, 85}), 0, true), HasSubstr("1x8209x85"));  // a prime
  EXPECT_THAT(device_refusal(relu({1, 2, 3, 4, 5}), 0, true), HasSubstr("5 dimensions"));
}

TEST(DeviceOps, StackedPixels) {
  const ir::Graph g = one(ir::OpKind::Concatenation, {{1, 4, 20}, {1, 6, 20}}, {{1, 10, 20}},
                          ir::ConcatenationAttributes{1, ir::Activation::None});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(channel_order(g, 0, {}), ChannelOrder::Stacked);
  const Layout plain = plain_layout(20);
  Layout gap{48, {}};
  for (int32_t c = 0; c < 20; ++c) gap.slot_of.push_back(c < 10 ? c : c + 22);
  EXPECT_EQ(stacked_layout(std::vector{gap, gap}, 20), gap);
  EXPECT_EQ(stacked_layout(std::vector{plain, gap}, 20), plain);
  // Layouts that differ: convolutions, behind 4 atoms the second.
  MemoryPlan memory;
  const auto tasks = lower_device_op(
      g, 0, {}, {{{{1, 0}, 4, 32}, {{2, 0}, 6, 48}}, {{3, 64}, 10, 32}, memory, {}, {plain, gap}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 2U);
  const auto& t = std::get<rk3588::ConvTask>(tasks->back());
  EXPECT_EQ(std::tie(t.in_channels, t.out_channels, t.out_channels_real, t.out_plane, t.output.offset),
            std::make_tuple(48, 32, 20, 10, 64 + 4 * 16));
}

TEST(DeviceOps, Pads) {
  const auto pad = [](std::vector<int32_t> amounts, std::vector<int32_t> out) {
    ir::Graph g = one(ir::OpKind::Pad, {{1, 6, 5, 40}, {4, 2}}, {std::move(out)}, ir::NoAttributes{});
    g.tensors[1].type = ir::DataType::Int32;
    g.tensors[1].is_constant = true;
    g.tensors[1].data.resize(32);
    std::memcpy(g.tensors[1].data.data(), amounts.data(), 32);
    return g;
  };
  ir::Graph g = pad({0, 0, 1, 0, 0, 1, 0, 0}, {1, 7, 6, 40});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(channel_order(g, 0, {}), ChannelOrder::Kept);
  MemoryPlan memory;
  const auto tasks = lower_device_op(g, 0, {}, {{{{3, 0}, 30, 48}}, {{4, 0}, 42, 48}, memory, {}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 1U);
  const auto& t = std::get<rk3588::ConvTask>(tasks->front());
  EXPECT_EQ(std::tie(t.depthwise, t.kernel_width, t.kernel_height, t.pad_left, t.pad_top, t.pad_value,
                     t.out_width, t.out_height),
            std::make_tuple(true, 2, 2, 1, 1, -5, 6, 7));
  EXPECT_EQ(channel_order(pad({0, 0, 0, 0, 0, 0, 0, 8}, {1, 6, 5, 48}), 0, {}), ChannelOrder::Ordered);
  EXPECT_THAT(device_refusal(pad({0, 0, 60, 0, 0, 0, 0, 0}, {1, 66, 5, 40}), 0, true), IsEmpty());
  EXPECT_THAT(device_refusal(pad({0, 0, 60, 1, 0, 0, 0, 0}, {1, 67, 5, 40}), 0, true),
              HasSubstr("take 5 passes"));
  EXPECT_THAT(device_refusal(pad({0, 0, 0, 0, 0, 0, 0, 9000}, {1, 6, 5, 9040}), 0, true),
              HasSubstr("channels"));
}

TEST(DeviceOps, Arithmetic) {
  const auto sum = [](ir::Activation activation) {
    return one(ir::OpKind::Add, {{1, 4, 4, 16}, {1, 4, 4, 16}}, {{1, 4, 4, 16}},
               ir::BinaryAttributes{activation});
  };
  EXPECT_THAT(device_refusal(sum(ir::Activation::None), 0, false), IsEmpty());
  EXPECT_THAT(device_refusal(sum(ir::Activation::Relu), 0, false), IsEmpty());
  EXPECT_THAT(device_refusal(sum(ir::Activation::Relu6), 0, false), HasSubstr("outputs are kept in -5..55"));
  // Equal scales add exactly, others round otherwise here and there.
  EXPECT_THAT(device_refusal(sum(ir::Activation::None), 0, true), IsEmpty());
  ir::Graph g = sum(ir::Activation::None);
  g.tensors[1].quant.scale[0] = 0.0731F;
  g.tensors[2].quant.scale[0] = 0.1312F;
  EXPECT_THAT(device_refusal(g, 0, false), IsEmpty());
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("of 65536 inputs would give another value"));
  g.tensors[1].shape = {1, 4, 1, 16};
  EXPECT_THAT(device_refusal(g, 0, false), HasSubstr("'t1' is 4x1x16, the output 4x4x16: one pixel or one"));
  // A constant: as large as the output in memory, unless it is one value.
  g.tensors[1].shape = {1, 1, 1, 2};
  g.tensors[1].is_constant = true;
  g.tensors[1].data = {3, 4};
  g.tensors[0].shape = g.tensors[2].shape = {1, 8191, 8191, 2};
  EXPECT_THAT(device_refusal(g, 0, false), HasSubstr("takes 1073479696 bytes, up to 67108864"));
  g.tensors[1].data = {3, 3};
  EXPECT_THAT(device_refusal(g, 0, false), IsEmpty());
  EXPECT_THAT(
      device_refusal(one(ir::OpKind::Softmax, {{1, 10}}, {{1, 10}}, ir::SoftmaxAttributes{}), 0, false),
      HasSubstr("softmax has no form on the NPU"));
}

TEST(DeviceOps, Tables) {
  ir::Graph g = one(ir::OpKind::HardSwish, {{1, 4, 4, 20}}, {{1, 4, 4, 20}}, ir::NoAttributes{});
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_THAT(form_of(g, 0, true, {.tables = false}).refusal,
              HasSubstr("look-up tables were not to be used"));
  g.tensors[0].quant.scale[0] = 0;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("'t0' has not one positive scale"));
  for (const ir::OpKind kind : {ir::OpKind::Elu, ir::OpKind::Log, ir::OpKind::Gelu, ir::OpKind::Exp}) {
    const ir::Attributes attributes =
        kind == ir::OpKind::Gelu ? ir::Attributes{ir::GeluAttributes{}} : ir::NoAttributes{};
    EXPECT_NE(form_of(one(kind, {{1, 4, 4, 20}}, {{1, 4, 4, 20}}, attributes), 0, true).table, nullptr);
  }
  EXPECT_THAT(
      device_refusal(one(ir::OpKind::Tanh, {{1, 1, 1, 4, 20}}, {{1, 1, 1, 4, 20}}, ir::NoAttributes{}), 0,
                     false),
      HasSubstr("has 5 dimensions"));
  // Arithmetic where it is allowed to be off by 1, the table where it is not.
  g = one(ir::OpKind::LeakyRelu, {{1, 4, 4, 16}}, {{1, 4, 4, 16}}, ir::LeakyReluAttributes{0.1F});
  g.tensors[0].quant.scale[0] = 0.0731F;
  EXPECT_EQ(form_of(g, 0, false).table, nullptr);
  EXPECT_NE(form_of(g, 0, true).table, nullptr);
  EXPECT_THAT(form_of(g, 0, true, {.tables = false}).refusal,
              HasSubstr("of 256 inputs would give another value"));
  // A function of one value when the other operand is one constant.
  g = one(ir::OpKind::Prelu, {{1, 4, 4, 16}, {1, 1, 1}}, {{1, 4, 4, 16}}, ir::NoAttributes{});
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("computed at run time"));
  g.tensors[1].is_constant = true;
  g.tensors[1].data = {7};
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(device_inputs(g, 0, form_of(g, 0, true)), std::vector<int32_t>{0});
  g.tensors[1].shape = {1, 1, 16};
  g.tensors[1].data.resize(16);
  EXPECT_EQ(form_of(g, 0, false).table, nullptr);  // several values: an operand from memory
  EXPECT_EQ(form_of(g, 0, true).table, nullptr);
}

}  // namespace
}  // namespace peraxis::lower
