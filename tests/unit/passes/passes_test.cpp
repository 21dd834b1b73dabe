// A graph after the passes gives the bytes of the graph before them, by the reference kernels; and each pass
// finds what it is for, and leaves what only looks like it.
#include "passes/passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "base/rng.hpp"
#include "builder.hpp"
#include "kernels/kernels.hpp"
#include "passes/cancel_transposes.hpp"
#include "passes/fold_constants.hpp"
#include "passes/fuse_activations.hpp"
#include "passes/merge_moves.hpp"
#include "passes/remove_quantize_pairs.hpp"

namespace peraxis::passes {
namespace {

using ir::DataType;
using ir::OpKind;

// A graph that grows by one operator of a tensor at a time.
struct Builder {
  ir::Graph g;

  explicit Builder(std::vector<int32_t> shape, DataType type = DataType::Int8, float scale = 0.05F,
                   int64_t zero = 3) {
    g.name = "drawn";
    g.inputs = {add(g, type, std::move(shape), {scale}, zero)};
  }

  const ir::Tensor& at(int32_t t) const { return g.tensor(t); }

  int32_t like(int32_t t, std::vector<int32_t> shape) {
    ir::Tensor copy = at(t);
    copy.name = fmt::format("t{}", g.tensors.size());
    copy.is_constant = false;
    copy.data.clear();
    copy.shape = std::move(shape);
    g.tensors.push_back(std::move(copy));
    return static_cast<int32_t>(g.tensors.size() - 1);
  }

  int32_t op(OpKind kind, std::vector<int32_t> inputs, int32_t output,
             ir::Attributes attributes = ir::NoAttributes{}) {
    g.ops.push_back({kind, std::move(inputs), {output}, std::move(attributes)});
    return output;
  }

  int32_t transpose(int32_t t, const std::vector<int32_t>& order) {
    std::vector<int32_t> shape;
    for (const int32_t from : order) shape.push_back(at(t).shape[static_cast<size_t>(from)]);
    const int32_t by = constant(g, DataType::Int32, {static_cast<int32_t>(order.size())}, order);
    return op(OpKind::Transpose, {t, by}, like(t, shape));
  }

  int32_t reshape(int32_t t, const std::vector<int32_t>& shape) {
    const int32_t to = constant(g, DataType::Int32, {static_cast<int32_t>(shape.size())}, shape);
    return op(OpKind::Reshape, {t, to}, like(t, shape));
  }

  int32_t quantize(int32_t t, DataType type, float scale, int64_t zero) {
    return op(OpKind::Quantize, {t}, add(g, type, at(t).shape, {scale}, zero));
  }

  int32_t dequantize(int32_t t) {
    const int32_t out = add(g, DataType::Float32, at(t).shape, {}, 0);
    return op(OpKind::Dequantize, {t}, out);
  }

  // Addition of a constant: of one value, of the last dimension's values or of all.
  int32_t add_constant_operand(int32_t t, base::Rng& rng) {
    std::vector<int32_t> shape = at(t).shape;
    const int64_t which = rng.uniform(0, 2);
    if (which == 0) shape = {1};
    if (which == 1) shape = {shape.back()};
    const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    std::vector<int8_t> values(static_cast<size_t>(count));
    for (int8_t& v : values) v = static_cast<int8_t>(rng.uniform(-128, 127));
    const int32_t operand = constant(g, DataType::Int8, shape, values, {0.03F});
    return op(OpKind::Add, {t, operand}, add(g, DataType::Int8, at(t).shape, {0.07F}, -5),
              ir::BinaryAttributes{});
  }

  int32_t relu(int32_t t, OpKind kind) { return op(kind, {t}, like(t, at(t).shape)); }

