// See the header.
#include "device/machine/machine_jobs.hpp"

#include <algorithm>
#include <utility>

namespace peraxis::device {
namespace {

using Clock = std::chrono::steady_clock;

bool shares(const std::vector<Buffer>& a, const std::vector<Buffer>& b) {
  return std::ranges::any_of(a, [&](const Buffer& x) {
    return std::ranges::any_of(b, [&](const Buffer& y) { return x.owner == y.owner; });
  });
}

bool must_wait(const Job& later, const Job& earlier) {
  return shares(later.writes, earlier.writes) || shares(later.writes, earlier.reads) ||
         shares(later.reads, earlier.writes);
}

}  // namespace

MachineJobs::~MachineJobs() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<FencePtr> MachineJobs::submit(Job job) {
  PERAXIS_TRY(memory_->begin_use(job));
  std::shared_ptr<Completion> fence;
  {
    const std::lock_guard lock(mutex_);
    Pending& pending = jobs_.emplace_back();
    pending.job = std::move(job);
    fence = pending.fence;
    for (Pending& earlier : jobs_) {
      if (&earlier == &pending || !must_wait(pending.job, earlier.job)) continue;
      earlier.followers.push_back(&pending);
      ++pending.waits_for;
    }
    for (auto core = static_cast<int32_t>(threads_.size()); core < kCores; ++core)
      threads_.emplace_back([this, core] { run_core(core); });
  }
  changed_.notify_all();
  return fence;
}

// In order of submission. A job that names its cores keeps later ones off them until it has started; one for
// any cores that finds too few keeps all later ones back, so that single jobs do not starve it.
MachineJobs::Pending* MachineJobs::startable(int32_t core) {
  std::array<bool, kCores> taken = busy_;
  for (Pending& pending : jobs_) {
    if (pending.running) continue;
    const std::vector<Chain>& chains = pending.job.chains;
    std::vector<int32_t> cores;
    if (chains.front().core != kAnyCore) {
      for (const Chain& chain : chains) cores.push_back(chain.core);
      const bool free = std::ranges::none_of(cores, [&](int32_t c) { return taken[static_cast<size_t>(c)]; });
      if (pending.waits_for == 0 && free && cores.front() == core) {
        pending.cores = std::move(cores);
        return &pending;
      }
      for (const int32_t c : cores) taken[static_cast<size_t>(c)] = true;
      continue;
    }
    if (pending.waits_for > 0) continue;
    if (!taken[static_cast<size_t>(core)]) cores.push_back(core);
    for (int32_t c = 0; c < kCores && cores.size() < chains.size(); ++c)
      if (c != core && !taken[static_cast<size_t>(c)]) cores.push_back(c);
    if (cores.size() < chains.size()) return nullptr;
    if (cores.front() == core) {
      pending.cores = std::move(cores);
      return &pending;
    }
    // Another core's thread takes it.
    for (const int32_t c : cores) taken[static_cast<size_t>(c)] = true;
  }
  return nullptr;
}

void MachineJobs::run_core(int32_t core) {
  std::unique_lock lock(mutex_);
  for (;;) {
    Pending* pending = nullptr;
    changed_.wait(lock, [&] {
      pending = startable(core);
      return pending != nullptr || (closing_ && jobs_.empty());
    });
    if (pending == nullptr) return;
    pending->running = true;
    for (const int32_t c : pending->cores) busy_[static_cast<size_t>(c)] = true;
    lock.unlock();
    Completion::Counters counters;
    Status result = execute(*pending, counters);
    memory_->end_use(pending->job);
    // Its buffers go first: who has waited finds their memory given back. Then its fence, before any job that
    // waits for it begins: fences of such jobs end in order.
    lock.lock();
    std::vector<Buffer> reads = std::move(pending->job.reads), writes = std::move(pending->job.writes);
    lock.unlock();
    reads.clear();
    writes.clear();
    pending->fence->finish(std::move(result), std::move(counters));
    lock.lock();
    for (const int32_t c : pending->cores) busy_[static_cast<size_t>(c)] = false;
    for (Pending* follower : pending->followers) --follower->waits_for;
    std::erase_if(jobs_, [&](const Pending& p) { return &p == pending; });
    changed_.notify_all();
  }
}

Status MachineJobs::execute(const Pending& pending, Completion::Counters& counters) const {
  const Clock::time_point start = Clock::now();
  const std::chrono::milliseconds limit = pending.job.timeout;
  machine::Options options = options_;
  options.before_task = [&](int32_t core, int32_t task) -> Status {
    if (lost_) return fail(ErrorCode::DeviceLost, "device 'sim' went before task {} on core {}", task, core);
    if (limit.count() > 0 && Clock::now() - start > limit)
      return fail(ErrorCode::Timeout, "a job had {} ms, which were over before task {} on core {}",
                  limit.count(), task, core);
    return options_.before_task ? options_.before_task(core, task) : Status{};
  };
  machine::Machine machine(std::move(options));
  for (const auto* list : {&pending.job.reads, &pending.job.writes})
    for (const Buffer& buffer : *list)
      PERAXIS_TRY(machine.memory().map(buffer.address, memory_->block_of(buffer)));
  std::vector<machine::Kick> kicks;
  for (size_t i = 0; i < pending.job.chains.size(); ++i) {
    const std::vector<TaskEntry>& tasks = pending.job.chains[i].tasks;
    kicks.push_back({tasks[0].address, tasks[0].words, static_cast<int32_t>(tasks.size()), pending.cores[i]});
  }
  const auto reports = PERAXIS_TRY(machine.run(kicks));
  counters.emplace();
  for (const std::vector<machine::TaskReport>& chain : reports) {
    counters->emplace_back();
    for (const machine::TaskReport& r : chain)
      counters->back().push_back(
          {r.output_pixels, r.kernel_taps, r.input_channels, r.output_channels, r.depthwise});
  }
  return {};
}

}  // namespace peraxis::device
