// Wrong calls and broken graphs are errors with a sentence, never a crash.
#include <gmock/gmock.h>

#include "base/rng.hpp"
#include "graphs.hpp"

namespace peraxis::kernels {
namespace {

using ir::OpKind;
using testing::HasSubstr;

ir::Graph good_convolution() {
  ir::Tensor weights = int8_tensor({2, 3, 3, 3}, 0.01F, 0);
  make_constant(weights, std::vector<uint8_t>(54, 1));
  return one_op(OpKind::Conv2D, ir::ConvAttributes{{1, 1, 1, 1}},
                {int8_tensor({1, 4, 5, 3}, 0.1F, 0), weights, int32_constant({2}, {1, 2}),
                 int8_tensor({1, 4, 5, 2}, 0.1F, 0)});
}

void expect_refused(const ir::Graph& graph, const char* part) {
  for (const Path path : {Path::Reference, Path::Fast}) {
    std::vector<std::vector<uint8_t>> inputs;
    for (const int32_t tensor : graph.inputs) {
      inputs.emplace_back(static_cast<size_t>(graph.tensor(tensor).bytes()), uint8_t{1});
    }
    const auto result = run(graph, inputs, {path});
    ASSERT_FALSE(result) << "expected an error with '" << part << "'";
    EXPECT_THAT(result.error().text(), HasSubstr(part));
  }
}

TEST(Calls, WrongSizesAndCounts) {
  const ir::Graph graph = good_convolution();
  std::vector<uint8_t> input(60, 0);
  std::vector<uint8_t> output(40, 0);
  const auto call = [&](size_t op, size_t input_bytes, size_t output_bytes, size_t count) {
    const Values in[] = {Values(input).first(input_bytes), graph.tensors[1].data, graph.tensors[2].data};
    const std::span<uint8_t> out[] = {std::span(output).first(output_bytes)};
    return run_op(graph, op, std::span(in).first(count), out, {});
  };
  EXPECT_TRUE(call(0, 60, 40, 3));
  EXPECT_THAT(call(1, 60, 40, 3).error().message, HasSubstr("operator 1 does not exist, the graph has 1"));
  EXPECT_THAT(call(0, 59, 40, 3).error().message, HasSubstr("has 59 bytes, expected 60"));
  EXPECT_THAT(call(0, 60, 39, 3).error().message, HasSubstr("has 39 bytes, expected 40"));
  EXPECT_THAT(call(0, 0, 40, 3).error().message, HasSubstr("has 0 bytes, expected 60"));
  EXPECT_THAT(call(0, 60, 40, 2).error().message, HasSubstr("called with 2 inputs"));
}

TEST(Calls, GraphInputs) {
  const ir::Graph graph = good_convolution();
  EXPECT_THAT(run(graph, {}).error().message, HasSubstr("0 inputs were given"));
  EXPECT_THAT(run(graph, {{1, 2, 3}}).error().message, HasSubstr("has 3 bytes, expected 60"));
}

TEST(Graphs, BrokenConvolutions) {
  ir::Graph graph = good_convolution();
  graph.tensors[3].shape = {1, 5, 4, 2};
  expect_refused(graph, "expected [1,4,5,2]");

  graph = good_convolution();
  graph.ops[0].attributes = ir::SoftmaxAttributes{};
  expect_refused(graph, "attributes belong to another");

  graph = good_convolution();
  std::get<ir::ConvAttributes>(graph.ops[0].attributes).stride_w = 0;
  expect_refused(graph, "must be positive");

  graph = good_convolution();
  graph.tensors[1].shape = {3, 3, 3, 2};
  expect_refused(graph, "do not fit 3 input and 2 output channels");

  graph = good_convolution();
  graph.tensors[1].quant.scale = {0.1F, 0.2F, 0.3F};
  expect_refused(graph, "3 scales");

  graph = good_convolution();
  graph.tensors[0].quant.zero_point = {200};
  expect_refused(graph, "zero point 200");

  graph = good_convolution();
  graph.tensors[0].quant = {};
  expect_refused(graph, "0 scales");

  graph = good_convolution();
  graph.tensors[3].quant.scale = {0.0F};
  expect_refused(graph, "not a positive number");

  graph = good_convolution();
  graph.ops[0].inputs[2] = ir::kAbsent;
  expect_refused(graph, "input 2 is missing");

  graph = good_convolution();
  graph.tensors[1].data.pop_back();
  expect_refused(graph, "53 bytes, expected 54");

  graph = good_convolution();
  graph.tensors[2] = int32_constant({3}, {1, 2, 3});
  expect_refused(graph, "expected 2 int32 values");
}

TEST(Graphs, WrongIndices) {
  ir::Graph graph = good_convolution();
  graph.ops[0].inputs[1] = 9;
  expect_refused(graph, "names a tensor that is not one of the graph's 4");
  graph = good_convolution();
  graph.ops[0].outputs[0] = 0;
  expect_refused(graph, "already has a value");
  graph = good_convolution();
  graph.ops.clear();
  expect_refused(graph, "never written");
}

TEST(Graphs, BrokenOthers) {
  expect_refused(one_op(OpKind::Add, ir::BinaryAttributes{},
                        {int8_tensor({2, 3}, 1, 0), int8_tensor({2}, 1, 0), int8_tensor({2, 3}, 1, 0)}),
                 "do not broadcast");
  expect_refused(one_op(OpKind::Add, ir::BinaryAttributes{},
                        {int8_tensor({2}, 1, 0), int8_tensor({2}, 1, 0), int8_tensor({2}, 1e-7F, 0)}),
                 "2^19 times finer");
  expect_refused(
      one_op(OpKind::Logistic, ir::NoAttributes{}, {int8_tensor({2}, 1, 0), int8_tensor({2}, 0.01F, 0)}),
      "takes exactly 1/256");
  expect_refused(
      one_op(OpKind::Reshape, ir::NoAttributes{}, {int8_tensor({2, 3}, 1, 0), int8_tensor({5}, 1, 0)}),
      "cannot become");
  expect_refused(one_op(OpKind::Transpose, ir::NoAttributes{},
                        {int8_tensor({2, 3}, 1, 0), int32_constant({2}, {0, 0}), int8_tensor({2, 2}, 1, 0)}),
                 "");
  expect_refused(one_op(OpKind::Pad, ir::NoAttributes{},
                        {int8_tensor({2}, 1, 0), int32_constant({1, 2}, {2147483647, -2147483647}),
                         int8_tensor({2}, 1, 0)}),
                 "");
  expect_refused(one_op(OpKind::Mean, ir::ReduceAttributes{},
                        {int8_tensor({2, 3}, 1, 0), int32_constant({1}, {2}), int8_tensor({2}, 1, 0)}),
                 "");
  ir::SplitAttributes three;
  three.num_splits = 3;
  expect_refused(one_op(OpKind::Split, three,
                        {int32_constant({}, {0}), int8_tensor({4}, 1, 0), int8_tensor({2}, 1, 0),
                         int8_tensor({2}, 1, 0)},
                        2),
                 "expected one axis and 3 outputs");
  ir::PoolAttributes flat;
  flat.filter_h = 0;
  expect_refused(
      one_op(OpKind::MaxPool2D, flat, {int8_tensor({1, 2, 2, 1}, 1, 0), int8_tensor({1, 2, 2, 1}, 1, 0)}),
      "must be positive");
  expect_refused(one_op(OpKind::Concatenation, ir::ConcatenationAttributes{},
                        {int8_tensor({2}, 1, 0), int8_tensor({2}, 0.5F, 0), int8_tensor({4}, 1, 0)}),
                 "other quantization parameters");
  ir::Tensor truth = int8_tensor({2}, 1, 0);
  truth.type = ir::DataType::Bool;
  expect_refused(one_op(OpKind::LeakyRelu, ir::LeakyReluAttributes{}, {truth, truth}),
                 "is bool; supported here");
}

// What only the values can show is an error when the operator runs.
TEST(Graphs, ValuesWithoutAResult) {
  const ir::Tensor bytes = int8_tensor({2}, 1, 1);
  expect_refused(one_op(OpKind::Div, ir::BinaryAttributes{}, {bytes, bytes, bytes}), "a divisor is 0");
  const auto of_type = [](ir::DataType type, std::vector<int32_t> shape) {
    ir::Tensor t = int8_tensor(std::move(shape), 1, 0);
    t.type = type;
    t.quant = {};
    return t;
  };
  const ir::Tensor zeros = int32_constant({2}, {0, 0});
  const ir::Tensor numbers = of_type(ir::DataType::Int32, {2});
  for (const OpKind kind : {OpKind::FloorDiv, OpKind::FloorMod})
    expect_refused(one_op(kind, ir::NoAttributes{}, {numbers, zeros, numbers}), "a divisor is 0");
  const ir::Tensor lowest = int32_constant({2}, {INT32_MIN, INT32_MIN});
  expect_refused(
      one_op(OpKind::Div, ir::BinaryAttributes{}, {lowest, int32_constant({2}, {-1, -1}), numbers}),
      "-2^31 is divided by -1");
  // The test's inputs are bytes of 1: an int8 value of 1 below a zero point of 2 is negative.
  const ir::Tensor below = int8_tensor({2}, 1, 2);
  for (const OpKind kind : {OpKind::Sqrt, OpKind::Rsqrt})
    expect_refused(one_op(kind, ir::NoAttributes{}, {below, below}), "an input is negative");
  for (const int32_t index : {-1, 3, INT32_MAX, INT32_MIN}) {
    expect_refused(one_op(OpKind::Gather, ir::GatherAttributes{},
                          {int8_tensor({3}, 1, 0), int32_constant({1}, {index}), int8_tensor({1}, 1, 0)}),
                   "is outside axis 0 of size 3");
    expect_refused(one_op(OpKind::GatherNd, ir::NoAttributes{},
                          {int8_tensor({3}, 1, 0), int32_constant({1, 1}, {index}), int8_tensor({1}, 1, 0)}),
                   "is outside dimension 0 of size 3");
  }
  const auto range = [&](int32_t start, int32_t limit, int32_t step) {
    return one_op(
        OpKind::Range, ir::NoAttributes{},
        {int32_constant({}, {start}), int32_constant({}, {limit}), int32_constant({}, {step}), numbers});
  };
  expect_refused(range(0, 2, 0), "gives -1 values, the model states 2");
  expect_refused(range(0, 2, -1), "gives -1 values");
  expect_refused(range(INT32_MIN, INT32_MAX, 1), "the model states 2");
  // A shape that is computed when the graph runs.
  const ir::Tensor shape = of_type(ir::DataType::Int32, {1});
  expect_refused(
      one_op(OpKind::Reshape, ir::NoAttributes{}, {int8_tensor({2}, 1, 0), shape, int8_tensor({2}, 1, 0)}),
      "shape [16843009] does not hold the 2 elements");
  expect_refused(one_op(OpKind::BroadcastTo, ir::NoAttributes{},
                        {int8_tensor({1}, 1, 0), shape, int8_tensor({2}, 1, 0)}),
                 "computed at run time is [16843009]");
  expect_refused(
      one_op(OpKind::Fill, ir::NoAttributes{}, {shape, int8_tensor({}, 1, 0), int8_tensor({2}, 1, 0)}),
      "computed at run time is [16843009]");
}

struct Kind {
  OpKind kind;
  ir::Attributes attributes;
};

std::vector<Kind> all_kinds() {
  return {
#define PERAXIS_OP(kind, name, rule, type) {OpKind::kind, ir::type{}},
#include "ir/ops.def"
#undef PERAXIS_OP
  };
}

ir::DataType random_type(base::Rng& rng) {
  if (rng.one_in(2)) return ir::DataType::Int8;
  constexpr ir::DataType kOthers[] = {ir::DataType::Int32, ir::DataType::Int32, ir::DataType::Float32,
                                      ir::DataType::UInt8, ir::DataType::Int16, ir::DataType::Int64,
                                      ir::DataType::Bool};
  return kOthers[rng.uniform(0, static_cast<int64_t>(std::size(kOthers)) - 1)];
}

// A tensor of rank 0 to 4 and sizes 0 to 3, often of the shape and type before it, half constant.
ir::Tensor random_tensor(base::Rng& rng, std::vector<int32_t>& shape, ir::DataType& type) {
  if (rng.one_in(3)) type = random_type(rng);
  if (!rng.one_in(2)) {
    shape.clear();
    for (int64_t d = rng.uniform(0, 4); d > 0; --d) shape.push_back(static_cast<int32_t>(rng.uniform(0, 3)));
  }
  const int64_t zero_point = type == ir::DataType::Int8 && !rng.one_in(3) ? -128 : 0;
  ir::Tensor made = tensor(type, shape, 1.0F / 256.0F, zero_point);
  if (rng.one_in(2)) {
    std::vector<uint8_t> data(static_cast<size_t>(made.bytes()));
    for (uint8_t& b : data) b = static_cast<uint8_t>(rng.one_in(5) ? rng.uniform(0, 255) : 0);
    make_constant(made, std::move(data));
  }
  return made;
}

// Any operator on a heap of small tensors: mostly refused, never out of bounds (the sanitizer build sees).
TEST(Graphs, RandomNonsenseIsSafe) {
  const std::vector<Kind> kinds = all_kinds();
  base::Rng rng(7);
  int accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<ir::Tensor> tensors;
    std::vector<int32_t> shape;
    ir::DataType type = random_type(rng);
    const int64_t count = rng.uniform(2, 5);
    for (int64_t t = 0; t < count; ++t) tensors.push_back(random_tensor(rng, shape, type));
    const auto any = [&] {
      return static_cast<size_t>(rng.uniform(0, static_cast<int64_t>(kinds.size()) - 1));
    };
    const size_t kind = any();
    const auto outputs = rng.one_in(4) ? static_cast<size_t>(rng.uniform(1, count)) : size_t{1};
    ir::Graph graph =
        one_op(kinds[kind].kind, kinds[rng.one_in(8) ? any() : kind].attributes, std::move(tensors), outputs);
    for (const int32_t out : graph.outputs) graph.tensors[static_cast<size_t>(out)].is_constant = false;
    std::vector<std::vector<uint8_t>> inputs;
    for (const int32_t in : graph.inputs) inputs.emplace_back(static_cast<size_t>(graph.tensor(in).bytes()));
    for (const Path path : {Path::Reference, Path::Fast}) accepted += run(graph, inputs, {path}) ? 1 : 0;
  }
  // Enough of them run to make the rest of the claim worth something.
  EXPECT_GT(accepted, 2000);
}

}  // namespace
}  // namespace peraxis::kernels
