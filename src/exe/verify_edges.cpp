#include "exe/verify_edges.hpp"

#include <algorithm>

namespace peraxis::exe {
namespace {

// In rising order, each in [0, limit).
Status list(const char* what, const std::vector<int32_t>& items, int64_t limit) {
  int64_t before = -1;
  for (const int32_t item : items) {
    if (item < 0 || item >= limit) return fail(ErrorCode::InvalidModel, "it {} {} of {}", what, item, limit);
    if (item <= before)
      return fail(ErrorCode::InvalidModel, "it {} {} behind {}: not in rising order", what, item, before);
    before = item;
  }
  return {};
}

Status step_edges(const Executable& executable, size_t index, std::vector<bool>& complete) {
  const Step& step = executable.steps[index];
  const auto placements = static_cast<int64_t>(executable.placements.size());
  PERAXIS_TRY(list("waits for step", step.edges.after, static_cast<int64_t>(index)));
  PERAXIS_TRY(list("reads placement", step.edges.reads, placements));
  PERAXIS_TRY(list("writes placement", step.edges.writes, placements));
  PERAXIS_TRY(list("frees tensor", step.edges.frees, int64_t{1} << 31));
  int32_t task = -1;
  for (const Completion& done : step.edges.completes) {
    if (done.placement < 0 || done.placement >= placements)
      return fail(ErrorCode::InvalidModel, "it completes placement {} of {}", done.placement, placements);
    const bool by_task = step.kind == StepKind::Job && done.task >= step.first_task &&
                         done.task - step.first_task < step.task_count;
    if (step.kind == StepKind::Job ? !by_task : done.task != -1)
      return fail(ErrorCode::InvalidModel, "it completes placement {} by task {}, which it does not run",
                  done.placement, done.task);
    if (done.task < task)
      return fail(ErrorCode::InvalidModel, "it completes by task {} behind {}: not in rising order",
                  done.task, task);
    task = done.task;
    if (complete[static_cast<size_t>(done.placement)])
      return fail(ErrorCode::InvalidModel, "it completes placement {}, which is complete", done.placement);
    complete[static_cast<size_t>(done.placement)] = true;
  }
  return {};
}

}  // namespace

Status verify_edges(const Executable& executable) {
  std::vector<bool> complete(executable.placements.size(), false);
  for (size_t i = 0; i < executable.steps.size(); ++i)
    PERAXIS_TRY_NOTE(step_edges(executable, i, complete), "in the edges of step {}", i);
  return {};
}

}  // namespace peraxis::exe
