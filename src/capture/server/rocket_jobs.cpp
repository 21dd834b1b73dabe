// Queues, cores and what a strict run looks at. See rocket_kernel.hpp.
#include <algorithm>
#include <set>

#include "capture/server/rocket_kernel.hpp"
#include "capture/server/stale_view.hpp"
#include "capture/server/words.hpp"

namespace peraxis::capture {

size_t RocketKernel::least_loaded() const {
  std::array<size_t, kCores> load{};
  for (const auto& [id, queue] : queues_)
    if (queue.running || !queue.jobs.empty()) load[queue.core] += queue.jobs.size() + (queue.running ? 1 : 0);
  auto best = static_cast<size_t>(options_.faults.core_order()[0]);
  for (const int32_t core : options_.faults.core_order())
    if (load[static_cast<size_t>(core)] < load[best]) best = static_cast<size_t>(core);
  return best;
}

void RocketKernel::queue_job(Queue& queue, Job job) {
  if (queue.jobs.empty() && !queue.running) queue.core = least_loaded();
  job.number = next_job_++;
  queue.jobs.push_back(std::move(job));
}

RocketKernel::Queue* RocketKernel::next_for(size_t core) {
  Queue* best = nullptr;
  for (auto& [id, queue] : queues_) {
    if (queue.core != core || queue.running || queue.jobs.empty()) continue;
    const Job& job = queue.jobs.front();
    if (!std::ranges::all_of(job.waits, [](const auto& fence) { return fence->finished(); })) continue;
    if (best == nullptr || job.number < best->jobs.front().number) best = &queue;
  }
  return best;
}

Space RocketKernel::space_of(const Queue& queue) {
  Space out;
  for (const auto& [address, weak] : queue.mapped)
    if (const auto bo = weak.lock())
      out.push_back({static_cast<uint32_t>(address), bo->memory, fmt::format("buffer at {:#x}", address)});
  return out;
}

void RocketKernel::run_core(size_t core) {
  block_sigpipe();
  Lock lock(lock_);
  for (;;) {
    Queue* queue = nullptr;
    changed_.wait(lock, [&] { return stopping() || (queue = next_for(core)) != nullptr; });
    if (stopping()) return;
    queue->running = true;
    Job job = std::move(queue->jobs.front());
    queue->jobs.pop_front();
    const Space space = space_of(*queue);
    lock.unlock();
    const int32_t status = execute(core, job, space);
    lock.lock();
    queue->running = false;
    if (options_.strict)
      for (const auto& bo : job.buffers) note_flushed(*bo);
    job.done->finish(status);
    // Buffers whose handle was closed while the job had them.
    File* file = find_file(job.file);
    for (const auto& bo : job.buffers) {
      const bool held = file != nullptr && std::ranges::any_of(file->handles, [&](const auto& entry) {
                          return entry.second == bo;
                        });
      if (!held && bo->owner == job.file) {
        File gone;
        gone.id = job.file;
        handle_closed(gone, bo);
      }
    }
    if (queue->closed) queues_.erase(job.file);
    changed_.notify_all();
  }
}

int32_t RocketKernel::execute(size_t core, const Job& job, const Space& space) {
  const Budget budget(options_.job_time);
  const auto session = options_.executor->begin_job(static_cast<int32_t>(core), space);
  const auto hang = [&](FindingKind kind, std::string why) {
    findings_.add(kind, std::move(why));
    budget.pass_all();
    return Fence::kCanceled;
  };
  if (options_.faults.slow_us() > 0 && !budget.pass(std::chrono::microseconds(options_.faults.slow_us())))
    return hang(FindingKind::Injected, "a job is slower than the kernel waits");
  std::vector<bool> stale(job.tasks.size());
  if (options_.faults.any_stale())
    for (size_t i = 1; i < stale.size(); ++i) stale[i] = options_.faults.reads_stale();
  std::unique_ptr<StaleView> view;
  for (size_t i = 0; i < job.tasks.size(); ++i) {
    const CommandRange& task = job.tasks[i];
    if (options_.faults.hangs()) return hang(FindingKind::Injected, fmt::format("task {} of a job hangs", i));
    if ((task.address & 1) != 0)
      return hang(
          FindingKind::Punished,
          fmt::format("task {}: regcmd {:#x} is odd: nothing starts, the job is lost", i, task.address));
    const bool next_is_stale = i + 1 < stale.size() && stale[i + 1];
    if (view != nullptr) view->hide();
    std::unique_ptr<StaleView> next = next_is_stale ? std::make_unique<StaleView>(space) : nullptr;
    const TaskOutcome outcome = session->run(task, budget);
    if (view != nullptr) view->reveal();
    if (view != nullptr)
      findings_.add(FindingKind::Injected, fmt::format("task {} of a job read stale memory", i));
    view = std::move(next);
    for (const std::string& remark : outcome.remarks) findings_.add(FindingKind::Punished, remark);
    if (outcome.late) return Fence::kCanceled;
    if (!outcome.finished)
      return hang(FindingKind::Refused,
                  fmt::format("task {} of a job at {:#x}: {}", i, task.address, outcome.why));
    if ((outcome.interrupts & kDpuInterrupts) == 0)
      return hang(
          FindingKind::Punished,
          fmt::format("task {} of a job raises only interrupts that the kernel does not wait for ({:#x})", i,
                      outcome.interrupts));
  }
  return Fence::kDone;
}

// --- strict ---

void RocketKernel::inspect(const File& file, const Job& job,
                           const std::vector<std::shared_ptr<Bo>>& outputs) {
  if (outputs.empty()) findings_.add(FindingKind::Punished, "a job has no out-list: nobody can wait for it");
  const auto handle_of = [&](const std::shared_ptr<Bo>& bo) {
    for (const auto& [handle, other] : file.handles)
      if (other == bo) return handle;
    return 0U;
  };
  for (const auto& bo : job.buffers) {
    if (bo->owner != file.id)
      findings_.add(FindingKind::Punished,
                    fmt::format("handle {} was imported from another file: it has no device address here",
                                handle_of(bo)));
    if (bo->busy()) continue;  // a job writes it; what the program did in between is not known
    const uint64_t content = bo->memory->checksum();
    if (content != bo->flushed)
      findings_.add(FindingKind::Punished,
                    fmt::format("handle {}: written since the last FINI_BO: the device may see older bytes",
                                handle_of(bo)));
    bo->flushed = content;
  }
  inspect_words(file, job);
}

void RocketKernel::inspect_words(const File& file, const Job& job) {
  const Space space = space_of(queues_.at(file.id));
  const auto listed = [&](const Mapped& part) {
    return std::ranges::any_of(job.buffers, [&](const auto& bo) { return bo->memory == part.memory; });
  };
  std::set<uint32_t> unlisted;
  const auto touch = [&](uint32_t address) {
    for (const Mapped& part : space)
      if (address >= part.address && address - part.address < part.memory->bytes().size() && !listed(part))
        unlisted.insert(part.address);
  };
  for (const CommandRange& task : job.tasks) {
    if ((task.address & 0xE) != 0)
      findings_.add(
          FindingKind::Punished,
          fmt::format("regcmd {:#x} is no multiple of 16: the fetch starts below it", task.address));
    touch(task.address);
    for (const uint64_t word : words_at(space, task)) {
      if (sets_pointer(word))
        findings_.add(FindingKind::Punished,
                      "a stream writes CNA or CORE S_POINTER: only the kernel knows its bits for the core");
      if (const auto address = address_in(word); address && *address != 0) touch(*address);
    }
  }
  for (const uint32_t address : unlisted)
    findings_.add(
        FindingKind::Punished,
        fmt::format("a job uses the buffer at {:#x}, which is in no list: it may be gone before the "
                    "job runs",
                    address));
}

}  // namespace peraxis::capture
