// See the header.
#include "device/null/null_device.hpp"

namespace peraxis::device {

Result<Buffer> NullDevice::allocate(int64_t bytes, const std::string& name) {
  return fail(ErrorCode::Unsupported, "the null device has no memory: buffer '{}' of {} bytes", name, bytes);
}

Status NullDevice::end_cpu_access(const Buffer& buffer, int64_t, int64_t) {
  return fail(ErrorCode::Unsupported, "the null device has no memory: the buffer at {:#x}", buffer.address);
}

Status NullDevice::begin_cpu_access(const Buffer& buffer, int64_t, int64_t) {
  return fail(ErrorCode::Unsupported, "the null device has no memory: the buffer at {:#x}", buffer.address);
}

Result<FencePtr> NullDevice::submit(Job job) {
  return fail(ErrorCode::Unsupported, "the null device runs nothing: a job of {} chains", job.chains.size());
}

}  // namespace peraxis::device
