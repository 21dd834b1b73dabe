// A device that accepts nothing: every method is here and answers Unsupported. Copy it to start a backend.
#pragma once

#include "device/device.hpp"

namespace peraxis::device {

class NullDevice final : public Device {
 public:
  std::string name() const override { return "null"; }
  Result<Buffer> allocate(int64_t bytes, const std::string& name) override;
  Status begin_cpu_access(const Buffer& buffer, int64_t offset, int64_t bytes) override;
  Status end_cpu_access(const Buffer& buffer, int64_t offset, int64_t bytes) override;
  Result<FencePtr> submit(Job job) override;
};

}  // namespace peraxis::device
