// See the header.
#include "device/machine/machine_device.hpp"

#include <algorithm>
#include <new>

namespace peraxis::device {
namespace {

constexpr int64_t kPage = 4096;

Status check_range(const Buffer& buffer, int64_t offset, int64_t bytes) {
  const int64_t size = static_cast<int64_t>(buffer.bytes.size());
  if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset)
    return fail(ErrorCode::InvalidArgument, "bytes {}..{} of the buffer at {:#x}, which has {}", offset,
                offset + bytes, buffer.address, size);
  return {};
}

}  // namespace

int64_t MachineDevice::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return next_address_;
}

Result<Buffer> MachineDevice::allocate(int64_t bytes, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (bytes < 1) return fail(ErrorCode::InvalidArgument, "buffer '{}': {} bytes", name, bytes);
  const int64_t end = int64_t{1} << 32;
  if (bytes > end - next_address_)
    return fail(ErrorCode::OutOfMemory,
                "buffer '{}': {} bytes do not fit below 4 GiB (next free address {:#x})", name, bytes,
                next_address_);
  try {
    storage_.emplace_back(static_cast<size_t>(bytes));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "buffer '{}': no memory for {} bytes", name, bytes);
  }
  const Buffer buffer{static_cast<uint32_t>(next_address_), storage_.back()};
  PERAXIS_TRY(machine_.memory().map(buffer.address, buffer.bytes, name));
  next_address_ = (next_address_ + bytes + kPage - 1) / kPage * kPage + kPage;
  return buffer;
}

Status MachineDevice::sync_to_device(const Buffer& buffer, int64_t offset, int64_t bytes) {
  PERAXIS_TRY(check_range(buffer, offset, bytes));
  const std::lock_guard lock(mutex_);
  return machine_.memory().mark_written(buffer.address + offset, bytes);
}

Status MachineDevice::sync_from_device(const Buffer& buffer, int64_t offset, int64_t bytes) {
  return check_range(buffer, offset, bytes);
}

Status MachineDevice::run(std::span<const TaskEntry> tasks, std::vector<TaskCounters>& counters) {
  if (tasks.empty()) return fail(ErrorCode::InvalidArgument, "a job without tasks");
  const std::lock_guard lock(mutex_);
  const machine::Kick kick{tasks[0].address, tasks[0].words, static_cast<int32_t>(tasks.size()), 0};
  const std::vector<machine::TaskReport> reports = PERAXIS_TRY(machine_.run(kick));
  for (const machine::TaskReport& r : reports)
    counters.push_back({r.output_pixels, r.kernel_taps, r.input_channels, r.output_channels, r.depthwise});
  return {};
}

}  // namespace peraxis::device