  // A 1x1 convolution to as many channels.
  int32_t convolution(int32_t t, base::Rng& rng) {
    const int32_t c = at(t).shape[3];
    std::vector<int8_t> weights(static_cast<size_t>(c * c));
    for (int8_t& v : weights) v = static_cast<int8_t>(rng.uniform(-127, 127));
    const int32_t filter =
        constant(g, DataType::Int8, {c, 1, 1, c}, weights, std::vector<float>(static_cast<size_t>(c), 0.01F));
    g.tensors[static_cast<size_t>(filter)].quant.quantized_dimension = 0;
    const int32_t bias =
        constant(g, DataType::Int32, {c},
                 std::vector<int32_t>(static_cast<size_t>(c), static_cast<int32_t>(rng.uniform(-500, 500))));
    return op(OpKind::Conv2D, {t, filter, bias}, add(g, DataType::Int8, at(t).shape, {0.04F}, -20),
              ir::ConvAttributes{});
  }
};

std::vector<std::vector<uint8_t>> run(const ir::Graph& graph, uint64_t seed) {
  base::Rng rng(seed);
  std::vector<std::vector<uint8_t>> data;
  for (const int32_t t : graph.inputs) {
    data.emplace_back(static_cast<size_t>(graph.tensor(t).bytes()));
    for (uint8_t& v : data.back()) v = static_cast<uint8_t>(rng.uniform(0, 255));
  }
  const std::vector<kernels::Values> inputs(data.begin(), data.end());
  kernels::Options options;
  options.path = kernels::Path::Reference;
  auto made = kernels::run_graph(graph, inputs, options);
  EXPECT_TRUE(made) << (made ? "" : made.error().text());
  return made ? *made : std::vector<std::vector<uint8_t>>();
}

int64_t live(const ir::Graph& graph) {
  const std::vector<bool> dead = ir::dead_operators(graph);
  return std::count(dead.begin(), dead.end(), false);
}

void expect_same(const ir::Graph& before, const ir::Graph& after) {
  ASSERT_TRUE(ir::verify(before)) << ir::verify(before).error().text();
  ASSERT_TRUE(ir::verify(after)) << ir::verify(after).error().text() << ir::print(after);
  ASSERT_EQ(before.ops.size(), after.ops.size());
  ASSERT_EQ(before.outputs, after.outputs);
  for (size_t t = 0; t < before.tensors.size(); ++t) {
    EXPECT_EQ(before.tensors[t].name, after.tensors[t].name);
    EXPECT_EQ(before.tensors[t].shape, after.tensors[t].shape);
    EXPECT_EQ(before.tensors[t].quant, after.tensors[t].quant);
  }
  for (uint64_t seed = 1; seed < 3; ++seed)
    EXPECT_EQ(run(before, seed), run(after, seed)) << ir::print(after);
  // Executables hold the graph as text.
  const auto parsed = ir::parse(ir::print(after, true));
  ASSERT_TRUE(parsed) << parsed.error().text();
}

std::vector<int32_t> shuffled(size_t rank, base::Rng& rng) {
  std::vector<int32_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = rank; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(rng.uniform(0, static_cast<int64_t>(i) - 1))]);
  return order;
}

// A walk over everything the passes look for, with branches and outputs in the middle.
ir::Graph drawn(uint64_t seed) {
  base::Rng rng(seed);
  const auto extent = [&] { return static_cast<int32_t>(rng.uniform(1, 4)); };
  Builder b({1, extent(), extent(), extent()});
  int32_t t = b.g.inputs[0];
  std::vector<int32_t> undo;
  const int64_t steps = rng.uniform(2, 12);
  for (int64_t i = 0; i < steps; ++i) {
    const ir::Tensor now = b.at(t);
    if (now.type != DataType::Int8) {  // float or uint8: back
      t = rng.one_in(2) ? b.quantize(t, DataType::Int8, 0.05F, 3) : b.quantize(t, DataType::Int8, 0.06F, 0);
      continue;
    }
    const int32_t before = t;
    switch (rng.uniform(0, 8)) {
      case 0: {
        const std::vector<int32_t> order = shuffled(now.shape.size(), rng);
        t = b.transpose(t, order);
        undo.assign(order.size(), 0);
        for (size_t d = 0; d < order.size(); ++d)
          undo[static_cast<size_t>(order[d])] = static_cast<int32_t>(d);
        break;
      }
      case 1:
        if (undo.size() == now.shape.size()) t = b.transpose(t, undo);
        break;
      case 2:
        t = b.reshape(t, {1, 1, static_cast<int32_t>(now.elements()), 1});
        break;
      case 3:
        t = b.reshape(t, {1, static_cast<int32_t>(now.elements()), 1, 1});
        break;
      case 4:
        t = b.relu(t, rng.one_in(3) ? OpKind::Relu : rng.one_in(2) ? OpKind::Relu6 : OpKind::ReluN1To1);
        break;
      case 5:
        t = b.dequantize(t);
        break;
      case 6:
        t = rng.one_in(2) ? b.quantize(t, DataType::Int8, now.quant.scale[0], now.quant.zero_point[0])
                          : b.quantize(t, DataType::UInt8, now.quant.scale[0], now.quant.zero_point[0] + 128);
        break;
      case 7:
        t = b.add_constant_operand(t, rng);
        break;
      default:
        if (now.shape.size() == 4) t = b.convolution(t, rng);
    }
    if (rng.one_in(10) && t != before) b.g.outputs.push_back(t);
  }
  if (t == b.g.inputs[0]) t = b.relu(t, OpKind::Relu);
  b.g.outputs.push_back(t);
  return b.g;
}

