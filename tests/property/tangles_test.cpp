// Graphs whose maps meet again in every way (random_tangles.hpp): under `exact` the reference's bytes, else
// every operator within 1 of the reference where arithmetic rounds and equal where values only move. The
// knots and the tasks are counted, so that nothing passes because it was not drawn or stayed on the CPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "random_tangles.hpp"

namespace peraxis::property {
namespace {

constexpr uint64_t kTangles = 80;

TEST(Tangles, HaveKnotsOfEveryKind) {
  Knots all;
  for (uint64_t i = 0; i < kTangles; ++i) all.add(knots(random_tangle(first_seed(950'000 + i)).graph));
  EXPECT_GT(all.residuals, 10);
  EXPECT_GT(all.diamonds, 10);
  EXPECT_GT(all.joins_of_joins, 10);
  EXPECT_GT(all.doubled, 10);
  EXPECT_GT(all.shared_inputs, 10);
  EXPECT_GT(all.shared_maps, 10);
  EXPECT_GT(all.read_outputs, 10);
  EXPECT_GT(all.constant_operands, 10);
  EXPECT_GT(all.chains, 10);
}

void expect_operators(const Case& test, const Activations& seen, int allowed) {
  for (size_t op = 0; op < test.graph.ops.size(); ++op)
    for (size_t i = 0; i < test.graph.ops[op].outputs.size(); ++i) {
      const int32_t tensor = test.graph.ops[op].outputs[i];
      const auto want = operator_reference(test, op, seen, i);
      ASSERT_TRUE(want) << want.error().text();
      ASSERT_TRUE(seen.contains(tensor)) << test.graph.op_label(op);
      EXPECT_LE(largest_difference(test.graph.tensor(tensor).type, seen.at(tensor), *want),
                may_round(test.graph.ops[op].kind) ? allowed : 0)
          << test.graph.op_label(op) << ", output " << i;
    }
}

TEST(Tangles, EveryOperatorUnderEveryStrategy) {
  for (const std::string strategy : {"auto", "exponent-classes", "groups", "exact"}) {
    int64_t others_on_npu = 0, others = 0;
    for (uint64_t i = 0; i < kTangles && !HasFailure(); ++i) {
      const Case test = random_tangle(first_seed(950'000 + i));
      SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
      const auto executable =
          compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
      ASSERT_TRUE(executable) << executable.error().text();
      Activations seen;
      const auto outputs = run_on_machine(*executable, test.inputs, &seen);
      ASSERT_TRUE(outputs) << outputs.error().text();
      if (strategy != "groups") expect_operators(test, seen, strategy == "exact" ? 0 : 1);
      // Without an observer nothing is copied on the way, and memory is used again.
      const auto plain = run_on_machine(*executable, test.inputs);
      ASSERT_TRUE(plain) << plain.error().text();
      EXPECT_EQ(*plain, *outputs);
      if (strategy == "exact") {
        const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
        ASSERT_TRUE(want) << want.error().text();
        EXPECT_EQ(*outputs, *want);
      }
      others += static_cast<int64_t>(executable->operators.size());
      others_on_npu += std::ranges::count_if(executable->operators,
                                             [](const exe::OperatorPlan& o) { return o.device == "npu"; });
    }
    EXPECT_GT(others_on_npu * 4, others) << strategy;
  }
}

}  // namespace
}  // namespace peraxis::property
