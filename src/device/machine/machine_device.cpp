// See the header.
#include "device/machine/machine_device.hpp"

#include <algorithm>
#include <utility>

#include "device/job.hpp"
#include "device/machine/machine_jobs.hpp"
#include "device/machine/machine_memory.hpp"

namespace peraxis::device {

MachineDevice::MachineDevice(machine::Options options, int64_t addresses)
    : memory_(std::make_shared<MachineMemory>(std::min(addresses, int64_t{1} << 32))),
      jobs_(std::make_unique<MachineJobs>(memory_, std::move(options))) {}
MachineDevice::~MachineDevice() = default;

int32_t MachineDevice::cores() const {
  return MachineJobs::kCores;
}

std::optional<AddressSpace> MachineDevice::address_space() const {
  return memory_->space();
}

Status MachineDevice::check_present() const {
  if (jobs_->lost()) return fail(ErrorCode::DeviceLost, "device 'sim' is gone");
  return {};
}

void MachineDevice::lose() {
  jobs_->lose();
}

Result<Buffer> MachineDevice::allocate(int64_t bytes, const std::string& name) {
  PERAXIS_TRY(check_present());
  return memory_->allocate(bytes, name, MachineMemory::Kind::Private);
}

Result<Buffer> MachineDevice::allocate_exportable(int64_t bytes, const std::string& name) {
  PERAXIS_TRY(check_present());
  return memory_->allocate(bytes, name, MachineMemory::Kind::Exportable);
}

Result<base::Descriptor> MachineDevice::export_buffer(const Buffer& buffer) {
  PERAXIS_TRY(check_present());
  return memory_->export_memory(buffer);
}

Result<Buffer> MachineDevice::import_buffer(int fd, const std::string& name) {
  PERAXIS_TRY(check_present());
  return memory_->import_memory(fd, name);
}

Status MachineDevice::begin_cpu_access(const Buffer& buffer, int64_t offset, int64_t bytes) {
  PERAXIS_TRY(check_present());
  PERAXIS_TRY(check_range(buffer, offset, bytes));
  return memory_->check_readable(buffer);
}

Status MachineDevice::end_cpu_access(const Buffer& buffer, int64_t offset, int64_t bytes) {
  PERAXIS_TRY(check_present());
  PERAXIS_TRY(check_range(buffer, offset, bytes));
  return memory_->mark_written(buffer, offset, bytes);
}

Result<FencePtr> MachineDevice::submit(Job job) {
  PERAXIS_TRY(check_present());
  PERAXIS_TRY(check_job(job, *this));
  return jobs_->submit(std::move(job));
}

}  // namespace peraxis::device