TEST(Passes, DrawnGraphsKeepTheirBytes) {
  std::map<std::string, int64_t> fired;
  for (uint64_t seed = 0; seed < 6000 && !::testing::Test::HasFailure(); ++seed) {
    const ir::Graph before = drawn(seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, ir::print(before)));
    ir::Graph after = before;
    for (const Change& change : run_all(after)) fired[change.pass] += change.count;
    expect_same(before, after);
    EXPECT_LE(live(after), live(before));
    EXPECT_TRUE(run_all(after).empty() || live(after) <= live(before));
  }
  EXPECT_GT(fired["remove_quantize_pairs"], 300);
  EXPECT_GT(fired["merge_moves"], 300);
  EXPECT_GT(fired["cancel_transposes"], 10);
  EXPECT_GT(fired["fuse_activations"], 100);
}

TEST(FoldConstants, ChainsAndShapes) {
  Builder b({1, 2, 3, 4});
  const int32_t in = b.g.inputs[0];
  // SHAPE -> GATHER of an element; a grid of constants, transposed, added to the input.
  const int32_t shape = add(b.g, DataType::Int32, {4}, {}, 0);
  b.op(OpKind::Shape, {in}, shape);
  std::vector<int8_t> values(24);
  std::iota(values.begin(), values.end(), int8_t{-12});
  const int32_t grid = constant(b.g, DataType::Int8, {1, 4, 2, 3}, values, {0.05F});
  const int32_t turned = b.transpose(grid, {0, 2, 3, 1});
  const int32_t flat = b.reshape(turned, {24});
  const int32_t back = b.reshape(flat, {1, 2, 3, 4});
  const int32_t sum = b.op(OpKind::Add, {in, back}, add(b.g, DataType::Int8, {1, 2, 3, 4}, {0.1F}, 0),
                           ir::BinaryAttributes{});
  b.g.outputs = {sum, shape};
  ir::Graph after = b.g;
  EXPECT_EQ(fold_constants(after), 4);
  expect_same(b.g, after);
  EXPECT_EQ(live(after), 2) << "the addition, and SHAPE, which is an output";
  EXPECT_TRUE(after.tensor(after.ops.back().inputs[1]).is_constant);
}

TEST(FoldConstants, LimitsWhatItMakes) {
  Builder b({1, 1, 1, 1});
  const int32_t one = constant(b.g, DataType::Int8, {1, 1, 1, 1}, std::vector<int8_t>{7}, {0.05F});
  const int32_t to = constant(b.g, DataType::Int32, {4}, std::vector<int32_t>{1, 8192, 8192, 2});
  const int32_t wide = b.op(OpKind::BroadcastTo, {one, to}, b.like(one, {1, 8192, 8192, 2}));
  b.g.outputs = {b.relu(wide, OpKind::Relu)};
  EXPECT_EQ(fold_constants(b.g), 0) << "128 MiB of one constant";
}

TEST(RemoveQuantizePairs, OnlyWhatChangesNoByte) {
  const auto changes = [](auto build) {
    Builder b({1, 2, 2, 3});
    b.g.outputs = {b.relu(build(b, b.g.inputs[0]), OpKind::Relu)};
    ir::Graph after = b.g;
    const int64_t count = remove_quantize_pairs(after);
    expect_same(b.g, after);
    return std::pair(count, live(after));
  };
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_EQ(
      changes([](Builder& b, int32_t t) { return b.quantize(b.dequantize(t), DataType::Int8, 0.05F, 3); }),
      Pair(1, 1));
  EXPECT_EQ(changes([](Builder& b, int32_t t) { return b.quantize(t, DataType::Int8, 0.05F, 3); }),
            Pair(1, 1));
  EXPECT_EQ(changes([](Builder& b, int32_t t) {
              return b.quantize(b.quantize(t, DataType::UInt8, 0.05F, 131), DataType::Int8, 0.05F, 3);
            }),
            Pair(1, 1));
  // By way of a coarser scale values are lost: nothing may go but what equals one step.
  EXPECT_EQ(changes([](Builder& b, int32_t t) {
              return b.quantize(b.quantize(t, DataType::Int8, 0.2F, 0), DataType::Int8, 0.05F, 3);
            }),
            Pair(0, 3));
  EXPECT_EQ(changes([](Builder& b, int32_t t) { return b.quantize(t, DataType::Int8, 0.05F, 4); }),
            Pair(0, 2));
  // A change of scale by way of float is one QUANTIZE where no value lies between two steps.
  const auto by_float = [&](float scale) {
    return changes(
        [scale](Builder& b, int32_t t) { return b.quantize(b.dequantize(t), DataType::Int8, scale, 0); });
  };
  EXPECT_EQ(by_float(0.08F), Pair(1, 2));
  EXPECT_EQ(by_float(0.1F), Pair(0, 3)) << "halves are rounded another way";
}

