// The machine model as a device. Buffers are page-aligned from 0x10000 up with an unmapped page between
// them, so that a task that runs past a buffer is caught. A byte counts as written only after end_cpu_access
// or a task's own write. A job reaches the buffers it lists and no other. Its three cores are threads; a job
// on several cores runs on one of them, from barrier to barrier. The model's own time is no device time, so a
// job has no time limit but the one it states, which is looked at between tasks. Every job begins with an
// empty CBUF, whatever Switches::cbuf_survives_jobs says.
#pragma once

#include <memory>

#include "device/device.hpp"
#include "machine/machine.hpp"

namespace peraxis::device {

class MachineMemory;
class MachineJobs;

class MachineDevice final : public Device {
 public:
  // `addresses`: bytes of the address space, at most 4 GiB.
  explicit MachineDevice(machine::Options options = {}, int64_t addresses = int64_t{1} << 32);
  ~MachineDevice() override;

  std::string name() const override { return "sim"; }
  int32_t cores() const override;
  int32_t cores_of_a_job() const override { return cores(); }
  std::optional<AddressSpace> address_space() const override;
  Result<Buffer> allocate(int64_t bytes, const std::string& name) override;
  // Memory of an exportable buffer is a sealed memfd; import takes those.
  Result<Buffer> allocate_exportable(int64_t bytes, const std::string& name) override;
  Result<base::Descriptor> export_buffer(const Buffer& buffer) override;
  Result<Buffer> import_buffer(int fd, const std::string& name) override;
  // Bytes no task has written read as they are.
  Status begin_cpu_access(const Buffer& buffer, int64_t offset, int64_t bytes) override;
  Status end_cpu_access(const Buffer& buffer, int64_t offset, int64_t bytes) override;
  Result<FencePtr> submit(Job job) override;

  // As if the chip were taken away, for tests of what callers do then: jobs end before their next task.
  void lose();

 private:
  Status check_present() const;

  std::shared_ptr<MachineMemory> memory_;  // also of the buffers, which may outlive the device
  std::unique_ptr<MachineJobs> jobs_;
};

}  // namespace peraxis::device
