// NPUs behind a kernel's interface, as the programs of the capture tests use them.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

#include "device/device.hpp"
#include "device/synchronous.hpp"
#include "device/uapi/rknpu.hpp"
#include "device/uapi/rocket.hpp"

namespace peraxis::capture_test {

class KernelDevice : public device::SynchronousDevice {
 public:
  explicit KernelDevice(const char* path) : fd_(open(path, O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) std::perror(path);
  }
  ~KernelDevice() override {
    for (const Bo& bo : bos_) munmap(bo.bytes.data(), bo.bytes.size());
    close(fd_);
  }
  bool ready() const { return fd_ >= 0; }
  Status run(std::span<const device::TaskEntry> tasks, std::vector<device::TaskCounters>&) final {
    const size_t step = job_a_task ? 1 : tasks.size();
    for (size_t i = 0; i < tasks.size(); i += step) PERAXIS_TRY(submit_tasks(tasks.subspan(i, step)));
    return {};
  }
  int crash_after = INT_MAX;    // submits
  bool job_a_task = false;      // what a task left in CBUF is then another job's
  bool forgets_inputs = false;  // activations lose what was written there: nobody ever touched them

 protected:
  struct Bo {
    uint32_t handle = 0;
    uint64_t address = 0, object = 0;
    std::span<uint8_t> bytes;
    bool activations = false;
  };
  virtual Status submit_tasks(std::span<const device::TaskEntry> tasks) = 0;
  // Before the device is told of what the host wrote.
  void forget(const Bo& bo) const {
    if (forgets_inputs && bo.activations) madvise(bo.bytes.data(), bo.bytes.size(), MADV_REMOVE);
  }
  int call(uint32_t request, void* argument) { return ioctl(fd_, request, argument) < 0 ? -errno : 0; }
  Result<device::Buffer> map(Bo bo, uint64_t offset, int64_t bytes) {
    void* at = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                    static_cast<off_t>(offset));
    if (at == MAP_FAILED) return fail(ErrorCode::Device, "mmap: {}", std::strerror(errno));
    bo.bytes = {static_cast<uint8_t*>(at), static_cast<size_t>(bytes)};
    bos_.push_back(bo);
    return device::Buffer{static_cast<uint32_t>(bo.address), bo.bytes};
  }
  const Bo& bo_of(const device::Buffer& buffer) const {
    for (const Bo& bo : bos_)
      if (bo.address == buffer.address) return bo;
    std::abort();
  }
  void count_submit() {
    if (--crash_after <= 0) raise(SIGSEGV);
  }

  int fd_;
  std::vector<Bo> bos_;
};

class RocketDevice final : public KernelDevice {
 public:
  RocketDevice() : KernelDevice("/dev/accel/accel0") {
    // Address 0 is a buffer's too; the runtime takes it for none.
    uapi::rocket::CreateBo first{4096, 0, 0, 0};
    call(uapi::rocket::kCreateBo, &first);
  }
  std::string name() const override { return "rocket"; }
  Result<device::Buffer> allocate(int64_t bytes, const std::string& name) override {
    uapi::rocket::CreateBo create{static_cast<uint32_t>(bytes), 0, 0, 0};
    if (const int error = call(uapi::rocket::kCreateBo, &create); error != 0)
      return fail(ErrorCode::Device, "CREATE_BO: {}", error);
    return map({create.handle, create.dma_address, 0, {}, name == "activations"}, create.offset, bytes);
  }
  Status end_cpu_access(const device::Buffer& buffer, int64_t, int64_t) override {
    forget(bo_of(buffer));
    uapi::rocket::FiniBo fini{bo_of(buffer).handle, 0};
    return call(uapi::rocket::kFiniBo, &fini) == 0 ? Status() : fail(ErrorCode::Device, "FINI_BO");
  }
  Status begin_cpu_access(const device::Buffer& buffer, int64_t, int64_t) override {
    return prepare(bo_of(buffer).handle);
  }
  Status submit_tasks(std::span<const device::TaskEntry> tasks) override {
    std::vector<uapi::rocket::Task> list;
    for (const device::TaskEntry& task : tasks) list.push_back({task.address, task.words});
    std::vector<uint32_t> out;
    for (const Bo& bo : bos_) out.push_back(bo.handle);
    uapi::rocket::Job job{reinterpret_cast<uint64_t>(list.data()),
                          0,
                          reinterpret_cast<uint64_t>(out.data()),
                          static_cast<uint32_t>(list.size()),
                          sizeof(uapi::rocket::Task),
                          0,
                          static_cast<uint32_t>(out.size())};
    uapi::rocket::Submit request{reinterpret_cast<uint64_t>(&job), 1, sizeof(job), 0};
    if (const int error = call(uapi::rocket::kSubmit, &request); error != 0)
      return fail(ErrorCode::Device, "SUBMIT: {}", error);
    PERAXIS_TRY(prepare(out.back()));
    count_submit();
    return {};
  }

