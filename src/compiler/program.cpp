#include "compiler/program.hpp"

#include <cstring>

#include "emit/task.hpp"
#include "lower/task_memory.hpp"
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

// One task of a chain: a task of the plan, or the load of the table that it looks up.
struct Link {
  int32_t task = 0;
  bool load = false;
};

// The longest chain from task `first` on that one job may run, at most up to `end`. A job does not find two
// things as earlier jobs left them: weights in CBUF (docs/hardware/cbuf.md#reuse), so no job begins with a
// task that uses them again; and the look-up table (docs/hardware/dpu.md#look-up-table). Every operator loads
// its own table, even after one with an equal table, because a run that is watched cuts jobs between
// operators.
Result<std::vector<Link>> next_chain(const std::vector<PlannedTask>& tasks, int32_t first, int32_t end) {
  std::vector<Link> chain;
  size_t safe = 0;  // links before the last task that may begin a job
  const rk3588::LookUpTable* loaded = nullptr;
  int32_t loader = -1;  // the operator
  for (int32_t t = first; t < end; ++t) {
    const rk3588::Task& task = tasks[static_cast<size_t>(t)].task;
    if (!rk3588::reuses_weights(task)) safe = chain.size();
    const rk3588::LookUpTable* table = rk3588::table_of(task).get();
    const int32_t op = tasks[static_cast<size_t>(t)].info.op;
    const bool load = table != nullptr && (loaded == nullptr || loader != op || *loaded != *table);
    if (chain.size() + (load ? 2 : 1) > static_cast<size_t>(rk3588::kMaxChainTasks)) {
      if (safe == 0)
        return fail(ErrorCode::Internal, "more than {} tasks from task {} on share their weights",
                    rk3588::kMaxChainTasks, first);
      chain.resize(safe);
      return chain;
    }
    if (load) {
      chain.push_back({t, true});
      loaded = table;
      loader = op;
    }
    chain.push_back({t, false});
  }
  return chain;
}

PlannedTask load_of(const PlannedTask& user) {
  const auto& task = std::get<rk3588::ElementTask>(user.task);
  PlannedTask load{user.info, rk3588::TableTask{task.table, task.input, task.output}};
  load.info.kind = exe::TaskKind::Table;
  load.info.first_row = load.info.rows = 0;
  return load;
}

// Puts loads of tables where they are needed and makes several jobs of those that are too long.
Status make_chains(ProgramPlan& plan) {
  std::vector<exe::Step> steps;
  std::vector<PlannedTask> tasks;
  for (const exe::Step& step : plan.steps) {
    if (step.kind != exe::StepKind::Job) {
      steps.push_back(step);
      continue;
    }
    const int32_t end = step.first_task + step.task_count;
    for (int32_t t = step.first_task; t < end;) {
      const std::vector<Link> chain = PERAXIS_TRY(next_chain(plan.tasks, t, end));
      exe::Step job = step;
      job.first_task = static_cast<int32_t>(tasks.size());
      job.task_count = static_cast<int32_t>(chain.size());
      steps.push_back(job);
      for (const Link& link : chain) {
        const PlannedTask& planned = plan.tasks[static_cast<size_t>(link.task)];
        tasks.push_back(link.load ? load_of(planned) : planned);
      }
      t = chain.back().task + 1;
    }
  }
  plan.steps = std::move(steps);
  plan.tasks = std::move(tasks);
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

void reserve(ProgramPlan& plan) {
  for (const PlannedTask& planned : plan.tasks)
    for (const lower::Reach& reach : lower::reach_of(planned.task))
      plan.memory.at_least(reach.allocation, reach.end);
  for (size_t p = 0; p < plan.placements.size(); ++p) {
    const exe::Cube& cube = plan.placements[p].cube;
    const int64_t row = plan.placements[p].packed() ? plan.placements[p].pitch : cube.w;
    const rk3588::SymbolicAddress& at = plan.placement_addresses[p];
    plan.memory.at_least(at.allocation, at.offset + cube.h * row * cube.channels);
  }
  size_t region = 0;
  for (const exe::HostStep& host : plan.host_steps)
    for (const exe::Cube& cube : host.regions) {
      const rk3588::SymbolicAddress& at = plan.host_regions[region++];
      plan.memory.at_least(at.allocation, at.offset + cube.h * cube.w * cube.channels * cube.element_bytes);
    }
}

Result<exe::Executable> assemble(ProgramPlan&& plan) {
  reserve(plan);
  PERAXIS_TRY(plan.memory.place());
  PERAXIS_TRY(make_chains(plan));
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
