#include "compiler/program.hpp"

#include <cstring>

#include "emit/task.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::compiler {
namespace {

using rk3588::kWordBytes;
constexpr int64_t kWordsPerAlign = rk3588::kCommandAlign / kWordBytes;

exe::Relocation relocation(int64_t word, const lower::MemoryPlan& memory,
                           const rk3588::SymbolicAddress& address) {
  const lower::MemoryPlan::Location at = memory.location(address.allocation);
  return {word, at.constant ? kConstantBuffer : kActivationBuffer, at.offset + address.offset};
}

// A job runs at most kMaxChainTasks tasks: longer ones become several. A job finds nothing in CBUF, so no cut
// falls before a task that uses again what the task before it left there.
Status cut_long_jobs(ProgramPlan& plan) {
  std::vector<exe::Step> steps;
  for (exe::Step step : plan.steps) {
    while (step.kind == exe::StepKind::Job && step.task_count > rk3588::kMaxChainTasks) {
      int32_t count = rk3588::kMaxChainTasks;
      while (count > 0 &&
             rk3588::reuses_weights(
                 plan.tasks[static_cast<size_t>(step.first_task) + static_cast<size_t>(count)].task))
        --count;
      if (count == 0)
        return fail(ErrorCode::Internal, "more than {} tasks from task {} on share their weights",
                    rk3588::kMaxChainTasks, step.first_task);
      exe::Step job = step;
      job.task_count = count;
      steps.push_back(job);
      step.first_task += count;
      step.task_count -= count;
    }
    steps.push_back(step);
  }
  plan.steps = std::move(steps);
  return {};
}

// Emits every task's words into `words`, filling first_word and words of its info.
Status emit_tasks(ProgramPlan& plan, std::vector<uint64_t>& words, exe::Executable& out) {
  std::vector<emit::Program> programs;
  for (PlannedTask& planned : plan.tasks) {
    emit::Program program = PERAXIS_TRY(emit::program(planned.task));
    words.resize(static_cast<size_t>(lower::round_up(static_cast<int64_t>(words.size()), kWordsPerAlign)));
    planned.info.first_word = static_cast<int64_t>(words.size());
    planned.info.words = static_cast<int32_t>(program.words.size());
    words.insert(words.end(), program.words.begin(), program.words.end());
    for (const emit::AddressWord& address : program.addresses)
      out.relocations.push_back(
          relocation(planned.info.first_word + address.word, plan.memory, address.address));
    program.words.clear();
    programs.push_back(std::move(program));
  }
  // Chain the tasks of each job.
  for (const exe::Step& step : plan.steps) {
    if (step.kind != exe::StepKind::Job) continue;
    for (int32_t t = step.first_task; t + 1 < step.first_task + step.task_count; ++t) {
      const exe::Task& now = plan.tasks[static_cast<size_t>(t)].info;
      const exe::Task& next = plan.tasks[static_cast<size_t>(t) + 1].info;
      const emit::Program& program = programs[static_cast<size_t>(t)];
      const int64_t address_word = now.first_word + program.next_address_word;
      words[static_cast<size_t>(address_word)] = emit::next_address();
      out.relocations.push_back({address_word, kCommandBuffer, next.first_word * kWordBytes});
      words[static_cast<size_t>(now.first_word + program.next_amount_word)] =
          PERAXIS_TRY(emit::next_amount(next.words));
    }
  }
  return {};
}

}  // namespace

Result<exe::Executable> assemble(ProgramPlan&& plan) {
  PERAXIS_TRY(plan.memory.place());
  PERAXIS_TRY(cut_long_jobs(plan));
  exe::Executable out;
  std::vector<uint64_t> words;
  PERAXIS_TRY(emit_tasks(plan, words, out));

  exe::Buffer commands{"commands", exe::BufferKind::Commands, 0, {}};
  words.resize(static_cast<size_t>(std::max<int64_t>(
      kWordsPerAlign, lower::round_up(static_cast<int64_t>(words.size()), kWordsPerAlign))));
  commands.data.resize(words.size() * kWordBytes);
  std::memcpy(commands.data.data(), words.data(), commands.data.size());
  commands.size = static_cast<int64_t>(commands.data.size());
  exe::Buffer constants{"constants", exe::BufferKind::Constants, 0, plan.memory.take_constants()};
  constants.data.resize(static_cast<size_t>(
      std::max<int64_t>(rk3588::kBufferAlign, static_cast<int64_t>(constants.data.size()))));
  constants.size = static_cast<int64_t>(constants.data.size());
  exe::Buffer activations{"activations",
                          exe::BufferKind::Activations,
                          std::max<int64_t>(rk3588::kBufferAlign, plan.memory.activation_bytes()),
                          {}};
  out.buffers = {std::move(commands), std::move(constants), std::move(activations)};

  for (size_t p = 0; p < plan.placements.size(); ++p)
    plan.placements[p].cube.offset = plan.memory.location(plan.placement_addresses[p].allocation).offset +
                                     plan.placement_addresses[p].offset;
  size_t region = 0;
  for (exe::HostStep& host : plan.host_steps)
    for (exe::Cube& cube : host.regions) {
      const rk3588::SymbolicAddress& at = plan.host_regions[region++];
      cube.offset = plan.memory.location(at.allocation).offset + at.offset;
    }
  for (const PlannedTask& task : plan.tasks) out.tasks.push_back(task.info);
  out.placements = std::move(plan.placements);
  out.host_steps = std::move(plan.host_steps);
  out.steps = std::move(plan.steps);
  out.layers = std::move(plan.layers);
  return out;
}

}  // namespace peraxis::compiler
