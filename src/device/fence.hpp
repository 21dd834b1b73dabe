// What becomes of a job.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.hpp"

namespace peraxis::device {

// What the device saw in the registers of an executed task (the CNA and CORE registers).
struct TaskCounters {
  int64_t output_pixels = 0;    // CORE DATAOUT_WIDTH * DATAOUT_HEIGHT
  int64_t kernel_taps = 0;      // CNA WEIGHT_WIDTH * WEIGHT_HEIGHT
  int64_t input_channels = 0;   // CNA DATAIN_CHANNEL
  int64_t output_channels = 0;  // CORE DATAOUT_CHANNEL
  bool depthwise = false;       // CNA CONV_MODE
};

// Any thread may ask, as often as it likes; the answer to an ended job stays the same. Outlives the device.
class Fence {
 public:
  virtual ~Fence() = default;

  // true: the job has ended and all its tasks ran; false: not within `time`; an error: it failed, and how.
  // The time bounds the waiting, not the job. 0 or less asks and never blocks.
  virtual Result<bool> wait_for(std::chrono::milliseconds time) const = 0;
  // By chain and task, of jobs that ended well; none: only a simulator sees registers.
  virtual const std::vector<std::vector<TaskCounters>>* counters() const { return nullptr; }

  Result<bool> poll() const { return wait_for(std::chrono::milliseconds(0)); }
  // Until the job has ended.
  Status wait() const;
};
using FencePtr = std::shared_ptr<const Fence>;

// A fence that the backend's own code ends.
class Completion final : public Fence {
 public:
  using Counters = std::optional<std::vector<std::vector<TaskCounters>>>;

  Result<bool> wait_for(std::chrono::milliseconds time) const override;
  const std::vector<std::vector<TaskCounters>>* counters() const override;
  // The first call counts.
  void finish(Status result, Counters counters = std::nullopt);

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  std::optional<Status> result_;
  Counters counters_;
};

}  // namespace peraxis::device
