// The mainline driver `rocket` without hardware: what it answers, waits for and silently drops is as measured
// on Linux 7.2.13. Three cores run side by side; a file's jobs run in order, on one core while its queue is
// not empty.
#pragma once

#include <deque>

#include "capture/server/fake_kernel.hpp"
#include "device/uapi/rocket.hpp"

namespace peraxis::capture {

class RocketKernel final : public FakeKernel {
 public:
  explicit RocketKernel(KernelOptions options);
  ~RocketKernel() override;

  const char* driver_name() const override { return uapi::rocket::kName; }

 private:
  static constexpr size_t kCores = 3;

  struct Job {
    uint64_t file = 0;
    uint64_t number = 0;  // in submit order
    std::vector<CommandRange> tasks;
    std::vector<std::shared_ptr<Bo>> buffers;  // of both lists: they live as long as the job
    std::vector<std::shared_ptr<Fence>> waits;
    std::shared_ptr<Fence> done;
  };
  struct Queue {  // of a file
    Addresses addresses;
    std::map<uint64_t, std::weak_ptr<Bo>> mapped;  // by device address; unmapped when the last handle is gone
    std::deque<Job> jobs;
    size_t core = 0;
    bool running = false;
    bool closed = false;
  };

  std::string_view description() const override { return uapi::rocket::kDescription; }
  std::string_view call_name(uint32_t request) const override;
  void opened(File& file) override;
  void released(File& file) override;
  void handle_closed(File& file, const std::shared_ptr<Bo>& bo) override;
  CallResult driver_call(File& file, uint32_t request, uint64_t argument, Caller& caller,
                         Lock& lock) override;
  CallResult create(File& file, uint32_t request, uint64_t argument, Caller& caller);
  CallResult submit(File& file, uint32_t request, uint64_t argument, Caller& caller);
  CallResult prepare(File& file, uint32_t request, uint64_t argument, Caller& caller, Lock& lock);
  CallResult finish(File& file, uint32_t request, uint64_t argument, Caller& caller);
  // Why the kernel drops the job without a word; empty: it is queued.
  std::string add_job(File& file, const uapi::rocket::Job& job, Caller& caller);
  void queue_job(Queue& queue, Job job);
  // What a strict run reports of a job that is about to be queued.
  void inspect(const File& file, const Job& job, const std::vector<std::shared_ptr<Bo>>& outputs);
  void inspect_words(const File& file, const Job& job);
  void note_flushed(Bo& bo) const;

  void run_core(size_t core);
  // The queue whose first job this core may start; null: none.
  Queue* next_for(size_t core);
  size_t least_loaded() const;
  static Space space_of(const Queue& queue);
  int32_t execute(size_t core, const Job& job, const Space& space);

  std::map<uint64_t, Queue> queues_;
  std::array<bool, kCores> busy_{};
  uint64_t next_job_ = 1;
  std::array<std::thread, kCores> cores_;
};

}  // namespace peraxis::capture
