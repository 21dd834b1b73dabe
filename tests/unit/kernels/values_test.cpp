// Operators on inputs small enough to compute by hand; the comments carry the computation.
#include "graphs.hpp"

namespace peraxis::kernels {
namespace {

using ir::OpKind;
using Bytes = std::vector<int8_t>;

ir::Tensor int8_weights(std::vector<int32_t> shape, std::vector<float> scales, int32_t dimension,
                        const Bytes& data) {
  ir::Tensor t = int8_tensor(std::move(shape), 1.0F, 0);
  t.quant.scale = std::move(scales);
  t.quant.zero_point.assign(t.quant.scale.size(), 0);
  t.quant.quantized_dimension = dimension;
  make_constant(t, bytes_of(data));
  return t;
}

ir::Tensor bias(const std::vector<int32_t>& values) {
  return int32_constant({static_cast<int32_t>(values.size())}, values);
}

// One 1x1 convolution of a single value with weight 1: the output shows what becomes of the accumulator.
ir::Graph pass_through(float multiplier, int32_t added, int64_t output_zero = 0) {
  return one_op(OpKind::Conv2D, ir::ConvAttributes{},
                {int8_tensor({1, 1, 1, 1}, multiplier, 0), int8_weights({1, 1, 1, 1}, {1.0F}, 0, {1}),
                 bias({added}), int8_tensor({1, 1, 1, 1}, 1.0F, output_zero)});
}

TEST(Conv2D, TwoRoundingsAtOneQuarter) {
  // 5/4 = 1.25: 5/2 rounds to 3, 3/2 to 2. -6/4 = -1.5 goes away from zero. -5/4: -2.5 rounds up to -2, then
  // -1.
  EXPECT_EQ(run_int8(pass_through(0.25F, 0), {{5}}), Bytes{2});
  EXPECT_EQ(run_int8(pass_through(0.25F, 0), {{-6}}), Bytes{-2});
  EXPECT_EQ(run_int8(pass_through(0.25F, 0), {{-5}}), Bytes{-1});
}

TEST(Conv2D, SingleRoundingAtOneQuarter) {
  for (const Path path : {Path::Reference, Path::Fast}) {
    const Options once{path, Reference::SingleRounding, 1};
    EXPECT_EQ(run_int8(pass_through(0.25F, 0), {{5}}, once), Bytes{1});
    EXPECT_EQ(run_int8(pass_through(0.25F, 0), {{6}}, once), Bytes{2});    // 1.5 up
    EXPECT_EQ(run_int8(pass_through(0.25F, 0), {{-6}}, once), Bytes{-1});  // -1.5 up
    EXPECT_EQ(run_int8(pass_through(0.25F, 0, -3), {{-7}}, once), Bytes{-5});
    // 2^30 * 2^10 does not fit an int32; it saturates, it does not wrap.
    EXPECT_EQ(run_int8(pass_through(1024.0F, 1 << 30), {{0}}, once), Bytes{127});
  }
}

TEST(Conv2D, TheAccumulatorWraps) {
  // 2^31 - 1 + 1 = -2^31, times 2^-25 = -64.
  const float scale = 1.0F / 33554432.0F;
  EXPECT_EQ(run_int8(pass_through(scale, 2147483647), {{1}}), Bytes{-64});
  EXPECT_EQ(run_int8(pass_through(scale, 2147483647), {{0}}), Bytes{64});
}

TEST(Conv2D, PerAxisScalesZeroPointAndPadding) {
  // 2x3 image with zero point 1, 3x3 kernel of ones, a row and column of padding: each output sums its real
  // neighbours minus 1. Both rows are always inside; values - 1 are 0 1 2 / 3 4 5, so columns give 0+1+3+4 =
  // 8, 15, 1+2+4+5 = 12. Channel 0: times 1 plus bias 2; channel 1: times 1/2, ties away: 4, 7.5 -> 8, 6.
  std::vector<int8_t> ones(18, 1);
  const ir::Graph graph =
      one_op(OpKind::Conv2D, ir::ConvAttributes{{1, 1, 1, 1}},
             {int8_tensor({1, 2, 3, 1}, 1.0F, 1), int8_weights({2, 3, 3, 1}, {1.0F, 0.5F}, 0, ones),
              bias({2, 0}), int8_tensor({1, 2, 3, 2}, 1.0F, -10)});
  const Bytes expected = {0, -6, 7, -2, 4, -4, 0, -6, 7, -2, 4, -4};
  for (const Path path : {Path::Reference, Path::Fast}) {
    EXPECT_EQ(run_int8(graph, {{1, 2, 3, 4, 5, 6}}, {path}), expected);
  }
}

TEST(Conv2D, GroupsReadTheirOwnChannels) {
  // Depth 1 of 2 input channels: outputs 0, 1 read channel 0, outputs 2, 3 channel 1.
  const ir::Graph graph =
      one_op(OpKind::Conv2D, ir::ConvAttributes{},
             {int8_tensor({1, 1, 1, 2}, 1.0F, 0), int8_weights({4, 1, 1, 1}, {1, 1, 1, 1}, 0, {1, 2, 3, 4}),
              bias({0, 0, 0, 0}), int8_tensor({1, 1, 1, 4}, 1.0F, 0)});
  for (const Path path : {Path::Reference, Path::Fast}) {
    EXPECT_EQ(run_int8(graph, {{5, 7}}, {path}), (Bytes{5, 10, 21, 28}));
  }
}

TEST(DepthwiseConv2D, MultiplierDilationAndNoBias) {
  // 1x3 kernel (1, 10) and (2, 20) at distance 2 over 5 columns: taps at x, x+2, two outputs a
  // channel.
  ir::ConvAttributes attributes;
  attributes.dilation_w = 2;
  const ir::Graph graph =
      one_op(OpKind::DepthwiseConv2D, attributes,
             {int8_tensor({1, 1, 5, 1}, 1.0F, 0), int8_weights({1, 1, 2, 2}, {1, 1}, 3, {1, 2, 10, 20}),
              int8_tensor({1, 1, 3, 2}, 1.0F, 0)});
  for (const Path path : {Path::Reference, Path::Fast}) {
    // x=0: 1 + 30 = 31, doubled 62; x=1: 2 + 40 = 42, 84; x=2: 3 + 50 = 53, 106.
    EXPECT_EQ(run_int8(graph, {{1, 2, 3, 4, 5}}, {path}), (Bytes{31, 62, 42, 84, 53, 106}));
  }
}

TEST(FullyConnected, RoundsOnceHalfAwayFromZero) {
  // 5/4 = 1.25 -> 1 (two roundings would give 2); -6/4 = -1.5 -> -2; single rounding ties up: -1.
  const auto graph = [](int8_t weight) {
    return one_op(OpKind::FullyConnected, ir::FullyConnectedAttributes{},
                  {int8_tensor({1, 1}, 0.25F, 0), int8_weights({1, 1}, {1.0F}, 0, {weight}),
                   int8_tensor({1, 1}, 1.0F, 0)});
  };
  for (const Path path : {Path::Reference, Path::Fast}) {
    EXPECT_EQ(run_int8(graph(1), {{5}}, {path}), Bytes{1});
    EXPECT_EQ(run_int8(graph(-1), {{6}}, {path}), Bytes{-2});
    EXPECT_EQ(run_int8(graph(-1), {{6}}, {path, Reference::SingleRounding}), Bytes{-1});
  }
}

TEST(Add, EqualScalesAndActivation) {
  ir::BinaryAttributes relu;
  relu.activation = ir::Activation::Relu;
  // Scale 1/2 in, 1 out: (q1 + q2) / 2 with ties away: 3/2 -> 2; -4/2 = -2 is cut to 0.
  const ir::Graph graph = one_op(
      OpKind::Add, relu, {int8_tensor({2}, 0.5F, 0), int8_tensor({2}, 0.5F, 0), int8_tensor({2}, 1.0F, 0)});
  EXPECT_EQ(run_int8(graph, {{1, -1}, {2, -3}}), (Bytes{2, 0}));
}

TEST(Sub, BroadcastsTheFirstOperand) {
  const ir::Graph graph =
      one_op(OpKind::Sub, ir::BinaryAttributes{},
             {int8_tensor({1, 2}, 1.0F, 0), int8_tensor({3, 1}, 1.0F, 0), int8_tensor({3, 2}, 1.0F, 0)});
  EXPECT_EQ(run_int8(graph, {{10, 20}, {1, 2, 3}}), (Bytes{9, 19, 8, 18, 7, 17}));
}

TEST(Mul, ZeroPoints) {
  // (q1 - 1) * (q2 + 2) / 4 + 3: (5-1)*(1+2)/4 = 3 -> 6; (0-1)*(4+2)/4 = -1.5 -> -2 -> 1.
  const ir::Graph graph =
      one_op(OpKind::Mul, ir::BinaryAttributes{},
             {int8_tensor({2}, 0.5F, 1), int8_tensor({2}, 0.5F, -2), int8_tensor({2}, 1.0F, 3)});
  EXPECT_EQ(run_int8(graph, {{5, 0}, {1, 4}}), (Bytes{6, 1}));
}

TEST(AveragePool2D, HalfAwayFromZeroOverRealPixels) {
  ir::PoolAttributes pool;
  pool.filter_h = 1;
  pool.filter_w = 2;
  pool.pads.right = 1;
  // 3 columns: (1,2) -> 1.5 -> 2; (2,-5) -> -1.5 -> -2; (-5) alone -> -5.
  const ir::Graph graph = one_op(OpKind::AveragePool2D, pool,
                                 {int8_tensor({1, 1, 3, 1}, 1.0F, 7), int8_tensor({1, 1, 3, 1}, 1.0F, 7)});
  EXPECT_EQ(run_int8(graph, {{1, 2, -5}}), (Bytes{2, -2, -5}));
}

TEST(AveragePool2D, CountedPaddingIsTheZeroPoint) {
  ir::PoolAttributes pool;
  pool.filter_h = 1;
  pool.filter_w = 2;
  pool.pads = {0, 0, 2, 1};
  pool.counts_padding = true;
  // 7 7 1 2 -5 7: windows of padding alone are 7, (7,1) -> 4, 1.5 -> 2, -1.5 -> -2, (-5,7) -> 1.
  const ir::Graph graph = one_op(OpKind::AveragePool2D, pool,
                                 {int8_tensor({1, 1, 3, 1}, 1.0F, 7), int8_tensor({1, 1, 5, 1}, 1.0F, 0)});
  EXPECT_EQ(run_int8(graph, {{1, 2, -5}}), (Bytes{7, 4, 2, -2, 1}));
}

TEST(MaxPool2D, PaddingNeverWins) {
  ir::PoolAttributes pool;
  pool.filter_h = 3;
  pool.filter_w = 3;
  pool.pads = {1, 1, 1, 1};
  const ir::Graph graph = one_op(OpKind::MaxPool2D, pool,
                                 {int8_tensor({1, 1, 2, 2}, 1.0F, 0), int8_tensor({1, 1, 2, 2}, 1.0F, 0)});
  EXPECT_EQ(run_int8(graph, {{-100, -3, -90, -128}}), (Bytes{-90, -3, -90, -3}));
}

TEST(Mean, TruncatedMantissa) {
  // Equal scales, 3 values: the mantissa floor(2^30 * 2 / 3) lies below 2/3, so (1+1+1)/3 still rounds to 1.
  const ir::Graph graph =
      one_op(OpKind::Mean, ir::ReduceAttributes{},
             {int8_tensor({2, 3}, 1.0F, 0), int32_constant({1}, {-1}), int8_tensor({2}, 1.0F, 0)});
  EXPECT_EQ(run_int8(graph, {{1, 1, 1, -128, -128, -127}}), (Bytes{1, -128}));
}

TEST(Logistic, KnownPoints) {
  // 256 / (1 + e^-x) - 128 at -8, 0, 1, 8: 0.09, 128, 187.15, 255.9 (saturates).
  const ir::Graph graph = one_op(OpKind::Logistic, ir::NoAttributes{},
                                 {int8_tensor({4}, 1.0F, 0), int8_tensor({4}, 1.0F / 256.0F, -128)});
  EXPECT_EQ(run_int8(graph, {{-8, 0, 1, 8}}), (Bytes{-128, 0, 59, 127}));
}

TEST(Softmax, KnownRows) {
  // Two equal values: 128 - 128 each. Difference of ln 3 in steps of 1/64 (70.3): 3/4 and 1/4 of 256.
  const ir::Graph graph =
      one_op(OpKind::Softmax, ir::SoftmaxAttributes{},
             {int8_tensor({2, 2}, 0.015625F, 5), int8_tensor({2, 2}, 1.0F / 256.0F, -128)});
  EXPECT_EQ(run_int8(graph, {{9, 9, 70, 0}}), (Bytes{0, 0, 64, -64}));
}

TEST(Softmax, ARowTooEvenIsRefused) {
  const auto graph = [](int32_t depth) {
    return one_op(OpKind::Softmax, ir::SoftmaxAttributes{},
                  {int8_tensor({1, depth}, 0.1F, 0), int8_tensor({1, depth}, 1.0F / 256.0F, -128)});
  };
  EXPECT_TRUE(run(graph(511), {std::vector<uint8_t>(511, 3)}));
  EXPECT_FALSE(run(graph(512), {std::vector<uint8_t>(512, 3)}));
}

TEST(LeakyRelu, BothSides) {
  // Positive: times 1/2, 3 -> 1.5 -> 2. Negative: times 1/8: -12 -> -1.5 -> two roundings: -6, -3, -1.5 ->
  // -2.
  const ir::Graph graph = one_op(OpKind::LeakyRelu, ir::LeakyReluAttributes{0.25F},
                                 {int8_tensor({2}, 0.5F, 0), int8_tensor({2}, 1.0F, 0)});
  EXPECT_EQ(run_int8(graph, {{3, -12}}), (Bytes{2, -2}));
}

TEST(Quantize, FromFloat) {
  ir::Tensor input;
  input.name = "real";
  input.type = ir::DataType::Float32;
  input.shape = {6};
  const ir::Graph graph = one_op(OpKind::Quantize, ir::NoAttributes{}, {input, int8_tensor({6}, 0.5F, 10)});
  const std::vector<float> real = {0.25F, -0.25F, 1.0F, 1e30F, -1e30F, 80.0F};
  const auto outputs = run(graph, {bytes_of(real)});
  ASSERT_TRUE(outputs) << outputs.error().text();
  // 0.5 -> 1, -0.5 -> -1, 2; beyond int32 becomes -2^31 on both sides; 160 + 10 saturates.
  EXPECT_EQ(Bytes(outputs->front().begin(), outputs->front().end()), (Bytes{11, 9, 12, -128, -128, 127}));
}

TEST(Quantize, BetweenTypes) {
  const ir::Graph graph = one_op(OpKind::Quantize, ir::NoAttributes{},
                                 {tensor(ir::DataType::UInt8, {3}, 0.5F, 128), int8_tensor({3}, 0.5F, 0)});
  EXPECT_EQ(run_int8(graph, {{0, -128, -1}}), (Bytes{-128, 0, 127}));
}

TEST(Concatenation, CopiesAlongANegativeAxis) {
  ir::ConcatenationAttributes attributes;
  attributes.axis = -1;
  const ir::Graph graph =
      one_op(OpKind::Concatenation, attributes,
             {int8_tensor({2, 1}, 1.0F, 0), int8_tensor({2, 2}, 1.0F, 0), int8_tensor({2, 3}, 1.0F, 0)});
  EXPECT_EQ(run_int8(graph, {{1, 2}, {3, 4, 5, 6}}), (Bytes{1, 3, 4, 2, 5, 6}));
}

TEST(Movement, PadTransposeSliceSplitResize) {
  const ir::Graph pad = one_op(
      OpKind::Pad, ir::NoAttributes{},
      {int8_tensor({1, 2}, 1.0F, 3), int32_constant({2, 2}, {1, 0, 0, 1}), int8_tensor({2, 3}, 1.0F, -7)});
  EXPECT_EQ(run_int8(pad, {{1, 2}}), (Bytes{-7, -7, -7, 1, 2, -7}));
  const ir::Graph transpose =
      one_op(OpKind::Transpose, ir::NoAttributes{},
             {int8_tensor({2, 3}, 1.0F, 0), int32_constant({2}, {1, 0}), int8_tensor({3, 2}, 1.0F, 0)});
  EXPECT_EQ(run_int8(transpose, {{1, 2, 3, 4, 5, 6}}), (Bytes{1, 4, 2, 5, 3, 6}));
  ir::StridedSliceAttributes backwards;
  backwards.begin_mask = 1;
  backwards.end_mask = 1;
  const ir::Graph slice =
      one_op(OpKind::StridedSlice, backwards,
             {int8_tensor({5}, 1.0F, 0), int32_constant({1}, {0}), int32_constant({1}, {0}),
              int32_constant({1}, {-2}), int8_tensor({3}, 1.0F, 0)});
  EXPECT_EQ(run_int8(slice, {{1, 2, 3, 4, 5}}), (Bytes{5, 3, 1}));
  const ir::Graph resize = one_op(
      OpKind::ResizeNearestNeighbor, ir::ResizeAttributes{},
      {int8_tensor({1, 1, 2, 1}, 1.0F, 0), int32_constant({2}, {2, 5}), int8_tensor({1, 2, 5, 1}, 1.0F, 0)});
  EXPECT_EQ(run_int8(resize, {{1, 2}}), (Bytes{1, 1, 1, 2, 2, 1, 1, 1, 2, 2}));
  ir::SplitAttributes halves;
  halves.num_splits = 2;
  const ir::Graph split = one_op(OpKind::Split, halves,
                                 {int32_constant({}, {1}), int8_tensor({2, 2}, 1.0F, 0),
                                  int8_tensor({2, 1}, 1.0F, 0), int8_tensor({2, 1}, 1.0F, 0)},
                                 2);
  const auto parts = run(split, {{1, 2, 3, 4}});
  ASSERT_TRUE(parts) << parts.error().text();
  EXPECT_EQ((*parts)[0], (std::vector<uint8_t>{1, 3}));
  EXPECT_EQ((*parts)[1], (std::vector<uint8_t>{2, 4}));
}

}  // namespace
}  // namespace peraxis::kernels
