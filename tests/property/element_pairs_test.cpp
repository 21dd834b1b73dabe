// Additions, subtractions, rectifiers and changes of scale on the machine model, over every pair of input
// values: what the compiler counted in advance (requant/element.hpp) is what comes out, and never more
// than 1.
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "plan/planner.hpp"
#include "random_graphs.hpp"
#include "requant/element.hpp"

namespace peraxis::property {
namespace {

// Every pair of bytes once: 256 rows of 16 columns of 16 channels.
Case all_pairs(ir::OpKind kind, uint64_t seed) {
  base::Rng rng(seed);
  Case out;
  out.seed = seed;
  const bool unsigned_type = rng.one_in(3);
  const auto tensor = [&](float scale) {
    ir::Tensor t;
    t.name = fmt::format("t{}", out.graph.tensors.size());
    t.type = unsigned_type ? ir::DataType::UInt8 : ir::DataType::Int8;
    t.shape = {1, 256, 16, 16};
    const int64_t zero = rng.uniform(0, 255);
    t.quant = {{scale}, {unsigned_type ? zero : zero - 128}, 0};
    out.graph.tensors.push_back(std::move(t));
    return static_cast<int32_t>(out.graph.tensors.size() - 1);
  };
  const auto scale = [&] { return static_cast<float>(std::exp(rng.uniform_real(-5, 1))); };
  ir::Op op;
  op.kind = kind;
  const float first = scale();
  op.inputs.push_back(tensor(first));
  const bool two = kind == ir::OpKind::Add || kind == ir::OpKind::Sub;
  if (two) op.inputs.push_back(tensor(rng.one_in(4) ? first : scale()));
  op.outputs.push_back(tensor(rng.one_in(4) ? first : scale()));
  if (kind == ir::OpKind::LeakyRelu)
    op.attributes = ir::LeakyReluAttributes{static_cast<float>(rng.uniform_real(-0.5, 1.5))};
  else if (!two)
    op.attributes = ir::NoAttributes{};
  else
    op.attributes = ir::BinaryAttributes{rng.one_in(3) ? ir::Activation::Relu : ir::Activation::None};
  out.graph.inputs = op.inputs;
  out.graph.outputs = op.outputs;
  out.graph.ops.push_back(std::move(op));
  Bytes a(65536), b(65536);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint8_t>(i >> 8);
    b[i] = static_cast<uint8_t>(i);
  }
  out.inputs = {a};
  if (two) out.inputs.push_back(b);
  return out;
}

TEST(ElementPairs, TheCountIsWhatComesOut) {
  int64_t ran = 0, exact = 0;
  for (const ir::OpKind kind :
       {ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Quantize, ir::OpKind::Relu, ir::OpKind::LeakyRelu})
    for (uint64_t i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      const Case test = all_pairs(kind, first_seed(950'000 + i));
      SCOPED_TRACE(test.text());
      const auto params = requant::element_parameters(test.graph, 0);
      if (!params || params->max > 1) continue;
      const auto verified = ir::verify(test.graph);
      if (!verified) continue;
      plan::Plan plan;
      plan.on_device = {true};
      plan.forms = {lower::DeviceForm{{}, *params}};
      const auto executable =
          compiler::compile(test.graph, test.options("auto", num::Reference::LitertRef), plan);
      ASSERT_TRUE(executable) << executable.error().text();
      ASSERT_EQ(executable->tasks.size(), 1U);
      const auto got = run_on_machine(*executable, test.inputs);
      const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
      ASSERT_TRUE(got) << got.error().text();
      ASSERT_TRUE(want) << want.error().text();
      int64_t differing = 0;
      for (size_t v = 0; v < 65536; ++v) differing += (*got)[0][v] != (*want)[0][v] ? 1 : 0;
      // One operand: every value came 256 times.
      EXPECT_EQ(differing, params->differing * (test.inputs.size() == 1 ? 256 : 1));
      EXPECT_LE(largest_difference(test.graph.tensor(test.graph.outputs[0]).type, (*got)[0], (*want)[0]), 1);
      ++ran;
      exact += differing == 0 ? 1 : 0;
    }
  EXPECT_GT(ran, 100);
  EXPECT_GT(exact, 10);
  EXPECT_LT(exact, ran);
}

}  // namespace
}  // namespace peraxis::property
