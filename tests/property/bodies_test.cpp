// Detector bodies in small: pooling, enlarging, joining and adding run on the NPU beside the convolutions.
// Under `exact` every activation is the reference's; else every operator, given the inputs it really had, is
// within 1 where arithmetic is rounded and equal where values only move. The tasks are counted, so that
// nothing passes because it stayed on the CPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "random_graphs.hpp"

namespace peraxis::property {
namespace {

constexpr uint64_t kBodies = 60;

int64_t tasks_of(const exe::Executable& executable, exe::TaskKind kind) {
  return std::ranges::count_if(executable.tasks, [&](const exe::Task& t) { return t.kind == kind; });
}

// A tensor that only the tasks of its one reader know is not seen: the reader is then judged with what the
// reference makes of it.
void expect_operators(const Case& test, Activations seen, int allowed) {
  const std::vector<bool> dead = ir::dead_operators(test.graph);
  for (size_t op = 0; op < test.graph.ops.size(); ++op)
    for (size_t i = 0; !dead[op] && i < test.graph.ops[op].outputs.size(); ++i) {
      const int32_t tensor = test.graph.ops[op].outputs[i];
      const auto want = operator_reference(test, op, seen, i);
      ASSERT_TRUE(want) << want.error().text();
      if (test.graph.ops[op].kind == ir::OpKind::Logistic && seen.emplace(tensor, *want).second) continue;
      EXPECT_LE(largest_difference(test.graph.tensor(tensor).type, seen.at(tensor), *want),
                may_round(test.graph.ops[op].kind) ? allowed : 0)
          << test.graph.op_label(op) << ", output " << i;
    }
}

TEST(Bodies, EveryOperatorUnderEveryStrategy) {
  for (const char* strategy : {"auto", "hw-multiply", "exponent-classes", "groups", "exact"}) {
    int64_t gaps = 0, pools = 0, elements = 0, upsamples = 0, joins = 0, copies = 0, tables = 0, pairs = 0;
    for (uint64_t i = 0; i < kBodies && !::testing::Test::HasFailure(); ++i) {
      const Case test = random_body(first_seed(900'000 + i));
      SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
      const auto executable =
          compiler::compile(test.graph, test.options(strategy, num::Reference::LitertRef));
      ASSERT_TRUE(executable) << executable.error().text();
      Activations seen;
      const auto outputs = run_on_machine(*executable, test.inputs, &seen);
      ASSERT_TRUE(outputs) << outputs.error().text();
      const bool exact = std::string(strategy) == "exact";
      if (std::string(strategy) != "groups") expect_operators(test, seen, exact ? 0 : 1);
      // Without an observer nothing is copied on the way.
      const auto plain = run_on_machine(*executable, test.inputs);
      ASSERT_TRUE(plain) << plain.error().text();
      EXPECT_EQ(*plain, *outputs);
      if (exact) {
        const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
        ASSERT_TRUE(want) << want.error().text();
        EXPECT_EQ(*outputs, *want);
      }
      gaps += std::ranges::count_if(executable->placements,
                                    [](const exe::Placement& p) { return !p.slot_of.empty(); });
      pools += tasks_of(*executable, exe::TaskKind::Pool);
      elements += tasks_of(*executable, exe::TaskKind::Element);
      upsamples += tasks_of(*executable, exe::TaskKind::Upsample);
      tables += tasks_of(*executable, exe::TaskKind::Table);
      pairs += std::ranges::count_if(executable->operators, [](const exe::OperatorPlan& o) {
        return o.device == "npu" && o.reason.str().starts_with("computed by the tasks of operator");
      });
      for (size_t op = 0; op < test.graph.ops.size(); ++op) {
        if (test.graph.ops[op].kind != ir::OpKind::Concatenation) continue;
        joins += static_cast<int64_t>(test.graph.ops[op].inputs.size());
        copies += std::ranges::count_if(executable->tasks,
                                        [&](const exe::Task& t) { return t.op == static_cast<int32_t>(op); });
      }
    }
    EXPECT_GT(gaps, 50) << strategy << ": channels in slots of their own";
    EXPECT_GT(pools, 30) << strategy;
    EXPECT_GT(elements, 10) << strategy;
    EXPECT_GT(upsamples, 10) << strategy;
    EXPECT_GT(tables, 30) << strategy;
    EXPECT_GT(pairs, 10) << strategy;
    EXPECT_LT(copies * 2, joins) << strategy << ": most parts are written in place";
  }
}

TEST(Bodies, ConvolutionsOnlyLeavesTheRestToTheCpu) {
  for (uint64_t i = 0; i < 20 && !::testing::Test::HasFailure(); ++i) {
    const Case test = random_body(first_seed(910'000 + i));
    SCOPED_TRACE(test.text());
    compiler::Options options = test.options("exact", num::Reference::LitertRef);
    options.convolutions_only = true;
    const auto executable = compiler::compile(test.graph, options);
    ASSERT_TRUE(executable) << executable.error().text();
    for (const exe::TaskKind kind :
         {exe::TaskKind::Pool, exe::TaskKind::Element, exe::TaskKind::Upsample, exe::TaskKind::Table})
      EXPECT_EQ(tasks_of(*executable, kind), 0);
    const auto outputs = run_on_machine(*executable, test.inputs);
    ASSERT_TRUE(outputs) << outputs.error().text();
    EXPECT_EQ(*outputs, *run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef));
  }
}

TEST(Bodies, WithoutTablesTheCpuDoesWhatNeedsThem) {
  int64_t without = 0, with = 0;
  for (uint64_t i = 0; i < 20 && !::testing::Test::HasFailure(); ++i) {
    const Case test = random_body(first_seed(920'000 + i));
    SCOPED_TRACE(test.text());
    compiler::Options options = test.options("exact", num::Reference::LitertRef);
    for (const bool tables : {true, false}) {
      options.tables = tables;
      const auto executable = compiler::compile(test.graph, options);
      ASSERT_TRUE(executable) << executable.error().text();
      (tables ? with : without) += tasks_of(*executable, exe::TaskKind::Table);
      const auto outputs = run_on_machine(*executable, test.inputs);
      ASSERT_TRUE(outputs) << outputs.error().text();
      EXPECT_EQ(*outputs, *run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef));
    }
  }
  EXPECT_GT(with, 10);
  EXPECT_EQ(without, 0);
}

}  // namespace
}  // namespace peraxis::property
