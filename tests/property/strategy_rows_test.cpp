// `plan --all-strategies`: a strategy that fails has its row and its reason, and hides no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/strategy_table.hpp"
#include "random_graphs.hpp"

namespace peraxis::property {
namespace {

TEST(StrategyRows, OneThatFailsHidesNoOther) {
  const Case test = chain_network(first_seed(880'000), false);
  Activations reference;
  ASSERT_TRUE(run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef, &reference));
  compiler::Options build = test.options("auto", num::Reference::LitertRef);
  build.strategy_options.group_size = 0;  // what the command line refuses; only `fast` does not look at it
  for (const int threads : {1, 3}) {
    const std::vector<engine::StrategyRow> rows =
        engine::measure_strategies({test.graph, test.inputs, reference}, build, threads);
    std::vector<std::string> names;
    for (const engine::StrategyRow& row : rows) {
      names.push_back(row.name);
      if (row.name == "fast") {
        EXPECT_FALSE(row.error) << row.error->text();
        EXPECT_GT(row.cost.tasks, 0);
        EXPECT_GT(row.isolated.elements, 0);
        continue;
      }
      ASSERT_TRUE(row.error) << row.name;
      EXPECT_THAT(row.error->text(), ::testing::HasSubstr("group size 0 is below 1"));
      EXPECT_EQ(row.cost.tasks, 0);
    }
    EXPECT_EQ(names, engine::strategy_rows());
  }
  build.strategy_options.group_size = 16;
  for (const engine::StrategyRow& row :
       engine::measure_strategies({test.graph, test.inputs, reference}, build, 2))
    EXPECT_FALSE(row.error) << row.name << ": " << row.error->text();
}

}  // namespace
}  // namespace peraxis::property
