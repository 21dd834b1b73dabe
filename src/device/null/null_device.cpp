// See the header.
#include "device/null/null_device.hpp"

namespace peraxis::device {

Result<Buffer> NullDevice::allocate(int64_t bytes, const std::string& name) {
  return fail(ErrorCode::Unsupported, "the null device has no memory: buffer '{}' of {} bytes", name, bytes);
}

Status NullDevice::sync_to_device(const Buffer& buffer, int64_t, int64_t) {
  return fail(ErrorCode::Unsupported, "the null device has no memory: copy to {:#x}", buffer.address);
}

Status NullDevice::sync_from_device(const Buffer& buffer, int64_t, int64_t) {
  return fail(ErrorCode::Unsupported, "the null device has no memory: copy from {:#x}", buffer.address);
}

Status NullDevice::run(std::span<const TaskEntry> tasks, std::vector<TaskCounters>&) {
  return fail(ErrorCode::Unsupported, "the null device runs nothing: {} tasks", tasks.size());
}

}  // namespace peraxis::device
