// What the runtime needs from a device: buffers at 32-bit device addresses and jobs of chained tasks.
// Backends: machine/ (the default: the machine model), null/ (accepts nothing; start a new one from it).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace peraxis::device {

// Memory both sides see, at the same addresses until the last copy of the handle is gone. That gives it back,
// in any thread, also after the device itself is gone. No job may run then that uses it.
struct Buffer {
  uint32_t address = 0;  // device address (IOVA); all buffers lie below 4 GiB
  std::span<uint8_t> bytes;
  std::shared_ptr<const void> owner = nullptr;
};

struct TaskEntry {
  uint32_t address = 0;  // of the first command word
  uint32_t words = 0;    // total, including the tail
};

// What the device saw in the registers of an executed task (the CNA and CORE registers; 0 when unknown).
struct TaskCounters {
  int64_t output_pixels = 0;    // CORE DATAOUT_WIDTH * DATAOUT_HEIGHT
  int64_t kernel_taps = 0;      // CNA WEIGHT_WIDTH * WEIGHT_HEIGHT
  int64_t input_channels = 0;   // CNA DATAIN_CHANNEL
  int64_t output_channels = 0;  // CORE DATAOUT_CHANNEL
  bool depthwise = false;       // CNA CONV_MODE
};

// Any thread may call; jobs of several callers take turns.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "sim", "null"
  // Of the 4 GiB that device addresses reach: what living buffers leave to no other, gaps that keep them
  // apart included. 0 where the device does not say.
  virtual int64_t used_bytes() const { return 0; }
  // Zero-filled for the host; on the machine model it counts as never written until the host writes it
  // and calls sync_to_device.
  virtual Result<Buffer> allocate(int64_t bytes, const std::string& name) = 0;
  virtual Status sync_to_device(const Buffer& buffer, int64_t offset, int64_t bytes) = 0;
  virtual Status sync_from_device(const Buffer& buffer, int64_t offset, int64_t bytes) = 0;
  // Runs the tasks as one chain and waits. Counters are appended, one a task.
  virtual Status run(std::span<const TaskEntry> tasks, std::vector<TaskCounters>& counters) = 0;
};

}  // namespace peraxis::device
