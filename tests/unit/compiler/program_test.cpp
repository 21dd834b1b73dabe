// Long jobs: the chip counts at most 4095 tasks of a chain.
#include "compiler/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "target/rk3588/limits.hpp"

namespace peraxis::compiler {
namespace {

// `tasks` small convolutions; each of a run of `run` tasks but the first uses the weights of the one before.
ProgramPlan plan_of(int32_t tasks, int32_t run) {
  ProgramPlan plan;
  const int32_t weights = plan.memory.add_constant(std::vector<uint8_t>(32 * 16));
  const int32_t input = plan.memory.add_activation(16), output = plan.memory.add_activation(32);
  plan.memory.touch(input, 0);
  plan.memory.touch(output, 0);
  PlannedTask planned;
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
    planned.task = t;
    plan.tasks.push_back(planned);
  }
  exe::Step cpu, job;
  job.kind = exe::StepKind::Job;
  job.task_count = tasks;
  plan.steps = {cpu, job, cpu};
  return plan;
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
      const Result<exe::Executable> out = assemble(plan_of(tasks, run));
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
ProgramPlan plan_of_look_ups(int32_t tasks, int32_t run) {
  ProgramPlan plan;
  rk3588::ElementTask t;
  t.width = t.height = t.in_plane = t.out_plane = 1;
  t.channels = 16;
  t.input = {plan.memory.add_activation(16), 0};
  t.output = {plan.memory.add_activation(16), 0};
  plan.memory.touch(t.input.allocation, 0);
  plan.memory.touch(t.output.allocation, 0);
  std::shared_ptr<const rk3588::LookUpTable> tables[2];
  for (auto& table : tables) {
    std::array<int8_t, 256> outputs{};
    outputs[0] = static_cast<int8_t>(&table - tables);
    table = std::make_shared<const rk3588::LookUpTable>(rk3588::look_up_table(outputs));
  }
  for (int32_t i = 0; i < tasks; ++i) {
    PlannedTask planned;
    planned.info.kind = exe::TaskKind::Element;
    planned.info.op = i % run == run - 1 ? 2 : i / run % 2;  // which table, 2: none
    t.table = planned.info.op == 2 ? nullptr : tables[planned.info.op];
    planned.task = t;
    plan.tasks.push_back(planned);
  }
  exe::Step job;
  job.kind = exe::StepKind::Job;
  job.task_count = tasks;
  plan.steps = {job};
  return plan;
}

TEST(LongJobs, LoadTheTableBeforeEveryUserThatNeedsAnother) {
  constexpr int32_t kLimit = rk3588::kMaxChainTasks;
  for (const int32_t run : {2, 5, 6000})
    for (const int32_t tasks : {1, kLimit - 1, kLimit, 2 * kLimit + 3}) {
      SCOPED_TRACE(testing::Message() << tasks << " tasks, another table every " << run);
      const Result<exe::Executable> out = assemble(plan_of_look_ups(tasks, run));
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
  EXPECT_TRUE(assemble(plan_of(rk3588::kMaxChainTasks, 5000)));
  const Result<exe::Executable> out = assemble(plan_of(rk3588::kMaxChainTasks + 1, 5000));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::Internal);
}

}  // namespace
}  // namespace peraxis::compiler
