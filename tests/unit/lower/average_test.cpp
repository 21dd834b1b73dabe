// Averages: which windows become convolutions, which tasks of the PPU, which stay on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forms.hpp"
#include "lower/device_op.hpp"
#include "lower/window_sums.hpp"

namespace peraxis::lower {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

int32_t add_tensor(ir::Graph& g, std::vector<int32_t> shape, float scale = 0.1F, int64_t zero_point = -5) {
  ir::Tensor t;
  t.name = fmt::format("t{}", g.tensors.size());
  t.shape = std::move(shape);
  t.quant = {{scale}, {zero_point}, 0};
  g.tensors.push_back(std::move(t));
  return static_cast<int32_t>(g.tensors.size() - 1);
}

ir::Graph pool(int32_t filter, int32_t stride, ir::Pads pads, std::vector<int32_t> in,
               std::vector<int32_t> out, ir::Activation activation = ir::Activation::None) {
  ir::Graph g;
  ir::Op op;
  op.kind = ir::OpKind::AveragePool2D;
  op.inputs = {add_tensor(g, std::move(in))};
  op.outputs = {add_tensor(g, std::move(out))};
  op.attributes = ir::PoolAttributes{pads, stride, stride, filter, filter, activation};
  g.ops.push_back(std::move(op));
  return g;
}

ir::Graph mean(std::vector<int32_t> in, std::vector<int32_t> axes, std::vector<int32_t> out, float scale) {
  ir::Graph g;
  ir::Op op;
  op.kind = ir::OpKind::Mean;
  op.inputs = {add_tensor(g, std::move(in)), 1};
  ir::Tensor t;
  t.name = "axes";
  t.type = ir::DataType::Int32;
  t.shape = {static_cast<int32_t>(axes.size())};
  t.is_constant = true;
  for (const int32_t axis : axes)
    for (int byte = 0; byte < 4; ++byte)
      t.data.push_back(static_cast<uint8_t>(static_cast<uint32_t>(axis) >> (8 * byte)));
  g.tensors.push_back(std::move(t));
  op.outputs = {add_tensor(g, std::move(out), scale)};
  op.attributes = ir::ReduceAttributes{false};
  g.ops.push_back(std::move(op));
  return g;
}

TEST(AverageForms, Windows) {
  constexpr ir::Pads kNone;
  for (const int32_t filter : {1, 2, 3, 5, 6, 7, 8, 31}) {
    const DeviceForm form =
        form_of(pool(filter, 1, kNone, {1, 31, 31, 20}, {1, 32 - filter, 32 - filter, 20}), 0, true);
    EXPECT_THAT(form.refusal, IsEmpty()) << filter;
    EXPECT_FALSE(form.ppu);
    ASSERT_EQ(form.averages.size(), 1U);
    EXPECT_EQ(form.averages[0].certificate.differing, 0) << filter;
    EXPECT_TRUE(form.averages[0].every_reading) << filter;
    EXPECT_EQ(form.averages[0].certificate.values, 255 * filter * filter + 1);
    EXPECT_EQ(form.slot_group, 64);
  }
  // Nine, six and four pixels.
  EXPECT_EQ(form_of(pool(3, 2, {0, 1, 0, 1}, {1, 8, 8, 20}, {1, 4, 4, 20}), 0, true).averages.size(), 3U);
  EXPECT_THAT(form_of(pool(9, 1, {4, 4, 4, 4}, {1, 20, 20, 20}, {1, 20, 20, 20}), 0, false).refusal,
              HasSubstr("15 different numbers of pixels; up to 10"));
  // Same padding that pads nothing, and a window larger than the map it covers.
  EXPECT_THAT(form_of(pool(2, 2, kNone, {1, 8, 8, 20}, {1, 4, 4, 20}), 0, true).refusal, IsEmpty());
  EXPECT_THAT(form_of(pool(9, 9, {1, 1, 1, 1}, {1, 7, 7, 20}, {1, 1, 1, 20}), 0, true).refusal, IsEmpty());
  // A stride beyond a convolution's: the PPU, whose rounding of ties shows with even windows.
  EXPECT_TRUE(form_of(pool(3, 8, kNone, {1, 27, 27, 20}, {1, 4, 4, 20}), 0, true).ppu);
  EXPECT_THAT(form_of(pool(3, 8, kNone, {1, 27, 27, 20}, {1, 4, 4, 20}), 0, true, {.ppu = false}).refusal,
              HasSubstr("PPU"));
  EXPECT_TRUE(form_of(pool(2, 8, kNone, {1, 26, 26, 20}, {1, 4, 4, 20}), 0, false).ppu);
  EXPECT_THAT(form_of(pool(2, 8, kNone, {1, 26, 26, 20}, {1, 4, 4, 20}), 0, true).refusal,
              HasSubstr("stride 8x8 exceeds a convolution's 7"));
  EXPECT_THAT(form_of(pool(32, 1, kNone, {1, 40, 40, 20}, {1, 9, 9, 20}), 0, false).refusal,
              HasSubstr("window 32x32"));
}

TEST(AverageForms, Means) {
  EXPECT_THAT(form_of(mean({1, 7, 7, 20}, {1, 2}, {1, 20}, 0.08F), 0, false).refusal, IsEmpty());
  EXPECT_THAT(form_of(mean({1, 7, 7, 20}, {3}, {1, 7, 7}, 0.08F), 0, false).refusal,
              HasSubstr("it averages over dimension 3"));
  const ir::Graph large = mean({1, 56, 56, 20}, {1, 2}, {1, 20}, 0.08F);
  EXPECT_THAT(form_of(large, 0, true).refusal, HasSubstr("3136 pixels become one"));
  EXPECT_EQ(form_of(large, 0, false).averages.size(), 2U);
  // Output steps so fine that rounded means of parts would show.
  EXPECT_THAT(form_of(mean({1, 56, 56, 20}, {1, 2}, {1, 20}, 0.02F), 0, false).refusal,
              HasSubstr("could be off by more than 1"));
}

TEST(AverageForms, PlanesAsOtherRows) {
  EXPECT_EQ(one_window(7, 7)->taps(), 49);
  EXPECT_EQ(one_window(1, 900)->taps(), 900);
  EXPECT_FALSE(one_window(1, 37));   // prime, and more than a kernel is wide
  EXPECT_FALSE(one_window(32, 32));  // more than 31 x 31
  const auto stages = two_stages(112, 112, 64, 1.5);
  ASSERT_TRUE(stages);
  EXPECT_FALSE(stages->bands);
  EXPECT_EQ(stages->first.out_h * stages->first.out_w, stages->second.taps());
  EXPECT_GE(stages->spread, 1.0);
  EXPECT_LE(stages->spread, 1.5);
  EXPECT_TRUE(two_stages(640, 640, 16, 1.5)->bands);
  EXPECT_FALSE(two_stages(640, 640, 16, 0.9));
}

TEST(AverageForms, Tasks) {
  const ir::Graph g = pool(3, 2, {}, {1, 9, 11, 80}, {1, 4, 5, 80});
  const DeviceForm form = form_of(g, 0, true);
  MemoryPlan memory;
  const int32_t in = memory.add_activation(1), out = memory.add_activation(1);
  const auto tasks = lower_device_op(g, 0, form, {{{{in, 256}, 99, 32}}, {{out, 0}, 20, 32}, memory, {}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  ASSERT_EQ(tasks->size(), 1U);
  const auto& t = std::get<rk3588::ConvTask>(tasks->front());
  EXPECT_TRUE(t.depthwise);
  EXPECT_EQ(std::tie(t.in_width, t.in_height, t.in_plane, t.in_channels, t.out_channels),
            std::make_tuple(11, 9, 99, 80, 128));
  EXPECT_EQ(std::tie(t.kernel_width, t.stride_x, t.out_width, t.out_height, t.weight_bytes),
            std::make_tuple(3, 2, 5, 4, 9 * 80));
  EXPECT_EQ(std::tie(t.input.allocation, t.input.offset, t.output.allocation), std::make_tuple(in, 256, out));
}

// Every image has the tasks of the first, moved, with the same constants; input and output may be parts of
// one allocation. Each image alone, lowered at its own place, is the witness.
TEST(AverageForms, ImagesShareConstants) {
  constexpr int64_t kImages = 5;
  const ir::Graph batch = pool(3, 2, {}, {kImages, 9, 11, 80}, {kImages, 4, 5, 80});
  const ir::Graph one = pool(3, 2, {}, {1, 9, 11, 80}, {1, 4, 5, 80});
  const DeviceForm form = form_of(batch, 0, true);
  MemoryPlan memory, memory_of_one;
  const int32_t both = memory.add_activation(1);
  ASSERT_EQ(memory_of_one.add_activation(1), both);
  const CubeAt in{{both, 256}, 99 * kImages, 80}, out{{both, 900000}, 20 * kImages, 80};
  const auto tasks = lower_device_op(batch, 0, form, {{in}, out, memory, {}});
  ASSERT_TRUE(tasks) << tasks.error().text();
  ASSERT_EQ(tasks->size(), static_cast<size_t>(kImages));
  for (int64_t image = 0; image < kImages; ++image) {
    CubeAt in_here = in, out_here = out;
    in_here.address.offset += image * 99 * 16;
    out_here.address.offset += image * 20 * 16;
    MemoryPlan unused;
    unused.add_activation(1);
    MemoryPlan& own = image == 0 ? memory_of_one : unused;
    const auto alone = lower_device_op(one, 0, form, {{in_here}, out_here, own, {}});
    ASSERT_TRUE(alone) << alone.error().text();
    const auto& t = std::get<rk3588::ConvTask>((*tasks)[static_cast<size_t>(image)]);
    const auto& want = std::get<rk3588::ConvTask>(alone->front());
    for (const auto& [got, wanted] : {std::pair{t.input, want.input},
                                      {t.output, want.output},
                                      {t.weights, want.weights},
                                      {t.operands, want.operands}})
      EXPECT_EQ(std::tie(got.allocation, got.offset), std::tie(wanted.allocation, wanted.offset));
    EXPECT_EQ(std::tie(t.in_plane, t.out_plane, t.in_width, t.in_height, t.out_channels),
              std::tie(want.in_plane, want.out_plane, want.in_width, want.in_height, want.out_channels));
  }
  EXPECT_EQ(memory.take_constants(), memory_of_one.take_constants());
}

}  // namespace
}  // namespace peraxis::lower
