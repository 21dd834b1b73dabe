// For devices that cannot return before a job has ended: submit() runs it, and its fence has ended.
#pragma once

#include <utility>

#include "device/device.hpp"

namespace peraxis::device {

class SynchronousDevice : public Device {
 public:
  Result<FencePtr> submit(Job job) final {
    auto fence = std::make_shared<Completion>();
    std::vector<TaskCounters> counters;
    const Status done = run(job.chains.front().tasks, counters);
    Completion::Counters seen;
    if (!counters.empty()) seen = std::vector<std::vector<TaskCounters>>{std::move(counters)};
    fence->finish(done, std::move(seen));
    return fence;
  }

 protected:
  // The tasks as one chain. Counters, where the device has them: one a task.
  virtual Status run(std::span<const TaskEntry> tasks, std::vector<TaskCounters>& counters) = 0;
};

}  // namespace peraxis::device
