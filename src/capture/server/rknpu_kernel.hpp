// Rockchip's driver `rknpu` without hardware: one address space for all files, task lists in memory, jobs on
// one, two or three cores that follow the chain words, blocking submits with a time of their own, fences on
// request. Written from the documents and the driver's published source; not measured.
#pragma once

#include <deque>
#include <list>

#include "capture/server/fake_kernel.hpp"
#include "device/uapi/rknpu.hpp"

namespace peraxis::capture {

class RknpuKernel final : public FakeKernel {
 public:
  explicit RknpuKernel(KernelOptions options);
  ~RknpuKernel() override;

  const char* driver_name() const override { return uapi::rknpu::kName; }

 private:
  static constexpr uint32_t kCores = 3;

  struct Job {
    uapi::rknpu::Submit call{};
    std::shared_ptr<Bo> list;
    std::vector<uint32_t> cores;
    std::shared_ptr<Fence> done;
  };
  struct JobResult {
    int error = 0;         // errno
    uint32_t counter = 0;  // tasks finished
    int64_t elapsed_ns = 0;
  };

  std::string_view description() const override { return uapi::rknpu::kDescription; }
  Version driver_version() const override { return {0, 9, 8, "20240828"}; }
  std::string_view call_name(uint32_t request) const override;
  void handle_closed(File& file, const std::shared_ptr<Bo>& bo) override;
  CallResult driver_call(File& file, uint32_t request, uint64_t argument, Caller& caller,
                         Lock& lock) override;
  CallResult action(uint32_t request, uint64_t argument, Caller& caller);
  CallResult create(File& file, uint32_t request, uint64_t argument, Caller& caller);
  CallResult map_offset(File& file, uint32_t request, uint64_t argument, Caller& caller);
  CallResult destroy(File& file, uint32_t request, uint64_t argument, Caller& caller);
  CallResult sync(uint32_t request, uint64_t argument, Caller& caller);
  CallResult submit(uint32_t request, uint64_t argument, Caller& caller, Lock& lock);
  // Waits for the job's turn on its cores, runs it and frees them. `lock` is held before and after.
  JobResult run(Job& job, Lock& lock);
  JobResult execute(const Job& job, const Space& space);
  JobResult execute_alone(const Job& job, const Space& space, const Budget& budget, JobResult result);
  // The entries of one core's part of the list; empty: the list does not reach so far.
  std::vector<uapi::rknpu::Task> tasks_of(const Job& job, uint32_t core) const;
  void inspect(const Job& job);
  std::shared_ptr<Bo> object(uint64_t address);
  void sweep();  // gives back the addresses of objects that are gone
  Space space() const;

  struct Placed {
    std::weak_ptr<Bo> bo;
    int64_t address = 0, size = 0;
  };
  Addresses addresses_;
  std::map<uint64_t, Placed> objects_;  // by the name that programs use
  uint64_t next_object_ = 0xFFFF000100000000;
  std::array<std::deque<const Job*>, kCores> queues_;
  std::array<uint64_t, kCores> queued_tasks_{};
  std::list<std::thread> background_;  // jobs that nobody waits for
};

}  // namespace peraxis::capture
