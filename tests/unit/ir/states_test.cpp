// What a graph keeps between runs: the rules, and the operators that do so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graphs.hpp"
#include "ir/operands.hpp"

namespace peraxis::ir {
namespace {

using testing::HasSubstr;

struct StateBreak {
  const char* what;
  std::function<void(Graph&)> change;
  const char* message;
};

void expect_refusals(const Graph& valid, const std::vector<StateBreak>& breaks) {
  ASSERT_TRUE(verify(valid)) << verify(valid).error().text();
  for (const StateBreak& one : breaks) {
    Graph graph = valid;
    one.change(graph);
    const Status status = verify(graph);
    ASSERT_FALSE(status) << one.what;
    EXPECT_THAT(status.error().message, HasSubstr(one.message)) << one.what;
  }
}

TEST(States, AreReadAndWrittenByOneOperatorAndNothingElse) {
  constexpr const char* kOnly = "is a state, which one operator reads and writes and nothing else does";
  expect_refusals(
      test::svdf(),
      {{"index", [](Graph& g) { g.states[0].before = 70; }, "what is read of state 0 is tensor 70"},
       {"negative", [](Graph& g) { g.states[0].after = -1; }, "what is written of state 0 is tensor -1"},
       {"twice", [](Graph& g) { g.states.push_back(g.states[0]); }, "is written a second time"},
       {"input", [](Graph& g) { g.inputs.push_back(g.states[0].before); }, "is written a second time"},
       {"output", [](Graph& g) { g.outputs.push_back(g.states[0].after); }, kOnly},
       {"output of old", [](Graph& g) { g.outputs.push_back(g.states[0].before); }, kOnly},
       {"same", [](Graph& g) { g.states[0].after = g.states[0].before; }, kOnly},
       {"unwritten", [](Graph& g) { g.states[0].after = g.inputs[0]; }, "different types, shapes or scales"},
       {"shape", [](Graph& g) { g.tensors[6].shape = {2, 1}; }, "different types, shapes or scales"},
       {"constant", [](Graph& g) { g.states[0].before = 1; }, "is written but is a constant"}});
}

TEST(States, SvdfRefusesWithASentence) {
  const auto attributes = [](Graph& g) -> SvdfAttributes& {
    return std::get<SvdfAttributes>(g.ops[0].attributes);
  };
  expect_refusals(
      test::svdf(),
      {{"rank 0", [&](Graph& g) { attributes(g).rank = 0; }, "rank 0 does not divide the 1 filters"},
       {"rank", [&](Graph& g) { attributes(g).rank = 2; }, "rank 2 does not divide"},
       {"state", [](Graph& g) { g.tensors[4].shape = g.tensors[6].shape = {1, 3}; },
        "the operator gives [1,2]"},
       {"depth", [](Graph& g) { g.tensors[0].shape = {1, 2}; }, "the operator gives [1,2]"},
       {"type", [](Graph& g) { g.tensors[2].type = DataType::Int32; }, "is int32; supported here: float32"},
       {"computed",
        [](Graph& g) {
          g.tensors[1].is_constant = false;
          g.tensors[1].data.clear();
          g.inputs.push_back(1);
        },
        "is computed at run time"}});
}

TEST(States, LstmRefusesWithASentence) {
  const auto attributes = [](Graph& g) -> LstmAttributes& {
    return std::get<LstmAttributes>(g.ops[0].attributes);
  };
  const auto inputs = [](Graph& g) -> std::vector<int32_t>& { return g.ops[0].inputs; };
  expect_refusals(
      test::sequence_lstm(),
      {{"count", [&](Graph& g) { inputs(g).push_back(kAbsent); }, "21 inputs; it takes 20 or 24"},
       {"normalization", [&](Graph& g) { inputs(g).insert(inputs(g).end(), 4, 9); },
        "layer normalization (input 20) is not supported"},
       {"weights", [&](Graph& g) { inputs(g)[kLstmInputWeights + kCellGate] = kAbsent; },
        "input 3 is absent"},
       {"half an input gate", [&](Graph& g) { inputs(g)[kLstmInputWeights] = kAbsent; },
        "input 5 of the input gate without its weights"},
       {"peephole", [&](Graph& g) { inputs(g)[lstm_peephole(kOutputGate)] = 9; }, "input 9 is absent"},
       {"projection", [&](Graph& g) { inputs(g)[kLstmProjectionBias] = 9; }, "without its weights"},
       {"clip", [&](Graph& g) { attributes(g).cell_clip = -1; }, "must be 0 or more"},
       {"recurrent", [](Graph& g) { g.tensors[5].shape = {1, 4}; }, "the operator gives [2,2]"},
       {"cells", [](Graph& g) { g.tensors[14].shape = g.tensors[17].shape = {1, 3}; }, "it must have 2"},
       {"rank", [](Graph& g) { g.tensors[0].shape = {2, 3}; }, "has rank 2"}});
}

TEST(States, KeepOperatorsAlive) {
  Graph graph = test::svdf();
  graph.tensors.push_back(graph.tensors[0]);
  graph.outputs = {graph.inputs[0]};
  EXPECT_EQ(dead_operators(graph), std::vector<bool>{false});
  graph.states.clear();
  EXPECT_EQ(dead_operators(graph), std::vector<bool>{true});
}

TEST(States, BeginAtZero) {
  Tensor tensor = test::activation("state", {2, 2});
  EXPECT_EQ(initial_state(tensor), std::vector<uint8_t>(4, 3));  // the zero point of int8
  tensor.type = DataType::Int16;
  tensor.quant.zero_point = {0};
  EXPECT_EQ(initial_state(tensor), std::vector<uint8_t>(8, 0));
}

}  // namespace
}  // namespace peraxis::ir
