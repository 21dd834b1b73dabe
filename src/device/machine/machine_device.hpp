// The machine model as a device. Buffers are page-aligned from 0x10000 up with an unmapped page between
// them, so that a task that runs past a buffer is caught. A byte counts as written only after
// sync_to_device or a task's own write.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "machine/machine.hpp"

namespace peraxis::device {

class MachineDevice final : public Device {
 public:
  explicit MachineDevice(machine::Options options = {});

  std::string name() const override { return "sim"; }
  int64_t used_bytes() const override;
  Result<Buffer> allocate(int64_t bytes, const std::string& name) override;
  Status sync_to_device(const Buffer& buffer, int64_t offset, int64_t bytes) override;
  // Bytes no task has written read as they are; only the range is checked.
  Status sync_from_device(const Buffer& buffer, int64_t offset, int64_t bytes) override;
  Status run(std::span<const TaskEntry> tasks, std::vector<TaskCounters>& counters) override;

 private:
  struct State;
  class Mapping;
  std::shared_ptr<State> state_;  // also of the buffers, which may outlive the device
};

}  // namespace peraxis::device
