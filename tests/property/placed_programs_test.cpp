// The placed programs of drawn graphs: their text comes back, and their edges are enough. Steps in any order
// that the edges allow give the same outputs as in the order of the list.
#include <gtest/gtest.h>

#include <algorithm>

#include "program/text.hpp"
#include "program/verify.hpp"
#include "random_graphs.hpp"
#include "random_tangles.hpp"
#include "runtime/session.hpp"

namespace peraxis::property {
namespace {

Result<compiler::Compiled> compiled(const Case& test, const compiler::Options& options) {
  const plan::PlannerOptions planning = PERAXIS_TRY(compiler::planner_options(options));
  const plan::Plan plan = PERAXIS_TRY(plan::make_plan(test.graph, planning));
  return compiler::compile_measured(test.graph, options, plan);
}

// The steps in an order of `rng`'s choice in which each follows those it waits for; without edges, which are
// of the other order. Reading and freeing of host arrays is part of what may go wrong.
std::vector<exe::Step> shuffled(const std::vector<exe::Step>& steps, base::Rng& rng) {
  std::vector<exe::Step> out;
  std::vector<bool> done(steps.size(), false);
  const auto ready = [&](size_t i) {
    return !done[i] &&
           std::ranges::all_of(steps[i].edges.after, [&](int32_t a) { return done[static_cast<size_t>(a)]; });
  };
  while (out.size() < steps.size()) {
    std::vector<size_t> can;
    for (size_t i = 0; i < steps.size(); ++i)
      if (ready(i)) can.push_back(i);
    const size_t next = can[static_cast<size_t>(rng.uniform(0, static_cast<int64_t>(can.size()) - 1))];
    done[next] = true;
    out.push_back(steps[next]);
    out.back().edges = {};
  }
  return out;
}

class PlacedPrograms {
 public:
  void try_out(const Case& test, const compiler::Options& options) {
    const auto made = compiled(test, options);
    ASSERT_TRUE(made) << test.text() << made.error().text();
    const auto right = program::verify(test.graph, made->program);
    EXPECT_TRUE(right) << test.text() << right.error().text();
    const std::string text = program::print(made->program, &test.graph);
    const auto back = program::parse(text);
    ASSERT_TRUE(back) << test.text() << back.error().text();
    EXPECT_TRUE(*back == made->program) << test.text() << text;

    const exe::Executable& executable = made->executable;
    const auto in_order = run(executable, test);
    ASSERT_TRUE(in_order) << test.text() << in_order.error().text();
    base::Rng rng(test.seed);
    for (int times = 0; times < 3; ++times) {
      exe::Executable other = executable;
      other.steps = shuffled(executable.steps, rng);
      for (size_t i = 0; i < other.steps.size(); ++i)
        moved_ +=
            other.steps[i].kind != executable.steps[i].kind || other.steps[i].op != executable.steps[i].op;
      const auto outputs = run(other, test);
      ASSERT_TRUE(outputs) << test.text() << outputs.error().text();
      EXPECT_EQ(*outputs, *in_order) << test.text() << text;
    }
    ++programs_;
  }

  int64_t programs() const { return programs_; }
  int64_t moved() const { return moved_; }  // steps that ran elsewhere than in the list

 private:
  static Result<std::vector<Bytes>> run(const exe::Executable& executable, const Case& test) {
    device::MachineDevice device;
    const auto session = PERAXIS_TRY(runtime::Session::create(executable, device, {}));
    return session->run(std::vector<std::span<const uint8_t>>(test.inputs.begin(), test.inputs.end()));
  }

  int64_t programs_ = 0, moved_ = 0;
};

TEST(PlacedProgram, OfDrawnGraphsComesBackAndRunsInAnyOrderOfItsEdges) {
  PlacedPrograms all;
  for (uint64_t i = 0; i < 12; ++i)
    for (const char* strategy : {"auto", "exact", "groups", "max-scale"}) {
      const uint64_t seed = first_seed(7000 + i);
      for (const Case& test : {random_network(seed), random_body(seed), random_tangle(seed)}) {
        compiler::Options options = test.options(strategy, num::Reference::LitertRef);
        options.fused_adds = true;
        options.prefer_npu = i % 2 == 0;
        options.ppu = i % 3 != 0;
        all.try_out(test, options);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  EXPECT_EQ(all.programs(), 144);
  EXPECT_GT(all.moved(), 500) << "hardly any step ran elsewhere: the orders were the same";
}

}  // namespace
}  // namespace peraxis::property
