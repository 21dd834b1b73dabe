// A C++ program as users write them: runs an executable on an NPU through the kernel's interface, and beside
// it on the machine model in its own process; the outputs must be equal byte by byte.
//   capture_npu_run rocket|rknpu EXECUTABLE [--threads N] [--fork] [--crash-after N]
// Each thread and the forked child have a file of their own.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/file.hpp"
#include "base/rng.hpp"
#include "device/machine/machine_device.hpp"
#include "device/synchronous.hpp"
#include "device/uapi/rknpu.hpp"
#include "device/uapi/rocket.hpp"
#include "runtime/session.hpp"

using namespace peraxis;

namespace {

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
  int crash_after = INT_MAX;  // submits

 protected:
  struct Bo {
    uint32_t handle = 0;
    uint64_t address = 0, object = 0;
    std::span<uint8_t> bytes;
  };
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
  Result<device::Buffer> allocate(int64_t bytes, const std::string&) override {
    uapi::rocket::CreateBo create{static_cast<uint32_t>(bytes), 0, 0, 0};
    if (const int error = call(uapi::rocket::kCreateBo, &create); error != 0)
      return fail(ErrorCode::Device, "CREATE_BO: {}", error);
    return map({create.handle, create.dma_address, 0, {}}, create.offset, bytes);
  }
  Status end_cpu_access(const device::Buffer& buffer, int64_t, int64_t) override {
    uapi::rocket::FiniBo fini{bo_of(buffer).handle, 0};
    return call(uapi::rocket::kFiniBo, &fini) == 0 ? Status() : fail(ErrorCode::Device, "FINI_BO");
  }
  Status begin_cpu_access(const device::Buffer& buffer, int64_t, int64_t) override {
    return prepare(bo_of(buffer).handle);
  }
  Status run(std::span<const device::TaskEntry> tasks, std::vector<device::TaskCounters>&) override {
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
    uapi::rocket::Submit submit{reinterpret_cast<uint64_t>(&job), 1, sizeof(job), 0};
    if (const int error = call(uapi::rocket::kSubmit, &submit); error != 0)
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
  Result<device::Buffer> allocate(int64_t bytes, const std::string&) override {
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
    return map({create.handle, create.dma_addr, create.obj_addr, {}}, where.offset, bytes);
  }
  Status end_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    return sync(buffer, offset, bytes, uapi::rknpu::kSyncToDevice);
  }
  Status begin_cpu_access(const device::Buffer& buffer, int64_t offset, int64_t bytes) override {
    return sync(buffer, offset, bytes, uapi::rknpu::kSyncFromDevice);
  }
  Status run(std::span<const device::TaskEntry> tasks, std::vector<device::TaskCounters>&) override {
    std::vector<uapi::rknpu::Task> entries;
    for (const device::TaskEntry& task : tasks)
      entries.push_back(
          {0, 0, 0xD, 0x300, 0x1FFFF, 0, task.words - uapi::rknpu::kTailWords, 0, task.address});
    std::memcpy(list_.bytes.data(), entries.data(), entries.size() * sizeof(entries[0]));
    PERAXIS_TRY(end_cpu_access(list_, 0, static_cast<int64_t>(list_.bytes.size())));
    uapi::rknpu::Submit submit{};
    const auto count = static_cast<uint32_t>(tasks.size());
    submit.flags = uapi::rknpu::kJobPc | uapi::rknpu::kJobPingPong;
    submit.timeout_ms = 6000;
    submit.task_number = count;
    submit.task_obj_addr = bo_of(list_).object;
    submit.core_mask = 1;
    submit.fence_fd = -1;
    submit.subcore[0] = {0, count};
    if (const int error = call(uapi::rknpu::kSubmit, &submit); error != 0)
      return fail(ErrorCode::Device, "SUBMIT: {}", error);
    if (submit.task_counter != count)
      return fail(ErrorCode::Device, "task_counter is {}", submit.task_counter);
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

using Outputs = std::vector<std::vector<uint8_t>>;

Result<Outputs> run_on(device::Device& device, const exe::Executable& executable, uint64_t seed, int times) {
  const auto session = PERAXIS_TRY(runtime::Session::create(executable, device));
  std::vector<std::vector<uint8_t>> inputs;
  base::Rng rng(seed);
  for (const int32_t input : session->graph().inputs) {
    inputs.emplace_back(static_cast<size_t>(session->graph().tensors[static_cast<size_t>(input)].bytes()));
    for (uint8_t& byte : inputs.back()) byte = static_cast<uint8_t>(rng.next());
  }
  const std::vector<std::span<const uint8_t>> views(inputs.begin(), inputs.end());
  Outputs out;
  for (int i = 0; i < times; ++i) out = PERAXIS_TRY(session->run(views));
  return out;
}

bool run_both(const std::string& driver, const exe::Executable& executable, uint64_t seed, int crash_after) {
  std::unique_ptr<KernelDevice> device;
  if (driver == "rocket")
    device = std::make_unique<RocketDevice>();
  else
    device = std::make_unique<RknpuDevice>();
  if (!device->ready()) return false;
  device->crash_after = crash_after;
  device::MachineDevice model;
  const auto is = run_on(*device, executable, seed, 2), want = run_on(model, executable, seed, 1);
  if (!is || !want) {
    std::fprintf(stderr, "%s\n", (!is ? is : want).error().text().c_str());
    return false;
  }
  if (*is != *want) std::fprintf(stderr, "the outputs differ\n");
  return *is == *want;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int threads = 1, crash_after = INT_MAX;
  bool forks = false;
  for (int i = 3; i < argc; ++i) {
    if (std::strcmp(argv[i], "--fork") == 0) forks = true;
    if (std::strcmp(argv[i], "--threads") == 0)
      threads = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--crash-after") == 0)
      crash_after = std::atoi(argv[++i]);
  }
  const auto bytes = base::read_file(argv[2]);
  if (!bytes) return 2;
  const auto executable = exe::read(*bytes);
  if (!executable) return 2;
  const pid_t child = forks ? fork() : -1;
  std::vector<std::thread> running;
  std::vector<char> good(static_cast<size_t>(threads), 0);
  for (size_t t = 0; t < good.size(); ++t)
    running.emplace_back([&, t] { good[t] = run_both(argv[1], *executable, t + 1, crash_after) ? 1 : 0; });
  for (std::thread& thread : running) thread.join();
  bool all = true;
  for (const char one : good) all = all && one != 0;
  if (child > 0) {
    int status = 0;
    waitpid(child, &status, 0);
    all = all && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (child != 0) std::printf("%s\n", all ? "equal" : "NOT EQUAL");
  return all ? 0 : 1;
}
