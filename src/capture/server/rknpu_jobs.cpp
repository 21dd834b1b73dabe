// Queues, cores and what a strict run looks at. See rknpu_kernel.hpp.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "capture/server/rknpu_kernel.hpp"
#include "capture/server/stale_view.hpp"
#include "capture/server/words.hpp"

namespace peraxis::capture {

using namespace uapi;

namespace {

// The driver's reading of a status: one interrupt of a pair stands for both.
uint32_t whole_pairs(uint32_t status) {
  uint32_t out = 0;
  for (uint32_t pair = 0x3; pair <= 0xC00; pair <<= 2)
    if ((status & pair) != 0) out |= pair;
  return out;
}

}  // namespace

std::vector<rknpu::Task> RknpuKernel::tasks_of(const Job& job, uint32_t core) const {
  const rknpu::SubcoreTask range = job.call.subcore[core + (job.cores.size() == 3 ? 2 : 0)];
  const std::span<const uint8_t> bytes = job.list->memory->bytes();
  std::vector<rknpu::Task> out;
  if ((uint64_t{range.start} + range.number) * sizeof(rknpu::Task) > bytes.size()) return out;
  out.resize(range.number);
  if (range.number != 0)
    std::memcpy(out.data(), bytes.data() + size_t{range.start} * sizeof(rknpu::Task),
                out.size() * sizeof(rknpu::Task));
  return out;
}

Space RknpuKernel::space() const {
  Space out;
  for (const auto& [name, placed] : objects_)
    if (const auto bo = placed.bo.lock())
      out.push_back({static_cast<uint32_t>(placed.address), bo->memory,
                     fmt::format("buffer at {:#x}", placed.address)});
  return out;
}

RknpuKernel::JobResult RknpuKernel::run(Job& job, Lock& lock) {
  const auto first_everywhere = [&] {
    return std::ranges::all_of(job.cores, [&](uint32_t core) { return queues_[core].front() == &job; });
  };
  changed_.wait(lock, [&] { return stopping() || first_everywhere(); });
  JobResult result;
  result.error = EINTR;
  if (!stopping()) {
    const Space mapped = space();
    lock.unlock();
    result = execute(job, mapped);
    lock.lock();
  }
  for (const uint32_t core : job.cores) {
    std::erase(queues_[core], &job);
    queued_tasks_[core] -= job.call.task_number;
  }
  if (options_.strict)
    for (const auto& [name, placed] : objects_)
      if (const auto bo = placed.bo.lock()) bo->flushed = bo->memory->checksum();
  // A job that was lost never signals its fence.
  if (result.error == 0) job.done->finish(Fence::kDone);
  changed_.notify_all();
  return result;
}

RknpuKernel::JobResult RknpuKernel::execute(const Job& job, const Space& mapped) {
  const auto start = Budget::Clock::now();
  const Budget budget(std::chrono::milliseconds(job.call.timeout_ms));
  JobResult result;
  const auto lose = [&](FindingKind kind, std::string why, int number = ETIMEDOUT) {
    findings_.add(kind, std::move(why));
    budget.pass_all();
    result.error = number;
    return result;
  };
  if (job.cores.size() == 2 && job.call.core_mask != 3)
    return lose(FindingKind::Punished,
                fmt::format("core_mask {} is none the driver starts", job.call.core_mask), EINVAL);
  if (job.call.task_base_addr != 0)
    return lose(FindingKind::Refused,
                fmt::format("task_base_addr {:#x} is not modelled", job.call.task_base_addr));
  if (options_.faults.slow_us() > 0 && !budget.pass(std::chrono::microseconds(options_.faults.slow_us())))
    return lose(FindingKind::Injected, "a job is slower than its time");
  if (options_.faults.any_stale() && job.cores.size() == 1) return execute_alone(job, mapped, budget, result);
  std::vector<std::vector<rknpu::Task>> lists;
  size_t longest = 0;
  for (const uint32_t core : job.cores) {
    lists.push_back(tasks_of(job, core));
    longest = std::max(longest, lists.back().size());
    if (lists.back().empty())
      return lose(
          FindingKind::Punished,
          fmt::format("core {} is in core_mask, its subcore_task is empty or outside the list", core));
  }
  for (size_t done = 0; done < longest; done += rknpu::kMostTasksOfKick) {
    std::vector<machine::Kick> kicks;
    bool hangs = false;
    for (size_t i = 0; i < lists.size(); ++i) {
      if (done >= lists[i].size()) continue;
      const rknpu::Task& first = lists[i][done];
      const size_t count = std::min<size_t>(lists[i].size() - done, rknpu::kMostTasksOfKick);
      size_t run = 0;
      while (run < count && !hangs && !options_.faults.hangs()) ++run;
      hangs = hangs || run < count;
      if (run > 0)
        kicks.push_back({static_cast<uint32_t>(first.regcmd_addr) & ~0xFU,
                         first.regcfg_amount + rknpu::kTailWords, static_cast<int32_t>(run),
                         static_cast<int32_t>(job.cores[i])});
    }
    std::vector<int64_t> finished;
    TaskOutcome outcome;
    outcome.finished = true;
    if (!kicks.empty()) outcome = options_.executor->run_chains(kicks, mapped, budget, finished);
    for (const std::string& remark : outcome.remarks) findings_.add(FindingKind::Punished, remark);
    for (const int64_t tasks : finished) result.counter += static_cast<uint32_t>(tasks);
    if (hangs) return lose(FindingKind::Injected, "a task of a job hangs");
    if (outcome.late) {  // no fault: the program is told
      result.error = ETIMEDOUT;
      return result;
    }
    if (!outcome.finished) return lose(FindingKind::Refused, outcome.why);
    const size_t last = std::min(done + rknpu::kMostTasksOfKick, lists[0].size()) - 1;
    const uint32_t wanted = lists[0][last].int_mask;
    if (whole_pairs(outcome.interrupts & wanted) != wanted)
      return lose(
          FindingKind::Punished,
          fmt::format(
              "the int_mask of a kick's last task is {:#x}, its end raises {:#x}: the driver waits for ever",
              wanted, outcome.interrupts));
  }
  result.counter = job.call.task_number;
  result.elapsed_ns = std::chrono::nanoseconds(Budget::Clock::now() - start).count();
  const size_t last =
      (size_t{job.call.subcore[job.cores[0] + (job.cores.size() == 3 ? 2 : 0)].start} + lists[0].size() - 1) *
      sizeof(rknpu::Task);
  std::memcpy(job.list->memory->bytes().data() + last + offsetof(rknpu::Task, int_status),
              &lists[0].back().int_mask, sizeof(uint32_t));
  return result;
}

// Task by task, so that one can be shown older memory.
RknpuKernel::JobResult RknpuKernel::execute_alone(const Job& job, const Space& mapped, const Budget& budget,
                                                  JobResult result) {
  const std::vector<rknpu::Task> tasks = tasks_of(job, job.cores[0]);
  const auto session = options_.executor->begin_job(static_cast<int32_t>(job.cores[0]), mapped);
  std::unique_ptr<StaleView> view;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const bool stale_next = i + 1 < tasks.size() && options_.faults.reads_stale();
    if (view != nullptr) view->hide();
    std::unique_ptr<StaleView> next = stale_next ? std::make_unique<StaleView>(mapped) : nullptr;
    const TaskOutcome outcome = session->run(
        {static_cast<uint32_t>(tasks[i].regcmd_addr), tasks[i].regcfg_amount + rknpu::kTailWords}, budget);
    if (view != nullptr) {
      view->reveal();
      findings_.add(FindingKind::Injected, fmt::format("task {} of a job read stale memory", i));
    }
    view = std::move(next);
    if (!outcome.finished) {
      if (!outcome.late) findings_.add(FindingKind::Refused, outcome.why);
      budget.pass_all();
      result.error = ETIMEDOUT;
      return result;
    }
    ++result.counter;
  }
  return result;
}

