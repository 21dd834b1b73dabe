// Which operators the NPU takes beside convolutions, and why not the others.
#include "lower/device_op.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace peraxis::lower {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string device_refusal(const ir::Graph& graph, size_t op, bool exact) {
  return device_form(graph, op, exact).refusal;
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

ir::PoolAttributes window(int32_t filter, int32_t stride, ir::Padding padding = ir::Padding::Same,
                          ir::Activation activation = ir::Activation::None) {
  return {padding, stride, stride, filter, filter, activation};
}

TEST(DeviceOps, MaxPool) {
  EXPECT_THAT(device_refusal(pool(window(5, 1), {1, 8, 9, 20}, {1, 8, 9, 20}), 0, true), IsEmpty());
  EXPECT_THAT(device_refusal(pool(window(16, 16), {1, 32, 32, 20}, {1, 2, 2, 20}), 0, true), IsEmpty());
  EXPECT_THAT(
      device_refusal(pool(window(17, 1, ir::Padding::Valid), {1, 32, 32, 20}, {1, 16, 16, 20}), 0, true),
      HasSubstr("window 17x17"));
  EXPECT_THAT(device_refusal(pool(window(2, 17), {1, 34, 34, 20}, {1, 2, 2, 20}), 0, true),
              HasSubstr("stride 17x17"));
  EXPECT_THAT(device_refusal(pool(window(16, 1), {1, 32, 32, 20}, {1, 32, 32, 20}), 0, true),
              HasSubstr("padding of 8"));
  EXPECT_THAT(
      device_refusal(
          pool(window(2, 2, ir::Padding::Same, ir::Activation::Relu), {1, 8, 8, 16}, {1, 4, 4, 16}), 0, true),
      HasSubstr("its activation keeps outputs in -5..127"));
  ir::Graph g = pool(window(2, 2), {1, 8, 8, 16}, {1, 4, 4, 16});
  g.tensors[1].quant.scale[0] = 0.2F;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("different scales"));
  EXPECT_THAT(device_refusal(pool(window(2, 2), {2, 8, 8, 16}, {2, 4, 4, 16}), 0, true),
              HasSubstr("batch of 2"));
  EXPECT_THAT(device_refusal(pool(window(2, 2), {1, 0, 8, 16}, {1, 0, 4, 16}), 0, true), HasSubstr("0x8x16"));
  EXPECT_THAT(device_refusal(pool(window(2, 2), {1, 9000, 8, 16}, {1, 4500, 4, 16}), 0, true),
              HasSubstr("9000x8x16"));
  g = pool(window(2, 2), {1, 8, 8, 16}, {1, 4, 4, 16});
  g.tensors[0].type = g.tensors[1].type = ir::DataType::Float32;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("not int8 or uint8"));
}

TEST(DeviceOps, MaxPoolTask) {
  const ir::Graph g = pool(window(3, 2), {1, 8, 9, 20}, {1, 4, 5, 20});
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
  EXPECT_THAT(device_refusal(joined({{1, 4, 4, 16}, {1, 4, 4, 16}}, {1, 8, 4, 16}, 1), 0, true),
              HasSubstr("dimension 1"));
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
  EXPECT_THAT(device_refusal(resized(8, 10, true), 0, true), HasSubstr("align_corners"));
  EXPECT_THAT(device_refusal(resized(9, 10, false), 0, true),
              HasSubstr("4x5 becomes 9x10: no whole multiple"));
  EXPECT_THAT(device_refusal(resized(44, 10, false), 0, true), HasSubstr("a factor has a prime above 8"));
  EXPECT_THAT(device_refusal(resized(32, 5 * 2048, false), 0, true), HasSubstr("up to 8191 pixels"));
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
  EXPECT_THAT(device_refusal(slice({0, 0, 1, 0}, {1, 6, 4, 40}), 0, true), HasSubstr("4 of 5 columns"));
  EXPECT_THAT(device_refusal(slice({0, 1, 0, 0}, {1, 4, 5, 16}), 0, true),
              HasSubstr("4 of 6 rows and 16 of 40 channels"));
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
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("leaves dimensions out"));
  g = slice({0, 2, 0, 0}, {1, 3, 5, 40});
  g.tensors[1].is_constant = false;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("begin input"));
}