 private:
  Status prepare(uint32_t handle) {
    uapi::rocket::PrepBo prep{handle, 0, INT64_MAX};
    const int error = call(uapi::rocket::kPrepBo, &prep);
    return error == 0 ? Status() : fail(ErrorCode::Device, "PREP_BO: {}", error);
  }
};

class RknpuDevice final : public KernelDevice {
 public:
  RknpuDevice() : KernelDevice("/dev/dri/card1") {
    auto made = allocate(1 << 20, "tasks");
    if (made) list_ = *made;
  }
  std::string name() const override { return "rknpu"; }
  Result<device::Buffer> allocate(int64_t bytes, const std::string& name) override {
    uapi::rknpu::MemCreate create{};
    create.flags = 0x403 | (bos_.empty() ? uapi::rknpu::kKernelMapping : 0);
    create.size = static_cast<uint64_t>(bytes);
    // Older programs know 40 bytes of the struct.
    const uint32_t request = bos_.size() % 2 == 0 ? uapi::rknpu::kMemCreate : uapi::rknpu::kOldMemCreate;
    if (const int error = call(request, &create); error != 0)
      return fail(ErrorCode::Device, "MEM_CREATE: {}", error);
    uapi::rknpu::MemMap where{create.handle, 0, 0};
    if (const int error = call(uapi::rknpu::kMemMap, &where); error != 0)
      return fail(ErrorCode::Device, "MEM_MAP: {}", error);
    return map({create.handle, create.dma_addr, create.obj_addr, {}, name == "activations"}, where.offset,
               bytes);
  }
  Status end_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    forget(bo_of(buffer));
    return sync(buffer, offset, bytes, uapi::rknpu::kSyncToDevice);
  }
  Status begin_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    return sync(buffer, offset, bytes, uapi::rknpu::kSyncFromDevice);
  }
  Status submit_tasks(std::span<const device::TaskEntry> tasks) override {
    std::vector<uapi::rknpu::Task> entries;
    for (const device::TaskEntry& task : tasks)
      entries.push_back(
          {0, 0, 0xD, 0x300, 0x1FFFF, 0, task.words - uapi::rknpu::kTailWords, 0, task.address});
    std::memcpy(list_.bytes.data(), entries.data(), entries.size() * sizeof(entries[0]));
    PERAXIS_TRY(end_cpu_access(list_, 0, static_cast<int64_t>(list_.bytes.size())));
    uapi::rknpu::Submit request{};
    const auto count = static_cast<uint32_t>(tasks.size());
    request.flags = uapi::rknpu::kJobPc | uapi::rknpu::kJobPingPong;
    request.timeout_ms = 6000;
    request.task_number = count;
    request.task_obj_addr = bo_of(list_).object;
    request.core_mask = 1;
    request.fence_fd = -1;
    request.subcore[0] = {0, count};
    if (const int error = call(uapi::rknpu::kSubmit, &request); error != 0)
      return fail(ErrorCode::Device, "SUBMIT: {}", error);
    if (request.task_counter != count)
      return fail(ErrorCode::Device, "task_counter is {}", request.task_counter);
    count_submit();
    return {};
  }

 private:
  Status sync(const device::Buffer& buffer, int64_t offset, int64_t bytes, uint32_t direction) {
    uapi::rknpu::MemSync call_{direction, 0, bo_of(buffer).object, static_cast<uint64_t>(offset),
                               static_cast<uint64_t>(bytes)};
    const int error = call(uapi::rknpu::kMemSync, &call_);
    return error == 0 ? Status() : fail(ErrorCode::Device, "MEM_SYNC: {}", error);
  }

  device::Buffer list_;
};

inline std::unique_ptr<KernelDevice> open_device(const std::string& driver) {
  if (driver == "rocket") return std::make_unique<RocketDevice>();
  return std::make_unique<RknpuDevice>();
}

}  // namespace peraxis::capture_test
