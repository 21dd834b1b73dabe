// A device that accepts nothing: every method is here and answers Unsupported. Copy it to start a backend.
#pragma once

#include "device/device.hpp"

namespace peraxis::device {

class NullDevice final : public Device {
 public:
  std::string name() const override { return "null"; }
  Result<Buffer> allocate(int64_t bytes, const std::string& name) override;
  Status sync_to_device(const Buffer& buffer, int64_t offset, int64_t bytes) override;
  Status sync_from_device(const Buffer& buffer, int64_t offset, int64_t bytes) override;
  Status run(std::span<const TaskEntry> tasks, std::vector<TaskCounters>& counters) override;
};

}  // namespace peraxis::device
