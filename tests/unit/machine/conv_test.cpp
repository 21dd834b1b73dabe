// Convolutions against plain integer arithmetic, on the fast and on the obvious path. Shapes are never
// square and cover the odd ends: compact channel blocks, maps of fewer than four rows, dilation, strides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.hpp"

namespace peraxis::machine::test {
namespace {

Stage bias() {
  Stage s;
  s.on = s.alu = s.alu_memory = true;
  return s;
}

Stage bias_and_scale(int shift) {
  Stage s = bias();
  s.mul = s.mul_memory = true;
  s.shift = s.shift_negative = shift;
  return s;
}

void check(const Layer& layer, uint32_t seed = 1) {
  const Data data = random_data(layer, seed);
  ASSERT_FALSE(make_program(layer).bad());
  const std::vector<int64_t> want = expected(layer, data);
  for (const bool plain : {false, true}) {
    Options options;
    options.plain = plain;
    const auto got = run_layer(layer, data, options);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_EQ(*got, want) << (plain ? "plain" : "fast");
  }
  // A test whose outputs are all clipped shows nothing.
  if (!layer.int32_output) {
    int64_t inside = 0;
    for (const int64_t v : want) inside += v > -128 && v < 127 ? 1 : 0;
    EXPECT_GT(inside * 10, static_cast<int64_t>(want.size())) << "most outputs saturate";
  }
}

Layer shape(int64_t h, int64_t w, int64_t c, int64_t n, int64_t k = 3, int64_t s = 1) {
  Layer l;
  l.h = h, l.w = w, l.c = c, l.n = n;
  l.kh = l.kw = k;
  l.sy = l.sx = s;
  l.pt = l.pl = (k - 1) / 2;
  l.ho = (h + 2 * l.pt - k) / s + 1;
  l.wo = (w + 2 * l.pl - k) / s + 1;
  l.bs = bias();
  l.scale = 20000;
  l.shift = 25;
  l.offset = -3;
  l.pad = 0x05050505;
  return l;
}

Layer depthwise(int64_t h, int64_t w, int64_t c, int64_t k = 3, int64_t s = 1) {
  Layer l = shape(h, w, c, c, k, s);
  l.depthwise = true;
  l.shift = 24;
  return l;
}

TEST(Conv, ChannelsAroundTheBlocks) {
  for (const int64_t c : {3, 15, 16, 17, 32, 33, 48, 63, 64, 65, 80})
    for (const int64_t n : {1, 31, 32, 33}) {
      SCOPED_TRACE(testing::Message() << c << " -> " << n);
      check(shape(5, 9, c, n), static_cast<uint32_t>(c * 100 + n));
    }
}

TEST(Conv, MapsOfFewRows) {
  for (const int64_t h : {1, 2, 3, 4, 5, 6})
    for (const int64_t w : {1, 3, 8}) {
      SCOPED_TRACE(testing::Message() << h << " x " << w);
      check(shape(h, w, 80, 40));
      check(shape(h, w, 64, 33, 1));
    }
}

TEST(Conv, LineModeAndWidePlanes) {
  Layer l = shape(7, 5, 48, 32);
  l.line_mode = true;
  check(l);
  l.plane_extra = 3;
  check(l);
  l.line_mode = false;
  check(l);
}

TEST(Conv, StridesDilationAndKernelShapes) {
  check(shape(9, 13, 24, 20, 3, 2));
  check(shape(11, 17, 16, 32, 5, 3));
  Layer l = shape(10, 14, 16, 10);
  l.kh = 2, l.kw = 5, l.sy = 1, l.sx = 2, l.dy = 3, l.dx = 1, l.pt = 1, l.pl = 4;
  l.ho = (10 + 1 + 2 - 4) / 1 + 1;
  l.wo = (14 + 4 + 1 - 5) / 2 + 1;
  check(l);
  l.dx = 2, l.pl = 0, l.wo = (14 - 9) / 2 + 1;
  check(l);
}

TEST(Conv, FewerKernelsThanTheGroup) {
  for (const int64_t kernels : {8, 16, 24, 34}) {
    Layer l = shape(4, 6, 48, kernels - 1);
    l.kernels = kernels;
    check(l);
  }
}

TEST(Conv, WeightZeroPoint) {
  Layer l = shape(5, 7, 24, 40);
  l.ow = -37;
  check(l);
  l.truncate = 3;
  l.shift -= 3;
  check(l);
  l.bs = bias_and_scale(14);
  l.data_use = 7;
  l.ow_memory = true;
  check(l);
  Layer d = depthwise(6, 9, 80);
  d.ow = 51;
  d.shift = 25;
  d.pad = 0x0B0A0908;
  check(d);
  d.data_use = 7;
  d.ow_memory = true;
  check(d);
}

TEST(Conv, PerChannelMultiply) {
  Layer l = shape(6, 11, 32, 70);
  l.data_use = 7;
  l.bs = bias_and_scale(14);
  check(l);
  l.bs.shift = 7, l.bs.shift_negative = 9;
  l.shift = 31;
  check(l);
  l.bs.subtract = true;
  l.round = true;
  check(l);
}

TEST(Conv, ScalarOperandsWithoutRdma) {
  Layer l = shape(6, 5, 16, 32);
  l.enable = 0x0D;
  l.bs = {};
  l.bs.on = l.bs.alu = l.bs.mul = true;
  l.bs.alu_operand = -1234, l.bs.mul_operand = -20000;
  l.bs.shift = l.bs.shift_negative = 12;
  l.shift = 27;
  check(l);
}

TEST(Conv, ActivationsOfBsAndBn) {
  Layer l = shape(5, 7, 16, 32);
  l.bs.relu = true;
  check(l);
  l.bs.relux = true, l.bs.cmp = 30000;
  check(l);
  l.bs = bias();
  l.bn.on = l.bn.relu = true;
  check(l);
  l.bn.relux = true, l.bn.cmp = 20000;
  check(l);
  l.bn = {};
  l.bn.on = l.bn.mul = l.bn.prelu = true;
  l.bn.mul_operand = 1638, l.bn.shift = l.bn.shift_negative = 14;
  check(l);
  l.bn.prelu = false;
  l.bn.alu = true, l.bn.alu_operand = -50013, l.bn.shift_negative = 13;
  check(l);
  l.bn.subtract = true;
  check(l);
  l.bn.mul = false;
  check(l);
  l.bn = {};
  l.bs = bias_and_scale(14);
  l.data_use = 7;
  l.bs.prelu = true;
  check(l);
}

TEST(Conv, ElementWiseWithARegisterOperand) {
  for (const int op : {0, 1, 2, 4, 100}) {
    Layer l = shape(5, 7, 16, 32);
    l.ew_op = op;
    l.ew_operand = op == 100 ? 3 : -9000;
    l.shift = op == 100 ? 26 : 25;
    check(l);
    l.ew_relu = true;
    check(l);
    l.ew_relux = true, l.ew_cmp = 40000;
    check(l);
  }
}

TEST(Conv, Int32Output) {
  Layer l = shape(5, 7, 40, 33);
  l.int32_output = true;
  l.bs = {};
  l.scale = 1, l.shift = 0, l.offset = 0;
  check(l);
  l.bs = bias();
  check(l);
}

TEST(Conv, Depthwise) {
  for (const int64_t c : {16, 32, 64, 80, 96, 100, 128, 130}) {
    SCOPED_TRACE(c);
    check(depthwise(6, 9, c));
    check(depthwise(9, 7, c, 3, 2));
  }
  Layer l = depthwise(7, 10, 100, 5);
  l.data_use = 7;
  l.bs = bias_and_scale(14);
  check(l);
  l.pad = 0x00007F81;  // the two lanes differ
  check(l);
}

TEST(Conv, PadLanesSwitch) {
  Layer l = depthwise(4, 5, 64);
  l.pad = 0xFFFFFF05;  // byte 1 is -1
  const Data data = random_data(l, 3);
  Options options;
  options.switches.pad_lanes = PadLanes::Byte0;
  const auto got = run_layer(l, data, options);
  Layer same = l;
  same.pad = 0x05050505;
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, expected(same, data));
  EXPECT_NE(*got, expected(l, data));
}

// More terms than the fast path's 32-bit sums may hold.
TEST(Conv, LongSumsTakeThePlainPath) {
  Layer l = shape(2, 1, 65520, 32, 1);
  l.kh = 2, l.kw = 1, l.ho = 1;
  l.kernels = 1;
  l.shift = 31;
  l.weight_limit = 20;
  l.n = 1;
  l.data_banks = 8;
  check(l);
}

// The worked examples of docs/hardware/dpu.md#out_cvt-the-output-converter, on given accumulators.
TEST(OutCvt, WorkedTable) {
  struct Row {
    int32_t a, scale;
    int shift;
    int64_t even, away;
  };
  for (const Row& row : {Row{5, 1, 1, -1, 0}, Row{-5, 1, 1, -5, -6}, Row{7, 1, 1, 1, 1},
                         Row{3000, 20000, 19, 111, 111}, Row{-40000, 32767, 19, -128, -128}})
    for (const bool away : {false, true}) {
      Layer l = shape(1, 1, 16, 32, 1);
      l.bs = {};
      l.bs.on = l.bs.alu = true;
      l.bs.alu_operand = row.a;
      l.scale = row.scale, l.shift = row.shift, l.round = away;
      Data data = random_data(l, 1);
      std::fill(data.weights.begin(), data.weights.end(), int8_t{0});
      const auto got = run_layer(l, data);
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_THAT(*got, testing::Each(away ? row.away : row.even)) << row.a;
    }
}

// The readings of a tie with an odd output zero point (docs/hardware/dpu.md#guessed).
TEST(OutCvt, TieSwitches) {
  Layer l = shape(1, 1, 16, 32, 1);
  l.bs = {};
  l.bs.on = l.bs.alu = true;
  l.offset = 1, l.scale = 1, l.shift = 1;
  Data data = random_data(l, 1);
  std::fill(data.weights.begin(), data.weights.end(), int8_t{0});
  const auto run = [&](int32_t a, bool round, Ties ties, bool inside) {
    l.bs.alu_operand = a;
    l.round = round;
    Options options;
    options.switches.out_cvt_ties = ties;
    options.switches.out_cvt_offset_inside = inside;
    return (*run_layer(l, data, options))[0];
  };
  EXPECT_EQ(run(5, false, Ties::ByRegister, false), 3);   // 2.5 -> 2, + 1
  EXPECT_EQ(run(5, false, Ties::ByRegister, true), 4);    // 3.5 -> 4
  EXPECT_EQ(run(5, false, Ties::Up, false), 4);           // 2.5 -> 3, + 1
  EXPECT_EQ(run(-3, true, Ties::ByRegister, false), -1);  // -1.5 -> -2, + 1
  EXPECT_EQ(run(-1, true, Ties::ByRegister, false), 0);   // -0.5 -> -1, + 1
  EXPECT_EQ(run(-1, true, Ties::ByRegister, true), 1);    // 0.5 -> 1
  EXPECT_EQ(run(-3, true, Ties::Up, false), 0);           // -1.5 -> -1, + 1
  EXPECT_EQ(run(-3, true, Ties::Even, false), -1);        // -1.5 -> -2, + 1
}

TEST(Conv, IgnoredOwOperand) {
  Layer l = shape(4, 5, 16, 32);
  l.data_use = 7;
  l.bs = bias_and_scale(14);
  l.ow = 31;  // as one driver's streams write it: channels - 1, meant to do nothing
  const Data data = random_data(l, 9);
  Options options;
  options.switches.ignore_ow_op_with_records = true;
  const auto got = run_layer(l, data, options);
  ASSERT_TRUE(got);
  Layer without = l;
  without.ow = 0;
  EXPECT_EQ(*got, expected(without, data));
  EXPECT_NE(*got, expected(l, data));
}

}  // namespace
}  // namespace peraxis::machine::test
