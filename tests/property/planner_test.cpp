// The planner on random networks: what it says is what the compiler then does, budgets hold, and mixed plans
// run within the bounds of their certificates.
#include "plan/planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "random_graphs.hpp"

namespace peraxis::property {
namespace {

constexpr uint64_t kNetworks = 40;

TEST(Planner, CountsTheTasksThatAreCompiled) {
  int scattered = 0;
  for (uint64_t i = 0; i < kNetworks && !HasFailure(); ++i) {
    const Case test =
        i % 2 == 0 ? random_network(first_seed(800'000 + i)) : random_body(first_seed(800'000 + i));
    std::vector<std::string> strategies = compiler::strategy_names();
    strategies.emplace_back("auto");
    for (const std::string& strategy : strategies) {
      SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
      const compiler::Options options = test.options(strategy, num::Reference::LitertRef);
      const plan::Plan plan = plan_of(test, options);
      const auto executable = compiler::compile(test.graph, options, plan);
      ASSERT_TRUE(executable) << executable.error().text();
      EXPECT_EQ(plan.cost.tasks, static_cast<int64_t>(executable->tasks.size()));
      int64_t tasks = plan.device.tasks;
      double ms = plan.cpu.ms() + plan.device.ms();
      for (const plan::LayerPlan& layer : plan.layers) {
        tasks += layer.cost.tasks;
        ms += layer.cost.ms();
        scattered += layer.scattered ? 1 : 0;
      }
      EXPECT_EQ(tasks, plan.cost.tasks);
      EXPECT_NEAR(ms, plan.cost.ms(), 1e-9);
      for (const exe::Task& task : executable->tasks)
        EXPECT_EQ(task.words, task.kind <= exe::TaskKind::BlockDiagonal ? rk3588::kConvWords
                              : task.kind == exe::TaskKind::Pool        ? 30
                              : task.kind == exe::TaskKind::Table       ? rk3588::kTableWords
                                                                        : rk3588::kFlyingWords);
      // What the plan proved is in the file, channel by channel.
      ASSERT_EQ(executable->layers.size(), plan.layers.size());
      for (size_t l = 0; l < plan.layers.size(); ++l) {
        const auto& stored = executable->layers[l].certificate;
        const auto& proved = plan.layers[l].certificate.channels;
        ASSERT_EQ(stored.size(), proved.size());
        for (size_t c = 0; c < stored.size(); ++c) {
          EXPECT_EQ(stored[c].acc_min, proved[c].acc_min);
          EXPECT_EQ(stored[c].acc_max, proved[c].acc_max);
          EXPECT_EQ(stored[c].differing, proved[c].differing);
          EXPECT_EQ(stored[c].max, proved[c].max);
        }
      }
    }
  }
  EXPECT_GT(scattered, 20) << "hardly any layer stayed where its tasks wrote it";
}

TEST(Planner, BudgetsHoldAndCost) {
  for (uint64_t i = 0; i < kNetworks && !HasFailure(); ++i) {
    const Case test = random_network(first_seed(810'000 + i));
    SCOPED_TRACE(test.text());
    compiler::Options options = test.options("auto", num::Reference::LitertRef);
    for (const double budget : {0.01, 0.001, 0.0001, 0.0}) {
      options.max_mismatch = budget;
      const plan::Plan plan = plan_of(test, options);
      EXPECT_LE(plan.expected, budget / plan::kBudgetMargin) << budget;
      for (const plan::LayerPlan& layer : plan.layers) EXPECT_LE(layer.certificate.max(), 1) << budget;
    }
    options.max_mismatch.reset();
    options.accuracy = compiler::Accuracy::Exact;
    EXPECT_EQ(plan_of(test, options).expected, 0);
  }
}

// Every operator of a mixed plan, given the inputs it really had, differs by no more than its certificate
// says.
TEST(Planner, MixedPlansKeepTheirCertificates) {
  int mixed = 0;
  for (uint64_t i = 0; i < kNetworks * 3 / 2 && !HasFailure(); ++i) {
    const Case test = random_network(first_seed(820'000 + i));
    for (const double budget : {0.01, 0.0005, 0.00005}) {
      SCOPED_TRACE(fmt::format("{}\nbudget {}", test.text(), budget));
      compiler::Options options = test.options("auto", num::Reference::LitertRef);
      options.max_mismatch = budget;
      options.convolutions_only = i % 2 == 0;  // the host puts channel sets in order, whoever reads them
      const plan::Plan plan = plan_of(test, options);
      const auto executable = compiler::compile(test.graph, options, plan);
      ASSERT_TRUE(executable) << executable.error().text();
      Activations seen;
      const auto outputs = run_on_machine(*executable, test.inputs, &seen);
      ASSERT_TRUE(outputs) << outputs.error().text();
      for (const plan::LayerPlan& layer : plan.layers) {
        if (!layer.on_npu()) continue;
        mixed += layer.params.sets.size() > 1 ? 1 : 0;
        const int32_t tensor = test.graph.ops[layer.op].outputs[0];
        const auto want = operator_reference(test, layer.op, seen);
        ASSERT_TRUE(want) << want.error().text();
        EXPECT_LE(largest_difference(test.graph.tensor(tensor).type, seen.at(tensor), *want),
                  layer.certificate.max())
            << test.graph.op_label(layer.op);
      }
    }
  }
  EXPECT_GT(mixed, 20) << "hardly any layer had several sets";
}

}  // namespace
}  // namespace peraxis::property
