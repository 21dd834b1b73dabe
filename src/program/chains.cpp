#include "program/chains.hpp"

#include <algorithm>

#include "target/rk3588/limits.hpp"

namespace peraxis::program {
namespace {

// One task of a chain: a task of the program, or the load of the table that it looks up.
struct Link {
  int32_t task = 0;
  bool load = false;
};

// The longest chain from task `first` on that one job may run, at most up to `end`. A job does not find two
// things as earlier jobs left them: weights in CBUF (docs/hardware/cbuf.md#reuse), so no job begins with a
// task that uses them again; and the look-up table (docs/hardware/dpu.md#look-up-table). Every operator loads
// its own table, even after one with an equal table, because a run that is watched cuts jobs between
// operators.
Result<std::vector<Link>> next_chain(const std::vector<Task>& tasks, int32_t first, int32_t end) {
  std::vector<Link> chain;
  size_t safe = 0;  // links before the last task that may begin a job
  const rk3588::LookUpTable* loaded = nullptr;
  int32_t loader = -1;  // the operator
  for (int32_t t = first; t < end; ++t) {
    const rk3588::Task& task = tasks[static_cast<size_t>(t)].task;
    if (!rk3588::reuses_weights(task)) safe = chain.size();
    const rk3588::LookUpTable* table = rk3588::table_of(task).get();
    const int32_t op = tasks[static_cast<size_t>(t)].op;
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

Task load_of(const Task& user) {
  const auto& task = std::get<rk3588::ElementTask>(user.task);
  Task load = user;
  load.task = rk3588::TableTask{task.table, task.input, task.output};
  load.kind = TaskKind::Table;
  load.first_row = load.rows = 0;
  return load;
}

// The jobs that one step of `program` becomes, with their tasks behind `tasks`.
Status cut(const Program& program, const Step& step, std::vector<Task>& tasks, std::vector<Step>& steps) {
  const int32_t end = step.first_task + step.task_count;
  std::vector<Completion> completes = step.completes;  // by task
  std::ranges::stable_sort(completes, {}, &Completion::task);
  auto next = completes.begin();
  for (int32_t t = step.first_task; t < end;) {
    const std::vector<Link> chain = PERAXIS_TRY(next_chain(program.tasks, t, end));
    Step job = step;
    job.first_task = static_cast<int32_t>(tasks.size());
    job.task_count = static_cast<int32_t>(chain.size());
    job.completes.clear();
    for (const Link& link : chain) {
      const Task& planned = program.tasks[static_cast<size_t>(link.task)];
      tasks.push_back(link.load ? load_of(planned) : planned);
      if (link.load) continue;
      for (; next != completes.end() && next->task == link.task; ++next)
        job.completes.push_back({next->tensor, static_cast<int32_t>(tasks.size()) - 1});
    }
    steps.push_back(std::move(job));
    t = chain.back().task + 1;
  }
  return {};
}

}  // namespace

Status make_chains(Program& program) {
  std::vector<Step> steps;
  std::vector<Task> tasks;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::Job)
      PERAXIS_TRY(cut(program, step, tasks, steps));
    else
      steps.push_back(step);
  }
  program.steps = std::move(steps);
  program.tasks = std::move(tasks);
  return {};
}

}  // namespace peraxis::program