void RknpuKernel::inspect(const Job& job) {
  for (const auto& [name, placed] : objects_) {
    const auto bo = placed.bo.lock();
    if (bo == nullptr || (bo->flags & rknpu::kCacheable) == 0) continue;
    const uint64_t content = bo->memory->checksum();
    if (content != bo->flushed)
      findings_.add(
          FindingKind::Punished,
          fmt::format("the cached buffer at {:#x} was written since its last MEM_SYNC: the device may see "
                      "older bytes",
                      placed.address));
    bo->flushed = content;
  }
  uint64_t listed = 0;
  for (uint32_t core = 0; core < kCores; ++core) {
    const bool used = std::ranges::find(job.cores, core) != job.cores.end();
    const uint32_t number = job.call.subcore[core + (job.cores.size() == 3 ? 2 : 0)].number;
    if (used) listed += number;
    if (!used && number != 0)
      findings_.add(FindingKind::Punished,
                    fmt::format("subcore_task {} has {} tasks, core_mask {} does not start that core", core,
                                number, job.call.core_mask));
  }
  if (listed > job.call.task_number)
    findings_.add(FindingKind::Punished, fmt::format("subcore_task names {} tasks, task_number is {}", listed,
                                                     job.call.task_number));
  const Space mapped = space();
  for (const uint32_t core : job.cores)
    for (const rknpu::Task& task : tasks_of(job, core))
      for (const uint64_t word :
           words_at(mapped, {static_cast<uint32_t>(task.regcmd_addr), task.regcfg_amount}))
        if (sets_pointer(word))
          findings_.add(FindingKind::Punished,
                        "a stream writes CNA or CORE S_POINTER: only the kernel knows its bits for the core");
}

}  // namespace peraxis::capture
