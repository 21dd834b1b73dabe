// An operator whose outputs have no shape gets the one its rule demands: for every operator, the shape that
// its valid graph states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.hpp"
#include "ir/pads.hpp"

namespace peraxis::ir {
namespace {

using testing::HasSubstr;

constexpr OpKind kKinds[] = {
#define PERAXIS_OP(kind, name, rule, attributes) OpKind::kind,
#include "ir/ops.def"
#undef PERAXIS_OP
};

Graph opened(Graph graph) {
  for (const int32_t output : graph.ops[0].outputs) {
    Tensor& tensor = graph.tensors[static_cast<size_t>(output)];
    tensor.shape.clear();
    tensor.open_shape = true;
  }
  return graph;
}

class InferShapes : public testing::TestWithParam<OpKind> {};

TEST_P(InferShapes, StatesWhatTheRuleDemands) {
  Graph stated = test::valid(GetParam());
  if (GetParam() == OpKind::Range) {  // its length is in its operands: 3 to 11 by 2
    for (int32_t i = 0; i < 3; ++i) {
      const int32_t values[] = {3, 11, 2};
      stated.tensors[static_cast<size_t>(i)] = test::scalar_int32("operand", values[i]);
    }
    stated.inputs.clear();
    stated.tensors[3].type = DataType::Int32;
    stated.tensors[3].shape = {4};
  }
  Graph graph = opened(stated);
  EXPECT_FALSE(verify(graph));
  const Status status = infer_shapes(graph, 0);
  ASSERT_TRUE(status) << status.error().text();
  for (size_t i = 0; i < stated.tensors.size(); ++i) {
    EXPECT_EQ(graph.tensors[i].shape, stated.tensors[i].shape) << i;
    EXPECT_FALSE(graph.tensors[i].open_shape) << i;
  }
  EXPECT_TRUE(verify(graph));
}

INSTANTIATE_TEST_SUITE_P(EveryOperator, InferShapes, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<OpKind>& kind) {
                           return std::string(op_name(kind.param));
                         });

TEST(InferShapesOf, SomeOutputsOnly) {
  Graph graph = test::valid(OpKind::Split);
  Tensor& second = graph.tensors[static_cast<size_t>(graph.ops[0].outputs[1])];
  const std::vector<int32_t> shape = std::exchange(second.shape, {});
  second.open_shape = true;
  ASSERT_TRUE(infer_shapes(graph, 0));
  EXPECT_EQ(second.shape, shape);
}

TEST(InferShapesOf, ARuleThatIsBrokenSaysSo) {
  Graph graph = opened(test::valid(OpKind::Conv2D));
  std::get<ConvAttributes>(graph.ops[0].attributes).stride_h = 0;
  EXPECT_THAT(infer_shapes(graph, 0).error().message, HasSubstr("all must be at least 1"));
}

TEST(InferShapesOf, ShapesKnownAtRunTimeOnly) {
  for (const OpKind kind : {OpKind::Reshape, OpKind::BroadcastTo, OpKind::Fill, OpKind::Range}) {
    Graph graph = opened(test::valid(kind));
    const int32_t operand =
        graph.ops[0].inputs[kind == OpKind::Reshape || kind == OpKind::BroadcastTo ? 1 : 0];
    Tensor& shape = graph.tensors[static_cast<size_t>(operand)];
    shape.is_constant = false;
    shape.data.clear();
    const Status status = infer_shapes(graph, 0);
    ASSERT_FALSE(status) << op_name(kind);
    EXPECT_THAT(status.error().message, HasSubstr("depends on values known at run time")) << op_name(kind);
  }
}

TEST(InferShapesOf, AnOpenInputIsRefused) {
  Graph graph = opened(test::valid(OpKind::Conv2D));
  graph.tensors[static_cast<size_t>(graph.ops[0].inputs[0])].open_shape = true;
  EXPECT_THAT(infer_shapes(graph, 0).error().message, HasSubstr("it has no shape"));
}

TEST(InferShapesOf, RanksAreStillChecked) {
  // The output of a TRANSPOSE_CONV is a constant's values: five of them are no map.
  Graph graph = opened(test::valid(OpKind::TransposeConv));
  Tensor& shape = graph.tensors[static_cast<size_t>(graph.ops[0].inputs[0])];
  shape.shape = {5};
  shape.data.insert(shape.data.end(), {1, 0, 0, 0});
  EXPECT_THAT(infer_shapes(graph, 0).error().message, HasSubstr("has rank 5; it must be 4"));
}

TEST(InferShapesOf, TheTextFormKeepsThem) {
  const Graph graph = opened(test::valid(OpKind::Conv2D));
  const std::string text = print(graph, true);
  EXPECT_THAT(text, HasSubstr("[] open"));
  const auto again = parse(text);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(again->tensor(graph.ops[0].outputs[0]).open_shape);
  EXPECT_EQ(print(*again, true), text);
}

// Output of the shape-less operator, and the amounts, from the definition: 7 rows every 2 are 4 windows of 2
// (8 rows: one below); 9 columns every 1 are 9 windows of 3 (11 columns: one on each side).
TEST(InferShapes, StatesEvenPads) {
  for (const OpKind kind : {OpKind::Conv2D, OpKind::MaxPool2D}) {
    Graph graph = opened(kind == OpKind::Conv2D ? test::conv_2d() : test::pool(kind));
    if (kind == OpKind::MaxPool2D) {
      PoolAttributes a;
      a.filter_h = a.stride_h = 2;
      a.filter_w = 3;
      graph.ops[0].attributes = a;
    }
    *pads_of(graph.ops[0]) = {0, 0, 0, 0, Pads::Rule::Even};
    EXPECT_FALSE(verify(graph));
    const Status status = infer_shapes(graph, 0);
    ASSERT_TRUE(status) << status.error().text();
    EXPECT_EQ(*pads_of(graph.ops[0]), (Pads{0, 1, 1, 1}));
    EXPECT_THAT(graph.tensor(graph.ops[0].outputs[0]).shape,
                testing::ElementsAre(1, 4, 9, kind == OpKind::Conv2D ? 4 : 3));
    EXPECT_TRUE(verify(graph));
  }
}

// 7 rows every 2 with a kernel of 2 make 14, 9 columns every 3 with one of 3 make 27.
TEST(InferShapes, StatesTransposedPads) {
  const auto stated = [](int32_t rows, int32_t columns, Pads::Rule rule) {
    Graph graph = test::valid(OpKind::TransposeConv);
    graph.tensors[0] = test::constant_int32("shape", {4}, {1, rows, columns, 4});
    *pads_of(graph.ops[0]) = {0, 0, 0, 0, rule};
    graph = opened(graph);
    EXPECT_TRUE(infer_shapes(graph, 0));
    EXPECT_TRUE(verify(graph));
    return *pads_of(graph.ops[0]);
  };
  EXPECT_EQ(stated(14, 27, Pads::Rule::Even), (Pads{0, 0, 0, 0}));
  EXPECT_EQ(stated(11, 25, Pads::Rule::Even), (Pads{1, 2, 1, 1}));
  EXPECT_EQ(stated(15, 28, Pads::Rule::Even), (Pads{0, -1, 0, -1}));
  EXPECT_EQ(stated(11, 29, Pads::Rule::Behind), (Pads{0, 3, 0, -2}));
}

}  // namespace
}  // namespace peraxis::ir
