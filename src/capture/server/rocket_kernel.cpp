// The calls of the driver. See rocket_kernel.hpp; rocket_jobs.cpp runs what is submitted here.
#include "capture/server/rocket_kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace peraxis::capture {

using namespace uapi;

RocketKernel::RocketKernel(KernelOptions options) : FakeKernel(std::move(options)) {
  for (size_t core = 0; core < kCores; ++core) cores_[core] = std::thread([this, core] { run_core(core); });
}
RocketKernel::~RocketKernel() {
  stop();
  for (std::thread& core : cores_) core.join();
}

std::string_view RocketKernel::call_name(uint32_t request) const {
  switch (ioctl_index(request)) {
    case ioctl_index(rocket::kCreateBo):
      return "create";
    case ioctl_index(rocket::kSubmit):
      return "submit";
    case ioctl_index(rocket::kPrepBo):
      return "prep";
    case ioctl_index(rocket::kFiniBo):
      return "fini";
    default:
      return FakeKernel::call_name(request);
  }
}

void RocketKernel::opened(File& file) {
  queues_.emplace(file.id, Queue{Addresses(0, options_.faults.address_space()), {}, {}, 0, false, false});
}

void RocketKernel::released(File& file) {
  const auto found = queues_.find(file.id);
  if (found == queues_.end()) return;
  Queue& queue = found->second;
  if (queue.running || !queue.jobs.empty())
    findings_.add(FindingKind::Punished,
                  "a file was closed or its process ended with jobs in flight: the kernel uses freed memory "
                  "(wait for all jobs first)");
  else if (!file.exported.empty())
    findings_.add(FindingKind::Punished,
                  "a file was closed with an exported buffer that no GEM_CLOSE freed: the kernel uses freed "
                  "memory");
  for (Job& job : queue.jobs) job.done->finish(Fence::kCanceled);
  queue.jobs.clear();
  queue.closed = true;
  if (!queue.running) queues_.erase(found);
}

void RocketKernel::handle_closed(File& file, const std::shared_ptr<Bo>& bo) {
  // The mapping goes with the object, and the object with its last handle, dma-buf or job; what is left of it
  // is seen by whoever has a reference.
  const auto found = queues_.find(file.id);
  if (found == queues_.end() || bo->owner != file.id) return;
  Queue& queue = found->second;
  const bool in_job = std::ranges::any_of(
      queue.jobs, [&](const Job& job) { return std::ranges::find(job.buffers, bo) != job.buffers.end(); });
  if (in_job) return;  // given back in run_core
  if (queue.mapped.erase(static_cast<uint64_t>(bo->address)) != 0)
    queue.addresses.give_back(bo->address, whole_pages(bo->size));
}

CallResult RocketKernel::driver_call(File& file, uint32_t request, uint64_t argument, Caller& caller,
                                     Lock& lock) {
  switch (ioctl_index(request)) {
    case ioctl_index(rocket::kCreateBo):
      return create(file, request, argument, caller);
    case ioctl_index(rocket::kSubmit):
      return submit(file, request, argument, caller);
    case ioctl_index(rocket::kPrepBo):
      return prepare(file, request, argument, caller, lock);
    case ioctl_index(rocket::kFiniBo):
      return finish(file, request, argument, caller);
    default:
      return error(EINVAL);
  }
}

CallResult RocketKernel::create(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  rocket::CreateBo call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  Queue& queue = queues_.at(file.id);
  if (call.size == 0) return error(ENOSPC);
  const auto address = queue.addresses.take(whole_pages(call.size));
  if (!address) return error(ENOSPC);
  auto made = new_bo(file, call.size);
  if (!made) {
    queue.addresses.give_back(*address, whole_pages(call.size));
    return error(ENOMEM);
  }
  const std::shared_ptr<Bo> bo = *made;
  bo->address = *address;
  note_flushed(*bo);
  queue.mapped[static_cast<uint64_t>(*address)] = bo;
  call.handle = new_handle(file, bo);
  call.dma_address = static_cast<uint64_t>(*address);
  call.offset = bo->map_offset;
  return put(caller, request, argument, call) ? CallResult{} : error(EFAULT);
}

