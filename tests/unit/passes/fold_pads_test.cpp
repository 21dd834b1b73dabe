// A convolution with the PAD before it taken in gives the bytes of PAD and convolution one after the other.
#include "passes/fold_pads.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/rng.hpp"
#include "builder.hpp"
#include "ir/pads.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::passes {
namespace {

struct Drawn {
  ir::Graph graph;
  std::vector<uint8_t> input;
};

// input -> PAD -> conv_2d or depthwise_conv_2d.
Drawn padded_convolution(uint64_t seed) {
  base::Rng rng(seed);
  Drawn out;
  ir::Graph& g = out.graph;
  g.name = "padded";
  const auto in_h = static_cast<int32_t>(rng.uniform(1, 9)), in_w = static_cast<int32_t>(rng.uniform(1, 9)),
             c = 4;
  const bool depthwise = rng.one_in(2);
  std::vector<int32_t> pads(8);
  for (size_t i = 2; i < 6; ++i) pads[i] = static_cast<int32_t>(rng.uniform(0, 2));
  const int64_t zero = rng.uniform(-128, 127);
  const int32_t in = add(g, ir::DataType::Int8, {1, in_h, in_w, c}, {0.05F}, zero);
  const int32_t h = in_h + pads[2] + pads[3], w = in_w + pads[4] + pads[5];
  const int32_t amounts = constant(g, ir::DataType::Int32, {4, 2}, pads);
  const int32_t padded = add(g, ir::DataType::Int8, {1, h, w, c}, {0.05F}, zero);
  ir::ConvAttributes conv;
  conv.stride_h = conv.stride_w = static_cast<int32_t>(rng.uniform(1, 2));
  const bool even = rng.one_in(2);
  const auto kernel = static_cast<int32_t>(rng.uniform(1, std::min<int64_t>({5, h, w})));
  std::vector<int8_t> weights(static_cast<size_t>(kernel * kernel * c * (depthwise ? 1 : c)));
  for (int8_t& v : weights) v = static_cast<int8_t>(rng.uniform(-127, 127));
  const int32_t filter = constant(g, ir::DataType::Int8, {depthwise ? 1 : c, kernel, kernel, c}, weights,
                                  {0.01F, 0.02F, 0.03F, 0.004F});
  g.tensors[static_cast<size_t>(filter)].quant.quantized_dimension = depthwise ? 3 : 0;
  const int32_t bias = constant(g, ir::DataType::Int32, {c}, std::vector<int32_t>{100, -200, 3000, 7});
  const ir::Nhwc map{1, h, w, c};
  if (even) conv.pads = ir::even_pads(map, kernel, kernel, conv);
  const auto [rows, columns] = ir::conv_axes(map, kernel, kernel, conv);
  const int32_t made =
      add(g, ir::DataType::Int8, {1, static_cast<int32_t>(rows.out), static_cast<int32_t>(columns.out), c},
          {0.11F}, 4);
  g.ops.push_back({ir::OpKind::Pad, {in, amounts}, {padded}, ir::NoAttributes{}});
  g.ops.push_back(
      {depthwise ? ir::OpKind::DepthwiseConv2D : ir::OpKind::Conv2D, {padded, filter, bias}, {made}, conv});
  g.inputs = {in};
  g.outputs = {made};
  out.input.resize(static_cast<size_t>(in_h * in_w * c));
  for (uint8_t& v : out.input) v = static_cast<uint8_t>(rng.uniform(0, 255));
  return out;
}

TEST(FoldPads, SameBytes) {
  int64_t all = 0;
  for (uint64_t seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
    const Drawn drawn = padded_convolution(seed);
    SCOPED_TRACE(ir::print(drawn.graph));
    ASSERT_TRUE(ir::verify(drawn.graph)) << ir::verify(drawn.graph).error().text();
    ir::Graph folded = drawn.graph;
    const int64_t count = fold_pads(folded);
    all += count;
    if (count == 0) {  // some window would hold padding alone
      EXPECT_EQ(ir::print(folded, true), ir::print(drawn.graph, true));
      continue;
    }
    ASSERT_TRUE(ir::verify(folded)) << ir::verify(folded).error().text();
    EXPECT_EQ(ir::dead_operators(folded), (std::vector<bool>{true, false}));
    EXPECT_EQ(ir::dead_operators(drawn.graph), (std::vector<bool>{false, false}));
    const std::vector<kernels::Values> inputs{drawn.input};
    for (const kernels::Path path : {kernels::Path::Reference, kernels::Path::Fast}) {
      kernels::Options options;
      options.path = path;
      const auto want = kernels::run_graph(drawn.graph, inputs, options);
      const auto got = kernels::run_graph(folded, inputs, options);
      ASSERT_TRUE(want) << want.error().text();
      ASSERT_TRUE(got) << got.error().text();
      EXPECT_EQ(*got, *want);
    }
    // The padding survives the text of the graph, which executables hold.
    const auto parsed = ir::parse(ir::print(folded, true));
    ASSERT_TRUE(parsed) << parsed.error().text();
    EXPECT_EQ(ir::print(*parsed, true), ir::print(folded, true));
  }
  EXPECT_GT(all, 60);
  EXPECT_LT(all, 300);
}

TEST(FoldPads, LeavesWhatItCannotTake) {
  const auto takes = [](uint64_t seed) {
    Drawn drawn = padded_convolution(seed);
    return fold_pads(drawn.graph) == 1;
  };
  uint64_t taken = 0;
  while (!takes(taken)) ++taken;
  const auto folds = [&](auto change) {
    Drawn drawn = padded_convolution(taken);
    change(drawn.graph);
    return fold_pads(drawn.graph);
  };
  EXPECT_EQ(folds([](ir::Graph&) {}), 1);
  const auto set = [](ir::Graph& g, size_t index, int32_t value) {
    std::memcpy(g.tensors[1].data.data() + 4 * index, &value, 4);
  };
  EXPECT_EQ(folds([&](ir::Graph& g) { set(g, 2, 8); }), 0) << "further than a kernel reaches";
  EXPECT_EQ(folds([&](ir::Graph& g) { set(g, 3, -1); }), 0);
  EXPECT_EQ(folds([&](ir::Graph& g) { set(g, 0, 1); }), 0) << "the batch";
  EXPECT_EQ(folds([&](ir::Graph& g) { set(g, 7, 1); }), 0) << "channels";
  EXPECT_EQ(folds([](ir::Graph& g) { g.tensors[2].quant.zero_point[0] += 1; }), 0) << "another zero point";
  EXPECT_EQ(folds([](ir::Graph& g) { g.tensors[1].is_constant = false; }), 0) << "amounts made at run time";
  EXPECT_EQ(folds([](ir::Graph& g) { g.tensors[1].data.pop_back(); }), 0) << "amounts cut short";
  // An output of the model stays alive beside the convolution that no longer reads it.
  Drawn drawn = padded_convolution(taken);
  drawn.graph.outputs.push_back(2);
  EXPECT_EQ(fold_pads(drawn.graph), 1);
  EXPECT_EQ(ir::dead_operators(drawn.graph), (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace peraxis::passes