TEST(FuseActivations, WhereNothingElseReadsAndScalesAgree) {
  const auto fused = [](auto change) {
    base::Rng rng(5);
    Builder b({1, 3, 3, 4});
    const int32_t conv = b.convolution(b.g.inputs[0], rng);
    const int32_t relu = b.relu(conv, OpKind::Relu6);
    b.g.outputs = {relu};
    change(b, conv, relu);
    ir::Graph after = b.g;
    const int64_t count = fuse_activations(after);
    expect_same(b.g, after);
    EXPECT_EQ(live(after), live(b.g) - count);
    return count;
  };
  EXPECT_EQ(fused([](Builder&, int32_t, int32_t) {}), 1);
  EXPECT_EQ(fused([](Builder& b, int32_t conv, int32_t) { b.g.outputs.push_back(conv); }), 0);
  EXPECT_EQ(
      fused([](Builder& b, int32_t conv, int32_t) { b.g.outputs.push_back(b.relu(conv, OpKind::Relu)); }), 0);
  EXPECT_EQ(fused([](Builder& b, int32_t, int32_t relu) {
              b.g.tensors[static_cast<size_t>(relu)].quant.scale[0] *= 2;
            }),
            0);
  EXPECT_EQ(fused([](Builder& b, int32_t, int32_t) {
              std::get<ir::ConvAttributes>(b.g.ops[0].attributes).activation = ir::Activation::Relu;
            }),
            0);
  EXPECT_EQ(fused([](Builder& b, int32_t, int32_t relu) { b.g.outputs = {b.relu(relu, OpKind::Relu)}; }), 1)
      << "the second one stays alone";
}

TEST(MergeMoves, OneOfMany) {
  Builder b({1, 2, 3, 4});
  const int32_t nchw = b.transpose(b.g.inputs[0], {0, 3, 1, 2});
  const int32_t back = b.transpose(nchw, {0, 2, 3, 1});
  const int32_t flat = b.reshape(b.reshape(back, {24}), {6, 4});
  const int32_t odd = b.transpose(b.transpose(nchw, {0, 2, 1, 3}), {2, 1, 0, 3});
  b.g.outputs = {b.relu(flat, OpKind::Relu), b.relu(odd, OpKind::Relu)};
  ir::Graph after = b.g;
  EXPECT_GE(merge_moves(after), 4);
  expect_same(b.g, after);
  EXPECT_EQ(live(after), 4) << "a reshape, a transpose and what reads them";
}

TEST(MergeMoves, TransposeOfOnesIsAReshape) {
  Builder b({1, 5, 1, 4});
  b.g.outputs = {b.relu(b.transpose(b.g.inputs[0], {2, 0, 1, 3}), OpKind::Relu)};
  ir::Graph after = b.g;
  EXPECT_EQ(merge_moves(after), 1);
  expect_same(b.g, after);
  EXPECT_EQ(after.ops[0].kind, OpKind::Reshape);
}

TEST(CancelTransposes, IslandsOfSingleValues) {
  base::Rng rng(7);
  const auto cancelled = [&](auto change) {
    Builder b({1, 2, 3, 4});
    int32_t t = b.transpose(b.g.inputs[0], {0, 3, 1, 2});
    const int32_t first = t;
    t = b.relu(b.add_constant_operand(t, rng), OpKind::Relu);
    t = b.quantize(t, DataType::Int8, 0.09F, 11);
    b.g.outputs = {b.relu(b.transpose(t, {0, 2, 3, 1}), OpKind::Relu)};
    change(b, first);
    ir::Graph after = b.g;
    const int64_t count = cancel_transposes(after);
    expect_same(b.g, after);
    EXPECT_EQ(live(after), live(b.g) - 2 * count);
    return count;
  };
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(cancelled([](Builder&, int32_t) {}), 1) << "constants of each shape are drawn";
  EXPECT_EQ(cancelled([](Builder& b, int32_t first) { b.g.outputs.push_back(first); }), 0);
  // Scales along a dimension belong to it, also where another has as many values.
  Builder b({3, 3}, DataType::Float32);
  b.g.tensors[0].quant = {};
  const int32_t turned = b.transpose(b.g.inputs[0], {1, 0});
  const int32_t quantized = add(b.g, DataType::Int8, {3, 3}, {0.01F, 0.1F, 1.0F}, 0);
  b.op(OpKind::Quantize, {turned}, quantized);
  b.g.outputs = {b.transpose(b.dequantize(quantized), {1, 0})};
  ir::Graph after = b.g;
  EXPECT_EQ(cancel_transposes(after), 0);
  expect_same(b.g, after);
}

}  // namespace
}  // namespace peraxis::passes
