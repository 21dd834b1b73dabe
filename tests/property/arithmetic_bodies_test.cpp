// Networks with averages and element-wise arithmetic between their convolutions: squeeze and excitation,
// gates, constants on either side, means before a classifier. As in bodies_test.cpp every operator is
// compared with the reference kernels on the inputs it really had, and under `exact` every activation is the
// reference's. Operators on the NPU are counted by kind.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph_builder.hpp"

namespace peraxis::property {
namespace {

constexpr uint64_t kBodies = 60;

class Body : public Builder {
 public:
  using Builder::Builder;

  int32_t convolution(int32_t from, int32_t outputs) {
    Layer l;
    l.outputs = outputs;
    random_quantization(*this, l);
    l.bias = true;
    l.gain = std::min(l.gain, 1.0);
    l.kernel_h = l.kernel_w = pick({1, 1, 3});
    l.attributes.pads.rule = ir::Pads::Rule::Even;
    return layer(from, l);
  }
  float scale_of(int32_t t) { return graph().tensor(t).quant.scale[0]; }
  // A constant of the activations' type.
  int32_t values(std::vector<int32_t> shape) {
    const int32_t t =
        add_tensor(std::move(shape), static_cast<float>(rng().uniform_real(0.01, 0.2)), zero_point());
    ir::Tensor& tensor = graph().tensors[static_cast<size_t>(t)];
    tensor.is_constant = true;
    tensor.data = random_bytes(tensor.elements(), false);
    return t;
  }
  int32_t pair(ir::OpKind kind, int32_t a, int32_t b, const std::vector<int32_t>& shape) {
    const bool product = kind == ir::OpKind::Mul;
    const float larger = std::max(scale_of(a), scale_of(b));
    const float scale = product ? scale_of(a) * scale_of(b) * static_cast<float>(rng().uniform_real(40, 250))
                                : larger * static_cast<float>(rng().uniform_real(0.7, 2));
    const int32_t out = add_tensor(shape, scale, zero_point());
    const bool compares = kind == ir::OpKind::Maximum || kind == ir::OpKind::Minimum;
    if (rng().one_in(3)) std::swap(a, b);
    if (compares) return op(kind, {a, b}, out, ir::NoAttributes{});
    return op(kind, {a, b}, out,
              ir::BinaryAttributes{rng().one_in(4) ? ir::Activation::Relu : ir::Activation::None});
  }
  ir::OpKind any_pair() {
    return pick({ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Mul, ir::OpKind::Mul, ir::OpKind::Maximum,
                 ir::OpKind::Minimum});
  }
  int32_t average(int32_t from, int32_t size, int32_t stride) {
    std::vector<int32_t> out = shape(from);
    for (const size_t d : {size_t{1}, size_t{2}}) out[d] = (out[d] - size) / stride + 1;
    const ir::QuantParams quant = graph().tensor(from).quant;
    return op(ir::OpKind::AveragePool2D, {from}, add_tensor(out, quant.scale[0], quant.zero_point[0]),
              ir::PoolAttributes{{}, stride, stride, size, size, ir::Activation::None});
  }
  int32_t mean(int32_t from, bool keep) {
    const int32_t axes = constant({2}, {1, 2}), c = shape(from)[3];
    const int32_t out =
        add_tensor(keep ? std::vector{1, 1, 1, c} : std::vector{1, c},
                   scale_of(from) * static_cast<float>(rng().uniform_real(0.6, 1.2)), zero_point());
    return op(ir::OpKind::Mean, {from, axes}, out, ir::ReduceAttributes{keep});
  }
};

Case arithmetic_body(uint64_t seed) {
  base::Rng choice(seed);
  Body b(choice.next(), choice.one_in(3));
  b.set_mild();
  Case out;
  set_tiles(b, out);
  const auto h = static_cast<int32_t>(b.rng().uniform(3, 9));
  int32_t x = b.convolution(b.input({1, h, h + static_cast<int32_t>(b.rng().uniform(0, 4)), 3}),
                            b.pick({16, 24, 40}));
  std::vector<int32_t> made{x};
  for (int64_t i = b.rng().uniform(2, 4); i > 0; --i) {
    const std::vector<int32_t> shape = b.shape(x);
    switch (b.rng().uniform(0, 5)) {
      case 0: {  // squeeze and excitation
        const int32_t squeezed = b.mean(x, true);
        x = b.pair(ir::OpKind::Mul, x, b.convolution(b.convolution(squeezed, 8), shape[3]), shape);
        break;
      }
      case 1:  // one channel says where
        x = b.pair(b.any_pair(), x, b.convolution(x, 1), shape);
        break;
      case 2:
        x = b.pair(b.any_pair(), x, b.convolution(x, shape[3]), shape);
        break;
      case 3:
        x = b.pair(b.any_pair(), x,
                   b.values(b.pick<int>({0, 1}) == 0 ? std::vector<int32_t>{1}
                                                     : std::vector<int32_t>{1, 1, 1, shape[3]}),
                   shape);
        break;
      case 4:
        x = b.pair(b.any_pair(), x, b.values(shape), shape);
        break;
      default:
        if (std::min(shape[1], shape[2]) < 3) break;
        x = b.average(x, b.pick({2, 3}), b.pick({1, 2}));
        break;
    }
    made.push_back(x);
    if (b.rng().one_in(2)) x = b.convolution(x, b.pick({16, 33}));
  }
  Layer classifier;
  classifier.kind = ir::OpKind::FullyConnected;
  classifier.outputs = 10;
  random_quantization(b, classifier);
  x = b.layer(b.mean(x, false), classifier);
  b.graph().outputs = {x};
  if (b.rng().one_in(2)) b.graph().outputs.push_back(made.back());
  return finish(b, seed, std::move(out));
}

TEST(ArithmeticBodies, EveryOperatorUnderEveryStrategy) {
  for (const char* strategy : {"auto", "hw-multiply", "exponent-classes", "groups", "exact"}) {
    const bool exact = std::string(strategy) == "exact";
    std::map<ir::OpKind, int64_t> on_npu, all;
    for (uint64_t i = 0; i < kBodies && !::testing::Test::HasFailure(); ++i) {
      const Case test = arithmetic_body(first_seed(970'000 + i));
      SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
      const auto executable =
          compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
      ASSERT_TRUE(executable) << executable.error().text();
      Activations seen;
      const auto outputs = run_on_machine(*executable, test.inputs, &seen);
      ASSERT_TRUE(outputs) << outputs.error().text();
      for (size_t op = 0; op < test.graph.ops.size() && std::string(strategy) != "groups"; ++op) {
        const int32_t tensor = test.graph.ops[op].outputs[0];
        const auto want = operator_reference(test, op, seen);
        ASSERT_TRUE(want) << want.error().text();
        EXPECT_LE(largest_difference(test.graph.tensor(tensor).type, seen.at(tensor), *want), exact ? 0 : 1)
            << test.graph.op_label(op);
      }
      // Without an observer nothing is copied on the way.
      const auto plain = run_on_machine(*executable, test.inputs);
      ASSERT_TRUE(plain) << plain.error().text();
      EXPECT_EQ(*plain, *outputs);
      if (exact) {
        EXPECT_EQ(*outputs, *run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef));
      }
      for (size_t op = 0; op < test.graph.ops.size(); ++op) {
        const ir::OpKind kind = test.graph.ops[op].kind;
        ++all[kind];
        on_npu[kind] +=
            std::ranges::any_of(executable->tasks,
                                [&](const exe::Task& t) { return t.op == static_cast<int32_t>(op); })
                ? 1
                : 0;
      }
    }
    // All of those that compare and that average windows; under `exact` the data of some are on the host, and
    // arithmetic has to be lucky.
    for (const auto& [kind, count] : all) {
      EXPECT_GT(count, 8) << ir::op_name(kind);
      const bool whole = kind == ir::OpKind::Maximum || kind == ir::OpKind::Minimum ||
                         kind == ir::OpKind::AveragePool2D || ir::is_convolution_like(kind);
      if (whole && exact) {
        EXPECT_GT(on_npu[kind] * 10, count * 6) << ir::op_name(kind);
      } else if (whole) {
        EXPECT_EQ(on_npu[kind], count) << ir::op_name(kind) << ", " << strategy;
      } else if (!exact) {
        EXPECT_GT(on_npu[kind] * 10, count * 8) << ir::op_name(kind) << ", " << strategy;
      }
    }
    EXPECT_GT(on_npu[ir::OpKind::Mean], 20) << strategy;
  }
}

TEST(ArithmeticBodies, WithoutThePpu) {
  for (uint64_t i = 0; i < 20 && !::testing::Test::HasFailure(); ++i) {
    const Case test = arithmetic_body(first_seed(971'000 + i));
    SCOPED_TRACE(test.text());
    compiler::Options options = test.options("exact", num::Reference::LitertRef);
    options.ppu = false;
    const auto executable = compiler::compile(test.graph, options);
    ASSERT_TRUE(executable) << executable.error().text();
    for (const exe::Task& task : executable->tasks) EXPECT_NE(task.kind, exe::TaskKind::Pool);
    const auto outputs = run_on_machine(*executable, test.inputs);
    ASSERT_TRUE(outputs) << outputs.error().text();
    EXPECT_EQ(*outputs, *run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef));
  }
}

}  // namespace
}  // namespace peraxis::property
