// Long jobs: the chip counts at most 4095 tasks of a chain.
#include "compiler/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "program/chains.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::compiler {
namespace {

using program::Program;

// A job of `tasks`, to be filled.
Program program_of(int32_t tasks) {
  Program program;
  program.allocations = {{true, 0, 512, -1, -1, 0}, {false, 0, 64, 0, 0, 0}, {false, 64, 64, 0, 0, 0}};
  program.activation_bytes = 128;
  program::Step job;
  job.kind = program::StepKind::Job;
  job.task_count = tasks;
  program.steps = {job};
  return program;
}

Result<exe::Executable> executable_of(Program program) {
  PERAXIS_TRY(program::make_chains(program));
  return assemble({}, program, std::vector<uint8_t>(512));
}

// `tasks` small convolutions; each of a run of `run` tasks but the first uses the weights of the one before.
Program plan_of(int32_t tasks, int32_t run) {
  Program program = program_of(tasks);
  constexpr int32_t weights = 0, input = 1, output = 2;
  rk3588::ConvTask t;
  t.in_width = t.in_height = t.in_plane = 1;
  t.in_channels = t.in_channels_real = 16;
  t.input = {input, 0};
  t.kernel_width = t.kernel_height = 1;
  t.kernels = 32;
  t.weight_bytes_per_kernel = 16;
  t.weight_bytes = 512;
  t.weights = {weights, 0};
  t.out_width = t.out_height = t.out_plane = 1;
  t.out_channels = t.out_channels_real = 32;
  t.output = {output, 0};
  t.operands = {weights, 0};
  t.data_banks = 6;
  t.weight_banks = 6;
  for (int32_t i = 0; i < tasks; ++i) {
    t.weight_reuse = i % run != 0;
    program.tasks.push_back({0, program::TaskKind::Direct, 0, 0, 0, 0, 0, t});
  }
  program.steps.insert(program.steps.begin(), program::Step{});
  program.steps.emplace_back();
  return program;
}

// Relocations of command words to other command words: one a task that is followed by another.
int64_t links(const exe::Executable& executable) {
  return std::count_if(executable.relocations.begin(), executable.relocations.end(),
                       [](const exe::Relocation& r) { return r.buffer == kCommandBuffer; });
}

TEST(LongJobs, AreCutBeforeTasksThatLoadTheirWeights) {
  constexpr int32_t kLimit = rk3588::kMaxChainTasks;
  for (const int32_t run : {1, 7, 1000})
    for (const int32_t tasks : {1, kLimit, kLimit + 1, 3 * kLimit + 5}) {
      SCOPED_TRACE(testing::Message() << tasks << " tasks, weights loaded every " << run);
      const Result<exe::Executable> out = executable_of(plan_of(tasks, run));
      ASSERT_TRUE(out) << out.error().text();
      ASSERT_GE(out->steps.size(), 3U);
      EXPECT_EQ(out->steps.front().kind, exe::StepKind::Cpu);
      EXPECT_EQ(out->steps.back().kind, exe::StepKind::Cpu);
      int32_t next = 0;
      for (size_t i = 1; i + 1 < out->steps.size(); ++i) {
        const exe::Step& job = out->steps[i];
        ASSERT_EQ(job.kind, exe::StepKind::Job);
        EXPECT_EQ(job.first_task, next);
        EXPECT_EQ(job.first_task % run, 0) << "the job begins with weights of the one before";
        EXPECT_GE(job.task_count, 1);
        EXPECT_LE(job.task_count, kLimit);
        next += job.task_count;
      }
      EXPECT_EQ(next, tasks);
      const auto jobs = static_cast<int32_t>(out->steps.size()) - 2;
      EXPECT_LE(jobs, tasks / (kLimit - run + 1) + 1) << "more jobs than needed";
      EXPECT_EQ(links(*out), tasks - jobs);
    }
}

// Look-ups; every `run` tasks the table changes, with a task that uses none in between.
Program plan_of_look_ups(int32_t tasks, int32_t run) {
  Program program = program_of(tasks);
  rk3588::ElementTask t;
  t.width = t.height = t.in_plane = t.out_plane = 1;
  t.channels = 16;
  t.input = {1, 0};
  t.output = {2, 0};
  std::shared_ptr<const rk3588::LookUpTable> tables[2];
  for (auto& table : tables) {
    std::array<int8_t, 256> outputs{};
    outputs[0] = static_cast<int8_t>(&table - tables);
    table = std::make_shared<const rk3588::LookUpTable>(rk3588::look_up_table(outputs));
  }
  for (int32_t i = 0; i < tasks; ++i) {
    const int32_t op = i % run == run - 1 ? 2 : i / run % 2;  // which table, 2: none
    t.table = op == 2 ? nullptr : tables[op];
    program.tasks.push_back({op, program::TaskKind::Element, 0, 0, 0, 0, 0, t});
  }
  return program;
}

TEST(LongJobs, LoadTheTableBeforeEveryUserThatNeedsAnother) {
  constexpr int32_t kLimit = rk3588::kMaxChainTasks;
  for (const int32_t run : {2, 5, 6000})
    for (const int32_t tasks : {1, kLimit - 1, kLimit, 2 * kLimit + 3}) {
      SCOPED_TRACE(testing::Message() << tasks << " tasks, another table every " << run);
      const Result<exe::Executable> out = executable_of(plan_of_look_ups(tasks, run));
      ASSERT_TRUE(out) << out.error().text();
      int32_t next = 0, users = 0;
      for (const exe::Step& job : out->steps) {
        EXPECT_EQ(job.first_task, next);
        EXPECT_LE(job.task_count, kLimit);
        int32_t loaded = -1;  // by no job before
        for (; next < job.first_task + job.task_count; ++next) {
          const exe::Task& task = out->tasks[static_cast<size_t>(next)];
          if (task.kind == exe::TaskKind::Table) {
            EXPECT_NE(task.op, loaded) << "it was there already";
            loaded = task.op;
            continue;
          }
          ++users;
          ASSERT_TRUE(task.op == 2 || task.op == loaded) << "task " << next;
        }
      }
      EXPECT_EQ(next, static_cast<int32_t>(out->tasks.size()));
      EXPECT_EQ(users, tasks);
      EXPECT_EQ(links(*out), next - static_cast<int32_t>(out->steps.size()));
    }
}

TEST(LongJobs, WithoutAPlaceToCutAreRefused) {
  EXPECT_TRUE(executable_of(plan_of(rk3588::kMaxChainTasks, 5000)));
  const Result<exe::Executable> out = executable_of(plan_of(rk3588::kMaxChainTasks + 1, 5000));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::Internal);
}

}  // namespace
}  // namespace peraxis::compiler
