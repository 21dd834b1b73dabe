// Shapes that operators compute of fixed shapes, and the constants they make; right values by hand.
#include "passes/resolve_shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "builder.hpp"

namespace peraxis::passes {
namespace {

using ir::DataType;
using ir::OpKind;
using testing::ElementsAre;
using testing::HasSubstr;

int32_t open(ir::Graph& g, DataType type, std::vector<float> scale = {}) {
  const int32_t t = add(g, type, {}, std::move(scale), 0);
  g.tensors[static_cast<size_t>(t)].open_shape = true;
  return t;
}

// Twice the rows and columns of the input, computed: SHAPE, STRIDED_SLICE 1:3, MUL by 2, RESIZE.
ir::Graph upsampled(std::vector<int32_t> shape, bool stated) {
  ir::Graph g;
  const int32_t in = add(g, DataType::Int8, std::move(shape), {0.5F}, 0);
  const auto between = [&](std::vector<int32_t> sizes) {
    return stated ? add(g, DataType::Int32, std::move(sizes), {}, 0) : open(g, DataType::Int32);
  };
  const int32_t all = between({4});
  const int32_t begin = constant<int32_t>(g, DataType::Int32, {1}, {1});
  const int32_t end = constant<int32_t>(g, DataType::Int32, {1}, {3});
  const int32_t step = constant<int32_t>(g, DataType::Int32, {1}, {1});
  const int32_t two = between({2});
  const int32_t factor = constant<int32_t>(g, DataType::Int32, {2}, {2, 3});
  const int32_t size = between({2});
  const int32_t out =
      stated ? add(g, DataType::Int8, {1, 6, 12, 2}, {0.5F}, 0) : open(g, DataType::Int8, {0.5F});
  g.ops = {{OpKind::Shape, {in}, {all}, ir::NoAttributes{}},
           {OpKind::StridedSlice, {all, begin, end, step}, {two}, ir::StridedSliceAttributes{}},
           {OpKind::Mul, {two, factor}, {size}, ir::BinaryAttributes{}},
           {OpKind::ResizeNearestNeighbor, {in, size}, {out}, ir::ResizeAttributes{}}};
  g.inputs = {in};
  g.outputs = {out};
  return g;
}

TEST(ResolveShapes, SizesComputedFromShapes) {
  for (const bool stated : {false, true}) {
    ir::Graph g = upsampled({1, 3, 4, 2}, stated);
    EXPECT_FALSE(ir::verify(g));
    const auto computed = resolve_shapes(g);
    ASSERT_TRUE(computed) << computed.error().text();
    EXPECT_EQ(*computed, 3);
    EXPECT_THAT(g.tensor(g.outputs[0]).shape, ElementsAre(1, 6, 12, 2));
    const ir::Tensor& size = g.tensor(g.ops[3].inputs[1]);
    EXPECT_TRUE(size.is_constant);
    EXPECT_THAT(size.data, ElementsAre(6, 0, 0, 0, 12, 0, 0, 0));
  }
}

TEST(ResolveShapes, AGraphThatVerifiesStaysAsItIs) {
  ir::Graph g;
  const int32_t in = add(g, DataType::Int8, {1, 6}, {0.5F}, 0);
  const int32_t a = constant<int32_t>(g, DataType::Int32, {2}, {3, 2});
  const int32_t half = constant<int32_t>(g, DataType::Int32, {2}, {0, 0});
  const int32_t sum = add(g, DataType::Int32, {2}, {}, 0);
  const int32_t out = add(g, DataType::Int8, {3, 2}, {0.5F}, 0);
  g.ops = {{OpKind::Add, {a, half}, {sum}, ir::BinaryAttributes{}},
           {OpKind::Reshape, {in, sum}, {out}, ir::NoAttributes{}}};
  g.inputs = {in};
  g.outputs = {out};
  const std::string before = ir::print(g, true);
  const auto computed = resolve_shapes(g);
  ASSERT_TRUE(computed) << computed.error().text();
  EXPECT_EQ(*computed, 0);
  EXPECT_EQ(ir::print(g, true), before);
}

TEST(ResolveShapes, WeightsBehindDequantize) {
  ir::Graph g;
  const int32_t in = add(g, DataType::Float32, {1, 2}, {}, 0);
  const int32_t stored = constant<int8_t>(g, DataType::Int8, {4, 2}, {1, -2, 3, -4, 5, -6, 7, -8}, {0.5F});
  const int32_t weights = open(g, DataType::Float32);
  const int32_t out = open(g, DataType::Float32);
  g.ops = {{OpKind::Dequantize, {stored}, {weights}, ir::NoAttributes{}},
           {OpKind::FullyConnected, {in, weights}, {out}, ir::FullyConnectedAttributes{}}};
  g.inputs = {in};
  g.outputs = {out};
  const auto computed = resolve_shapes(g);
  ASSERT_TRUE(computed) << computed.error().text();
  EXPECT_EQ(*computed, 1);
  EXPECT_THAT(g.tensor(out).shape, ElementsAre(1, 4));
  const ir::Tensor& made = g.tensor(g.ops[1].inputs[1]);
  ASSERT_TRUE(made.is_constant);
  std::vector<float> values(8);
  std::memcpy(values.data(), made.data.data(), made.data.size());
  EXPECT_THAT(values, ElementsAre(0.5F, -1.0F, 1.5F, -2.0F, 2.5F, -3.0F, 3.5F, -4.0F));
}

TEST(ResolveShapes, WhatCannotBeResolvedIsRefusedByName) {
  ir::Graph g = upsampled({1, 3, 4, 2}, false);
  g.ops[0] = {OpKind::Cast, {add(g, DataType::Int32, {4}, {}, 0)}, g.ops[0].outputs, ir::NoAttributes{}};
  g.inputs.push_back(g.ops[0].inputs[0]);
  const auto computed = resolve_shapes(g);
  ASSERT_FALSE(computed);
  EXPECT_THAT(computed.error().message, HasSubstr("resize_nearest_neighbor 3"));
  EXPECT_THAT(computed.error().message, HasSubstr("the size input (tensor 7 't7') is computed at run time"));
}

}  // namespace
}  // namespace peraxis::passes
