// The order of execution, what the observer sees, and outputs that are also read later.
#include "graphs.hpp"

namespace peraxis::kernels {
namespace {

// 0 -> relu-like add with itself -> 1 -> reshape -> 2; outputs 2, 1 and the input itself.
ir::Graph chain() {
  ir::Graph graph;
  graph.name = "chain";
  graph.tensors = {int8_tensor({2, 2}, 1.0F, 0), int8_tensor({2, 2}, 1.0F, 0), int8_tensor({4}, 1.0F, 0)};
  ir::Op add;
  add.kind = ir::OpKind::Add;
  add.inputs = {0, 0};
  add.outputs = {1};
  add.attributes = ir::BinaryAttributes{};
  ir::Op reshape;
  reshape.kind = ir::OpKind::Reshape;
  reshape.inputs = {1};
  reshape.outputs = {2};
  reshape.attributes = ir::NoAttributes{};
  graph.ops = {add, reshape};
  graph.inputs = {0};
  graph.outputs = {2, 1, 0};
  return graph;
}

TEST(RunGraph, OutputsInOrderAndEveryActivationObserved) {
  const std::vector<uint8_t> input = {1, 2, 3, 4};
  const Values views[] = {input};
  std::vector<int32_t> seen;
  const auto outputs = run_graph(chain(), views, {}, [&](int32_t tensor, Values values) {
    EXPECT_EQ(values.size(), 4U);
    EXPECT_EQ(values[3], tensor == 0 ? 4 : 8);
    seen.push_back(tensor);
  });
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(seen, (std::vector<int32_t>{0, 1, 2}));
  const std::vector<uint8_t> doubled = {2, 4, 6, 8};
  EXPECT_EQ(*outputs, (std::vector<std::vector<uint8_t>>{doubled, doubled, input}));
}

TEST(RunGraph, ReadingBeforeWritingIsAnError) {
  ir::Graph graph = chain();
  std::swap(graph.ops[0], graph.ops[1]);
  const auto outputs = run(graph, {{1, 2, 3, 4}});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().message, "operator 0 reads tensor 1 before anything has written it");
}

}  // namespace
}  // namespace peraxis::kernels