TEST(DeviceOps, ReshapesOfOnePixel) {
  const auto reshape = [](std::vector<int32_t> in, std::vector<int32_t> out) {
    return one(ir::OpKind::Reshape, {std::move(in)}, {std::move(out)}, ir::NoAttributes{});
  };
  EXPECT_THAT(device_refusal(reshape({1, 1, 1, 40}, {1, 40}), 0, true), IsEmpty());
  EXPECT_EQ(device_views(reshape({1, 1, 1, 40}, {1, 40}), 0), std::vector<int64_t>{0});
  EXPECT_THAT(device_refusal(reshape({1, 2, 1, 40}, {1, 80}), 0, true), HasSubstr("80 values, 40 of them"));
  EXPECT_THAT(device_refusal(reshape({1, 40}, {1, 1, 2, 20}), 0, true), HasSubstr("40 values, 20 of them"));
  EXPECT_THAT(device_refusal(reshape({1, 1, 1, 9000}, {1, 9000}), 0, true), HasSubstr("up to 8176"));
  ir::Graph g = reshape({1, 1, 1, 40}, {1, 40});
  g.tensors[1].quant.zero_point[0] = 3;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("different scales"));
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
  EXPECT_THAT(device_form(g, 0, true, {.tables = false}).refusal,
              HasSubstr("look-up tables were not to be used"));
  g.tensors[0].quant.scale[0] = 0;
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("'t0' has not one positive scale"));
  EXPECT_THAT(device_refusal(one(ir::OpKind::Tanh, {{4, 20}}, {{4, 20}}, ir::NoAttributes{}), 0, false),
              HasSubstr("has 2 dimensions, not 4"));
  EXPECT_THAT(
      device_refusal(one(ir::OpKind::HardSwish, {{1, 1, 4097, 4}}, {{1, 1, 4097, 4}}, ir::NoAttributes{}), 0,
                     true),
      HasSubstr("a map 4097 wide exceeds the 4096 columns"));
  // Arithmetic where it is allowed to be off by 1, the table where it is not.
  g = one(ir::OpKind::LeakyRelu, {{1, 4, 4, 16}}, {{1, 4, 4, 16}}, ir::LeakyReluAttributes{0.1F});
  g.tensors[0].quant.scale[0] = 0.0731F;
  EXPECT_EQ(device_form(g, 0, false).table, nullptr);
  EXPECT_NE(device_form(g, 0, true).table, nullptr);
  EXPECT_THAT(device_form(g, 0, true, {.tables = false}).refusal,
              HasSubstr("of 256 inputs would give another value"));
  // A function of one value when the other operand is one constant.
  g = one(ir::OpKind::Prelu, {{1, 4, 4, 16}, {1, 1, 1}}, {{1, 4, 4, 16}}, ir::NoAttributes{});
  EXPECT_THAT(device_refusal(g, 0, true), HasSubstr("computed at run time"));
  g.tensors[1].is_constant = true;
  g.tensors[1].data = {7};
  EXPECT_THAT(device_refusal(g, 0, true), IsEmpty());
  EXPECT_EQ(device_inputs(g, 0, device_form(g, 0, true)), std::vector<int32_t>{0});
  g.tensors[1].shape = {1, 1, 16};
  g.tensors[1].data.resize(16);
  EXPECT_EQ(device_form(g, 0, false).table, nullptr);  // several values: an operand from memory
  EXPECT_EQ(device_form(g, 0, true).table, nullptr);
}

}  // namespace
}  // namespace peraxis::lower
