// The partition against every other partition of small graphs, by what it costs; and chosen partitions of
// tangled graphs, run: whatever the costs, the bytes are the reference's.
#include "plan/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/min_cut.hpp"
#include "random_tangles.hpp"

namespace peraxis::property {
namespace {

using plan::Side;
using plan::SideCosts;

struct Drawn {
  ir::Graph graph;
  std::vector<SideCosts> costs;
  rk3588::CostConstants constants;
};

// Only who reads what, and sizes, count.
Drawn drawn(uint64_t seed) {
  base::Rng rng(seed);
  Drawn out;
  const auto tensor = [&] {
    ir::Tensor t;
    t.shape = {static_cast<int32_t>(rng.uniform(1, 4'000'000))};
    out.graph.tensors.push_back(t);
    return static_cast<int32_t>(out.graph.tensors.size() - 1);
  };
  for (int64_t i = rng.uniform(1, 2); i > 0; --i) out.graph.inputs.push_back(tensor());
  const int64_t ops = rng.uniform(1, 9);
  for (int64_t i = 0; i < ops; ++i) {
    ir::Op op;
    const auto made = static_cast<int64_t>(out.graph.tensors.size());
    for (int64_t n = rng.uniform(1, 3); n > 0; --n)
      op.inputs.push_back(static_cast<int32_t>(rng.uniform(std::max<int64_t>(0, made - 5), made - 1)));
    for (int64_t n = rng.uniform(1, 2); n > 0; --n) op.outputs.push_back(tensor());
    out.graph.ops.push_back(op);
    SideCosts costs;
    costs.side = rng.one_in(5) ? Side::Npu : rng.one_in(5) ? Side::Cpu : Side::Either;
    costs.npu_ms = static_cast<double>(rng.uniform(0, 1000)) * 1e-3;
    costs.cpu_ms = static_cast<double>(rng.uniform(0, 3000)) * 1e-3;
    if (i > 0 && costs.side == Side::Either && out.costs.back().side == Side::Either && rng.one_in(4))
      costs.with = static_cast<int32_t>(i - 1);
    out.costs.push_back(costs);
  }
  const auto last = static_cast<int64_t>(out.graph.tensors.size() - 1);
  for (int64_t n = rng.uniform(1, 3); n > 0; --n)
    out.graph.outputs.push_back(static_cast<int32_t>(rng.uniform(0, last)));
  return out;
}

double cost_of(const Drawn& d, const std::vector<bool>& npu) {
  double ms = plan::crossing_cost(d.graph, npu, d.constants).ms();
  for (size_t op = 0; op < npu.size(); ++op) ms += npu[op] ? d.costs[op].npu_ms : d.costs[op].cpu_ms;
  return ms;
}

bool allowed(const Drawn& d, const std::vector<bool>& npu) {
  for (size_t op = 0; op < npu.size(); ++op) {
    if (d.costs[op].side != Side::Either && npu[op] != (d.costs[op].side == Side::Npu)) return false;
    if (const int32_t with = d.costs[op].with; with >= 0 && npu[op] != npu[static_cast<size_t>(with)])
      return false;
  }
  return true;
}

TEST(Partition, NoneCostsLess) {
  int64_t mixed = 0;
  for (uint64_t seed = 0; seed < 3000 && !HasFailure(); ++seed) {
    const Drawn d = drawn(first_seed(seed));
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const std::vector<bool> chosen = plan::cheapest_partition(d.graph, d.costs, d.constants);
    ASSERT_TRUE(allowed(d, chosen));
    double least = 1e9;
    for (uint64_t bits = 0; bits < uint64_t{1} << d.costs.size(); ++bits) {
      std::vector<bool> other;
      for (size_t op = 0; op < d.costs.size(); ++op) other.push_back((bits >> op & 1) != 0);
      if (allowed(d, other)) least = std::min(least, cost_of(d, other));
    }
    EXPECT_NEAR(cost_of(d, chosen), least, 1e-6);
    mixed += std::ranges::count(chosen, true) > 0 && std::ranges::count(chosen, false) > 0;
  }
  EXPECT_GT(mixed, 500);
}

TEST(Partition, LargeGraphsEnd) {
  // A chain with branches whose cut needs many paths, in a size no file of a detector has.
  Drawn d;
  base::Rng rng(3);
  const int32_t ops = 60'000;
  for (int32_t i = 0; i <= ops; ++i) {
    ir::Tensor t;
    t.shape = {static_cast<int32_t>(rng.uniform(1, 4'000'000))};
    d.graph.tensors.push_back(t);
  }
  d.graph.inputs = {0};
  d.graph.outputs = {ops};
  for (int32_t i = 0; i < ops; ++i) {
    ir::Op op;
    op.inputs = {i, static_cast<int32_t>(rng.uniform(std::max(0, i - 50), i))};
    op.outputs = {i + 1};
    d.graph.ops.push_back(op);
    d.costs.push_back({rng.one_in(10) ? Side::Cpu : Side::Either,
                       static_cast<double>(rng.uniform(0, 1000)) * 1e-3,
                       static_cast<double>(rng.uniform(0, 3000)) * 1e-3, -1});
  }
  EXPECT_TRUE(allowed(d, plan::cheapest_partition(d.graph, d.costs, d.constants)));
}

TEST(ExecutionOrder, FollowsTheDataAndMakesFewJobs) {
  int64_t fewer = 0;
  for (uint64_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    const Drawn d = drawn(first_seed(seed));
    const std::vector<bool> npu = plan::cheapest_partition(d.graph, d.costs, d.constants);
    const std::vector<size_t> order = plan::execution_order(d.graph, npu);
    ASSERT_EQ(order.size(), d.graph.ops.size());
    std::vector<bool> made(d.graph.tensors.size());
    for (const int32_t t : d.graph.inputs) made[static_cast<size_t>(t)] = true;
    for (const size_t op : order) {
      for (const int32_t t : d.graph.ops[op].inputs) EXPECT_TRUE(made[static_cast<size_t>(t)]);
      for (const int32_t t : d.graph.ops[op].outputs) made[static_cast<size_t>(t)] = true;
    }
    const auto jobs = [&](auto at) {
      int64_t count = 0;
      for (size_t i = 0; i < npu.size(); ++i) count += npu[at(i)] && (i == 0 || !npu[at(i - 1)]);
      return count;
    };
    const int64_t before = jobs([](size_t i) { return i; }), after = jobs([&](size_t i) { return order[i]; });
    EXPECT_LE(after, before);
    fewer += after < before;
    const std::vector<bool> all(npu.size(), true);
    EXPECT_TRUE(std::ranges::is_sorted(plan::execution_order(d.graph, all)));
  }
  EXPECT_GT(fewer, 20);
}

// Costs are drawn so that one side, the other or conversions decide.
TEST(Partition, WhicheverIsChosenTheBytesAreTheReferences) {
  std::set<std::vector<bool>> partitions;
  int64_t from_host = 0;
  for (uint64_t i = 0; i < 120 && !HasFailure(); ++i) {
    const Case test = random_tangle(first_seed(970'000 + i));
    base::Rng rng(first_seed(980'000 + i));
    compiler::Options options = test.options("exact", num::Reference::LitertRef);
    options.prefer_npu = false;
    options.cost.task_us = static_cast<double>(rng.one_in(2) ? 0 : rng.uniform(0, 2000));
    options.cost.host_step_us = static_cast<double>(rng.one_in(2) ? 0 : rng.uniform(0, 500));
    options.cost.host_element_ns = static_cast<double>(rng.one_in(3) ? 0 : rng.uniform(1, 100'000));
    options.cost.host_copy_ns = static_cast<double>(rng.one_in(2) ? 0 : rng.uniform(0, 1000));
    SCOPED_TRACE(test.text() + fmt::format("\ncosts {} {} {} {}", options.cost.task_us,
                                           options.cost.host_step_us, options.cost.host_element_ns,
                                           options.cost.host_copy_ns));
    const auto executable = compiler::compile(test.graph, options);
    ASSERT_TRUE(executable) << executable.error().text();
    std::vector<bool> sides;
    for (const exe::OperatorPlan& o : executable->operators) {
      sides.push_back(o.device == "npu");
      const std::vector<int32_t>& inputs = test.graph.ops[static_cast<size_t>(o.op)].inputs;
      from_host += sides.back() && std::ranges::any_of(inputs, [&](int32_t t) {
                     return std::ranges::count(test.graph.inputs, t) > 0;
                   });
    }
    partitions.insert(sides);
    const auto outputs = run_on_machine(*executable, test.inputs);
    ASSERT_TRUE(outputs) << outputs.error().text();
    const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef);
    ASSERT_TRUE(want) << want.error().text();
    EXPECT_EQ(*outputs, *want);
  }
  EXPECT_GT(partitions.size(), 60U);
  EXPECT_GT(from_host, 20) << "operators of the NPU whose data the host has";
}

}  // namespace
}  // namespace peraxis::property
