// What a backend that shares no memory answers.
#include "device/device.hpp"

namespace peraxis::device {

Result<Buffer> Device::allocate_exportable(int64_t bytes, const std::string& name) {
  return fail(ErrorCode::Unsupported, "device '{}' has no memory to export: buffer '{}' of {} bytes",
              this->name(), name, bytes);
}

Result<base::Descriptor> Device::export_buffer(const Buffer& buffer) {
  return fail(ErrorCode::Unsupported, "device '{}' exports no memory: the buffer at {:#x} of {} bytes",
              name(), buffer.address, buffer.bytes.size());
}

Result<Buffer> Device::import_buffer(int fd, const std::string& name) {
  return fail(ErrorCode::Unsupported, "device '{}' imports no memory: buffer '{}' of descriptor {}",
              this->name(), name, fd);
}

}  // namespace peraxis::device
