// CPU operators between NPU operators, forced there by leaving the chip's blocks unused: they read and write
// cubes where they are. Under `exact` every activation is the reference's; under other strategies a run gives
// the same bytes whether CPU operators take cubes or dense arrays. Conversions are counted, so that nothing
// passes because it was converted.
#include <gtest/gtest.h>

#include <algorithm>

#include "random_tangles.hpp"

namespace peraxis::property {
namespace {

constexpr uint64_t kGraphs = 90;

int64_t bytes_of(const exe::Cube& cube) {
  return cube.h * cube.w * cube.channels;
}

// A part of the other, at the same time or at another: memory is used again.
bool lies_in(const exe::Cube& part, const exe::Cube& whole) {
  return bytes_of(part) < bytes_of(whole) && part.h == whole.h && part.w == whole.w &&
         part.offset >= whole.offset && part.offset + bytes_of(part) <= whole.offset + bytes_of(whole);
}

struct Counts {
  int64_t uploads = 0, downloads = 0;
  int64_t cpu = 0;        // steps of CPU operators
  int64_t read = 0;       // their operands that are cubes
  int64_t scattered = 0;  // of these: with channels in slots of their own
  int64_t partial = 0;    // of these: a part of a larger cube
  int64_t written = 0;    // results that are cubes

  void add(const exe::Executable& executable) {
    for (const exe::Step& step : executable.steps) {
      uploads += step.kind == exe::StepKind::Upload ? 1 : 0;
      downloads += step.kind == exe::StepKind::Download ? 1 : 0;
      cpu += step.kind == exe::StepKind::Cpu ? 1 : 0;
      for (const int32_t p : step.inputs) {
        if (p < 0) continue;
        const exe::Placement& placement = executable.placements[static_cast<size_t>(p)];
        ++read;
        scattered += placement.slot_of.empty() ? 0 : 1;
        partial += std::ranges::any_of(executable.placements, [&](const exe::Placement& other) {
          return lies_in(placement.cube, other.cube);
        });
      }
      written += std::ranges::count_if(step.outputs, [](int32_t p) { return p >= 0; });
    }
  }
};

// Everything but convolutions on the CPU, or what needs tables or the pooling block.
void force(compiler::Options& options, uint64_t seed) {
  options.convolutions_only = seed % 3 == 0;
  options.tables = seed % 3 != 1;
  options.ppu = seed % 2 == 0;
}

Case graph_of(uint64_t i) {
  return i % 2 == 0 ? random_body(first_seed(960'000 + i)) : random_tangle(first_seed(960'000 + i));
}

TEST(CpuCubes, ExactActivationsAreTheReferences) {
  Counts with, without;
  for (uint64_t i = 0; i < kGraphs && !HasFailure(); ++i) {
    const Case test = graph_of(i);
    SCOPED_TRACE(test.text());
    compiler::Options options = test.options("exact", num::Reference::LitertRef);
    force(options, i);
    Activations want_all;
    const auto want = run_on_kernels(test, kernels::Path::Reference, num::Reference::LitertRef, &want_all);
    ASSERT_TRUE(want) << want.error().text();
    for (const bool cubes : {true, false}) {
      options.cubes_on_cpu = cubes;
      const auto executable = compiler::compile(test.graph, options);
      ASSERT_TRUE(executable) << executable.error().text();
      (cubes ? with : without).add(*executable);
      Activations seen;
      const auto watched = run_on_machine(*executable, test.inputs, &seen);
      ASSERT_TRUE(watched) << watched.error().text();
      EXPECT_EQ(*watched, *want);
      for (const auto& [tensor, values] : seen) EXPECT_EQ(values, want_all.at(tensor)) << "tensor " << tensor;
      // Every result of a CPU operator is seen, wherever it is.
      for (const exe::Step& step : executable->steps) {
        if (step.kind != exe::StepKind::Cpu) continue;
        for (const int32_t t : test.graph.ops[static_cast<size_t>(step.op)].outputs)
          EXPECT_TRUE(seen.contains(t)) << "tensor " << t;
      }
      // Without an observer memory is used again.
      const auto plain = run_on_machine(*executable, test.inputs, nullptr, {}, 0, 3);
      ASSERT_TRUE(plain) << plain.error().text();
      EXPECT_EQ(*plain, *want);
    }
  }
  EXPECT_EQ(with.cpu, without.cpu);
  EXPECT_GT(with.read, 200);
  EXPECT_GT(with.partial, 30);
  EXPECT_GT(with.written, 60);
  EXPECT_EQ(without.read + without.written, 0);
  EXPECT_LT(3 * (with.uploads + with.downloads), 2 * (without.uploads + without.downloads));
}

TEST(CpuCubes, EveryStrategyGivesWhatItGivesOnDenseArrays) {
  for (const std::string strategy : {"auto", "exponent-classes", "groups"}) {
    Counts with, without;
    for (uint64_t i = 0; i < kGraphs / 2 && !HasFailure(); ++i) {
      const Case test = graph_of(1000 + i);
      SCOPED_TRACE(test.text() + "\nstrategy " + strategy);
      compiler::Options options = test.options(strategy, num::Reference::LitertRef);
      force(options, i);
      std::vector<Bytes> outputs[2];
      for (const bool cubes : {true, false}) {
        options.cubes_on_cpu = cubes;
        const auto executable = compiler::compile(test.graph, options);
        ASSERT_TRUE(executable) << executable.error().text();
        (cubes ? with : without).add(*executable);
        const auto made = run_on_machine(*executable, test.inputs);
        ASSERT_TRUE(made) << made.error().text();
        outputs[cubes ? 0 : 1] = *made;
      }
      EXPECT_EQ(outputs[0], outputs[1]);
    }
    EXPECT_GT(with.written, 30) << strategy;
    if (strategy != "auto") {
      EXPECT_GT(with.scattered, 15) << strategy;
    }
    EXPECT_LT(3 * (with.uploads + with.downloads), 2 * (without.uploads + without.downloads)) << strategy;
  }
}

}  // namespace
}  // namespace peraxis::property