CallResult RocketKernel::submit(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  rocket::Submit call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  if (call.job_count == 0) return {};
  if (call.job_struct_size < sizeof(rocket::Job)) return error(EINVAL);
  if (call.reserved != 0) return error(EINVAL);
  std::vector<rocket::Job> jobs;
  for (uint64_t i = 0; i < call.job_count; ++i) {
    rocket::Job& job = jobs.emplace_back();
    if (!caller.read(call.jobs + i * call.job_struct_size, {reinterpret_cast<uint8_t*>(&job), sizeof(job)}))
      return error(EFAULT);
  }
  for (size_t i = 0; i < jobs.size(); ++i)
    if (const std::string why = add_job(file, jobs[i], caller); !why.empty())
      findings_.add(FindingKind::Punished,
                    fmt::format("job {} of a SUBMIT is dropped, SUBMIT returns 0: {}", i, why));
  changed_.notify_all();
  return {};
}

namespace {

bool read_handles(Caller& caller, uint64_t address, uint32_t count, std::vector<uint32_t>& out) {
  constexpr uint32_t kMostHandles = 1U << 20;
  if (count > kMostHandles) return false;
  out.resize(count);
  return count == 0 ||
         caller.read(address, {reinterpret_cast<uint8_t*>(out.data()), count * sizeof(uint32_t)});
}

}  // namespace

std::string RocketKernel::add_job(File& file, const rocket::Job& call, Caller& caller) {
  Job job;
  job.file = file.id;
  if (call.task_count == 0) return "task_count is 0";
  if (call.task_struct_size < sizeof(rocket::Task))
    return fmt::format("task_struct_size is {}, must be at least {}", call.task_struct_size,
                       sizeof(rocket::Task));
  for (uint64_t i = 0; i < call.task_count; ++i) {
    rocket::Task task{};
    if (!caller.read(call.tasks + i * call.task_struct_size,
                     {reinterpret_cast<uint8_t*>(&task), sizeof(task)}))
      return "the tasks cannot be read";
    if (task.regcmd_count == 0) return fmt::format("task {} has no command words", i);
    job.tasks.push_back({task.regcmd, task.regcmd_count});
  }
  std::vector<uint32_t> in, out;
  if (!read_handles(caller, call.in_bo_handles, call.in_bo_handle_count, in))
    return "the in-list cannot be read";
  if (!read_handles(caller, call.out_bo_handles, call.out_bo_handle_count, out))
    return "the out-list cannot be read";
  std::vector<std::shared_ptr<Bo>> outputs;
  for (const std::vector<uint32_t>* list : {&in, &out})
    for (const uint32_t handle : *list) {
      auto bo = find_handle(file, handle);
      if (bo == nullptr) return fmt::format("handle {} does not exist", handle);
      if (std::ranges::find(job.buffers, bo) != job.buffers.end())
        return fmt::format("handle {} is named twice in the lists", handle);
      if (list == &out) outputs.push_back(bo);
      job.buffers.push_back(std::move(bo));
    }
  for (const auto& bo : job.buffers)
    if (bo->busy()) job.waits.push_back(bo->writer);
  job.done = std::make_shared<Fence>();
  if (options_.strict) inspect(file, job, outputs);
  for (const auto& bo : outputs) set_writer(bo, job.done);
  queue_job(queues_.at(file.id), std::move(job));
  return {};
}

CallResult RocketKernel::prepare(File& file, uint32_t request, uint64_t argument, Caller& caller,
                                 Lock& lock) {
  rocket::PrepBo call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  if (call.reserved != 0) return error(EINVAL);
  const auto bo = find_handle(file, call.handle);
  if (bo == nullptr) return error(ENOENT);
  const std::shared_ptr<Fence> fence = bo->writer;
  if (fence == nullptr || fence->finished()) return {};
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t left = call.timeout_ns <= 0 ? 0 : call.timeout_ns - (now.tv_sec * 1000000000LL + now.tv_nsec);
  if (left <= 0) return error(EBUSY);
  // In steps: the program may be gone, and the longest times overflow the clock.
  constexpr int64_t kStep = 200'000'000;
  const auto start = Budget::Clock::now();
  for (;;) {
    const int64_t passed =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Budget::Clock::now() - start).count();
    if (fence->finished()) return {};
    if (passed >= left) return error(ETIMEDOUT);
    if (stopping() || !caller.still_there()) return error(EINTR);
    changed_.wait_for(lock, std::chrono::nanoseconds(std::min(kStep, left - passed)),
                      [&] { return fence->finished() || stopping(); });
  }
}

CallResult RocketKernel::finish(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  rocket::FiniBo call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  if (call.reserved != 0) return error(EINVAL);
  const auto bo = find_handle(file, call.handle);
  if (bo == nullptr) return error(ENOENT);
  note_flushed(*bo);
  return {};
}

void RocketKernel::note_flushed(Bo& bo) const {
  if (options_.strict) bo.flushed = bo.memory->checksum();
}

}  // namespace peraxis::capture
