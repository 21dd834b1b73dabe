// Jobs of the machine model: a thread a core. What may start is decided at one place, `startable`.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.hpp"
#include "device/machine/machine_memory.hpp"
#include "machine/machine.hpp"

namespace peraxis::device {

class MachineJobs {
 public:
  static constexpr int32_t kCores = 3;

  MachineJobs(std::shared_ptr<MachineMemory> memory, machine::Options options)
      : memory_(std::move(memory)), options_(std::move(options)) {}
  // Waits for all jobs.
  ~MachineJobs();
  MachineJobs(const MachineJobs&) = delete;
  MachineJobs& operator=(const MachineJobs&) = delete;

  // The job has passed check_job.
  Result<FencePtr> submit(Job job);
  void lose() { lost_ = true; }
  bool lost() const { return lost_; }

 private:
  struct Pending {
    Job job;
    std::shared_ptr<Completion> fence = std::make_shared<Completion>();
    int32_t waits_for = 0;            // earlier jobs that share a buffer
    std::vector<Pending*> followers;  // later ones that wait for this
    bool running = false;
    std::vector<int32_t> cores;  // by chain, while it runs
  };
  void run_core(int32_t core);
  // The job this core begins now, with its cores; null: none. The lock is held.
  Pending* startable(int32_t core);
  Status execute(const Pending& pending, Completion::Counters& counters) const;

  const std::shared_ptr<MachineMemory> memory_;
  const machine::Options options_;
  std::atomic<bool> lost_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::list<Pending> jobs_;  // not ended, in order of submission
  std::array<bool, kCores> busy_{};
  bool closing_ = false;
  std::vector<std::thread> threads_;  // one a core, from the first job on
};

}  // namespace peraxis::device
