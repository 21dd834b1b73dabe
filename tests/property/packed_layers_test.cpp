// First layers of 1 to 4 channels whose picture the chip reads as it lies, against the reference kernels and
// against the same layer over a cube: how its input gets into CBUF changes no output, whatever the strategy.
#include <gtest/gtest.h>

#include "command_words.hpp"
#include "graph_builder.hpp"
#include "requant/strategy.hpp"

namespace peraxis::property {
namespace {

using namespace rk3588;

// What a body of tests has seen: without them nothing would be tested.
struct Seen {
  int packed = 0, layers = 0, tiles = 0, sets = 0, uint8 = 0, odd_widths = 0, images = 0;
};

// Convolution or, over one channel, depthwise; widths with and without rests beyond 16.
Case first_layer(uint64_t seed) {
  base::Rng choice(seed);
  Builder b(choice.next(), choice.one_in(3));
  Layer l;
  random_quantization(b, l);
  const int32_t depth = b.pick({1, 2, 3, 3, 3, 4});
  l.kind = depth == 1 && b.rng().one_in(2) ? ir::OpKind::DepthwiseConv2D : ir::OpKind::Conv2D;
  l.outputs = b.pick({1, 8, 16, 17, 32, 33, 70});
  Case out;
  set_tiles(b, out);
  const auto h = static_cast<int32_t>(b.rng().uniform(2, 14));
  const int32_t w = b.rng().one_in(3) ? b.pick({16, 32, 48}) : static_cast<int32_t>(b.rng().uniform(5, 41));
  random_geometry(b, l, h, w);
  if (b.rng().one_in(5)) {
    l.attributes.dilation_w = b.pick({1, 2});
    l.attributes.pads.rule = ir::Pads::Rule::Even;
    l.attributes.dilation_h = 2;
  }
  const int64_t macs_a_pixel = int64_t{l.kernel_h} * l.kernel_w * l.outputs * depth;
  if (int64_t{h} * w * macs_a_pixel > 2 * kMaxMacs) l.outputs = 5;
  const int32_t images = b.rng().one_in(6) ? 2 : 1;
  b.graph().outputs = {b.layer(b.input({images, h, w, depth}), l)};
  return finish(b, seed, std::move(out));
}

const exe::Placement* packed_placement(const exe::Executable& executable) {
  const exe::Placement* found = nullptr;
  for (const exe::Placement& placement : executable.placements)
    if (placement.packed()) {
      EXPECT_EQ(found, nullptr) << "uploaded twice";
      found = &placement;
    }
  return found;
}

// Registers of every task against the picture: mode, pitch, and rows that lie in it.
void check_words(const exe::Executable& executable, const exe::Placement& picture, Seen& seen) {
  for (const exe::Task& task : executable.tasks) {
    const TaskWords words(executable, task);
    EXPECT_EQ(words.get(CNA::CONV_CON1::ARGB_IN), 7 + picture.c);
    EXPECT_EQ(words.get(CNA::CONV_CON1::NONALIGN_DMA), 1);
    EXPECT_EQ(words.get(CNA::CONV_CON1::GROUP_LINE_OFF), 1);
    EXPECT_EQ(words.get(CNA::CVT_CON0::CVT_BYPASS), 1);
    EXPECT_EQ(words.get(CNA::DMA_CON1::LINE_STRIDE), picture.pitch);
    const int64_t rows = words.get(CNA::DATA_SIZE0::DATAIN_HEIGHT);
    EXPECT_EQ(words.get(CNA::CBUF_CON1::DATA_ENTRIES), rows * picture.cube.w);
    const Place from = words.place(CNA::FEATURE_DATA_ADDR::FEATURE_BASE_ADDR);
    EXPECT_EQ(from.buffer, picture.cube.buffer);
    const int64_t row = picture.pitch * picture.c, first = (from.offset - picture.cube.offset) / row;
    EXPECT_EQ((from.offset - picture.cube.offset) % row, 0);
    EXPECT_EQ(from.offset % 16, 0);
    EXPECT_GE(first, 0);
    EXPECT_LE(first + rows, picture.cube.h);
    seen.tiles += first > 0 ? 1 : 0;
    seen.sets += task.set > 0 ? 1 : 0;
  }
}

void check_layer(const Case& test, num::Reference reference, Seen& seen) {
  SCOPED_TRACE(test.text());
  const auto want = run_on_kernels(test, kernels::Path::Reference, reference);
  ASSERT_TRUE(want) << want.error().text();
  for (const std::string& name : compiler::strategy_names()) {
    SCOPED_TRACE("strategy " + name);
    compiler::Options options = test.options(name, reference);
    const auto executable = compiler::compile(test.graph, options);
    ASSERT_TRUE(executable) << executable.error().text();
    options.packed_input = false;
    const auto over_cube = compiler::compile(test.graph, options);
    ASSERT_TRUE(over_cube) << over_cube.error().text();
    EXPECT_EQ(packed_placement(*over_cube), nullptr);
    ++seen.layers;
    const exe::Placement* picture = packed_placement(*executable);
    if (picture == nullptr) continue;
    ++seen.packed;
    seen.uint8 += picture->is_uint8 ? 1 : 0;
    seen.odd_widths += picture->cube.w % 16 != 0 ? 1 : 0;
    seen.images += test.graph.tensor(test.graph.inputs[0]).shape[0] > 1 ? 1 : 0;
    check_words(*executable, *picture, seen);
    const auto got = run_on_machine(*executable, test.inputs);
    const auto cube = run_on_machine(*over_cube, test.inputs);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_TRUE(cube) << cube.error().text();
    EXPECT_EQ(difference_text((*got)[0], (*cube)[0]), "equal") << "to the same layer over a cube";
    if (executable->layers[0].strategy == "exact") {
      EXPECT_EQ(difference_text((*got)[0], (*want)[0]), "equal");
    }
  }
}

class PackedLayers : public ::testing::TestWithParam<int> {};

TEST_P(PackedLayers, EveryStrategyReadsThePicture) {
  Seen seen;
  for (int i = 0; i < 30 && !HasFatalFailure(); ++i)
    check_layer(first_layer(first_seed(400'000 + static_cast<uint64_t>(GetParam() * 30 + i))),
                i % 2 == 0 ? num::Reference::LitertRef : num::Reference::SingleRounding, seen);
  EXPECT_GT(seen.packed, seen.layers * 3 / 5);
  EXPECT_GT(seen.tiles, 100);
  EXPECT_GT(seen.sets, 100);
  EXPECT_GT(seen.uint8, 20);
  EXPECT_GT(seen.odd_widths, 50);
  EXPECT_GT(seen.images, 5);
}
INSTANTIATE_TEST_SUITE_P(Shards, PackedLayers, ::testing::Range(0, 4));

// A picture wider than one tile of CBUF takes: the chip's own limits cut it.
TEST(PackedPictures, TilesOfCbuf) {
  for (const bool is_uint8 : {false, true}) {
    Builder b(first_seed(410'000), is_uint8);
    Layer l;
    l.outputs = 6;
    l.kernel_h = 6;
    l.kernel_w = 5;
    l.attributes.stride_h = l.attributes.stride_w = 2;
    b.graph().outputs = {b.layer(b.input({1, 150, 213, 3}), l)};
    const Case test = finish(b, 0, {});
    const auto want = run_on_kernels(test, kernels::Path::Fast, num::Reference::LitertRef);
    const auto executable = compiler::compile(test.graph, test.options("exact", num::Reference::LitertRef));
    ASSERT_TRUE(want && executable);
    const exe::Placement* picture = packed_placement(*executable);
    ASSERT_NE(picture, nullptr);
    EXPECT_EQ(picture->pitch, 224);
    EXPECT_EQ(picture->cube.channels, 3);
    EXPECT_GT(executable->tasks.size(), 1U);
    const auto got = run_on_machine(*executable, test.inputs);
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(difference_text((*got)[0], (*want)[0]), "equal");
  }
}

// Two convolutions over one picture read the same rows; a depthwise one beside them needs a cube, and then
// all read that.
TEST(PackedPictures, SeveralReaders) {
  for (const bool with_depthwise : {false, true}) {
    Builder b(first_seed(420'000), false);
    b.set_mild();
    const int32_t x = b.input({1, 9, 21, 3});
    Layer l;
    l.kernel_h = l.kernel_w = 3;
    l.outputs = 16;
    const int32_t first = b.layer(x, l);
    l.kernel_w = 1;
    l.outputs = 40;
    const int32_t second = b.layer(x, l);
    b.graph().outputs = {first, second};
    if (with_depthwise) {
      l.kind = ir::OpKind::DepthwiseConv2D;
      l.outputs = 3;
      b.graph().outputs.push_back(b.layer(x, l));
    }
    const Case test = finish(b, 0, {});
    const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
    const auto executable = compiler::compile(test.graph, test.options("exact", num::Reference::LitertRef));
    ASSERT_TRUE(want && executable);
    EXPECT_EQ(packed_placement(*executable) == nullptr, with_depthwise);
    EXPECT_EQ(std::ranges::count_if(executable->steps,
                                    [](const exe::Step& s) { return s.kind == exe::StepKind::Upload; }),
              1);
    const auto got = run_on_machine(*executable, test.inputs);
    ASSERT_TRUE(got) << got.error().text();
    for (size_t i = 0; i < want->size(); ++i) EXPECT_EQ(difference_text((*got)[i], (*want)[i]), "equal") << i;
  }
}

// What the CPU made and what is a constant is uploaded like a picture; what the NPU made stays a cube.
TEST(PackedPictures, OnlyWhatTheHostHas) {
  Builder b(first_seed(430'000), false);
  b.set_mild();
  const int32_t x = b.input({1, 12, 10, 19});
  Layer l;
  l.outputs = 3;
  const int32_t made = b.layer(x, l);  // 19 channels in, 3 out
  l.kernel_h = 3;
  l.outputs = 8;
  const int32_t from_npu = b.layer(made, l);
  const ir::QuantParams quant = b.graph().tensor(made).quant;
  const int32_t order = b.constant({4}, {0, 2, 1, 3});
  const int32_t turned = b.add_tensor({1, 10, 12, 3}, quant.scale[0], quant.zero_point[0]);
  b.op(ir::OpKind::Transpose, {made, order}, turned, ir::NoAttributes{});
  const int32_t from_cpu = b.layer(turned, l);
  b.graph().outputs = {from_npu, from_cpu};
  const Case test = finish(b, 0, {});
  const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
  const auto executable = compiler::compile(test.graph, test.options("exact", num::Reference::LitertRef));
  ASSERT_TRUE(want) << want.error().text();
  ASSERT_TRUE(executable) << executable.error().text();
  const exe::Placement* picture = packed_placement(*executable);
  ASSERT_NE(picture, nullptr);
  EXPECT_EQ(picture->tensor, turned);
  Activations seen;
  const auto got = run_on_machine(*executable, test.inputs, &seen);
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_TRUE(seen.contains(turned));
  for (size_t i = 0; i < want->size(); ++i) EXPECT_EQ(difference_text((*got)[i], (*want)[i]), "equal") << i;
}

}  // namespace
}  // namespace peraxis::property
