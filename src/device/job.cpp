// See the header.
#include "device/job.hpp"

#include <algorithm>

namespace peraxis::device {
namespace {

// The chain that PC TASK_NUMBER can count.
constexpr size_t kMostTasks = 4095;
constexpr uint32_t kAlignment = 16;
constexpr int64_t kWordBytes = 8;

Status check_lists(const Job& job) {
  std::vector<const Buffer*> all;
  for (const auto* list : {&job.reads, &job.writes})
    for (const Buffer& buffer : *list) {
      if (buffer.bytes.empty() || buffer.owner == nullptr)
        return fail(ErrorCode::InvalidArgument, "a job lists a buffer at {:#x} that no device has given",
                    buffer.address);
      all.push_back(&buffer);
    }
  if (job.writes.empty())
    return fail(ErrorCode::InvalidArgument, "a job writes no buffer: nobody could wait for it");
  std::ranges::sort(all, {}, &Buffer::address);
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i - 1]->address == all[i]->address)
      return fail(
          ErrorCode::InvalidArgument,
          "a job lists the buffer at {:#x} twice; one it reads and writes belongs to the written ones",
          all[i]->address);
  return {};
}

Status check_task(const Job& job, const TaskEntry& task) {
  if (task.words < 1 || task.address % kAlignment != 0)
    return fail(ErrorCode::InvalidArgument,
                "a task has {} command words at {:#x}; it takes at least 1 at a multiple of {}", task.words,
                task.address, kAlignment);
  const int64_t end = int64_t{task.address} + int64_t{task.words} * kWordBytes;
  for (const auto* list : {&job.reads, &job.writes})
    for (const Buffer& buffer : *list)
      if (task.address >= buffer.address &&
          end <= int64_t{buffer.address} + static_cast<int64_t>(buffer.bytes.size()))
        return {};
  return fail(ErrorCode::InvalidArgument, "the {} command words at {:#x} lie in no buffer that the job lists",
              task.words, task.address);
}

Status check_chains(const Job& job, const Device& device) {
  if (static_cast<int64_t>(job.chains.size()) > device.cores_of_a_job())
    return fail(ErrorCode::Unsupported, "a job of {} chains: device '{}' runs a job on {} of its {} cores",
                job.chains.size(), device.name(), device.cores_of_a_job(), device.cores());
  for (size_t i = 0; i < job.chains.size(); ++i) {
    const int32_t core = job.chains[i].core;
    if (core < kAnyCore || core >= device.cores())
      return fail(ErrorCode::InvalidArgument, "a job for core {}: device '{}' has cores 0..{}", core,
                  device.name(), device.cores() - 1);
    for (size_t k = 0; k < i; ++k)
      if ((core == kAnyCore) != (job.chains[k].core == kAnyCore) ||
          (core != kAnyCore && core == job.chains[k].core))
        return fail(ErrorCode::InvalidArgument,
                    "the chains of a job name cores {} and {}; they take different ones, or all take any",
                    job.chains[k].core, core);
  }
  return {};
}

}  // namespace

Status check_job(const Job& job, const Device& device) {
  if (job.chains.empty()) return fail(ErrorCode::InvalidArgument, "a job without chains");
  if (job.timeout.count() < 0)
    return fail(ErrorCode::InvalidArgument, "a job's timeout is {} ms", job.timeout.count());
  PERAXIS_TRY(check_chains(job, device));
  PERAXIS_TRY(check_lists(job));
  for (const Chain& chain : job.chains) {
    if (chain.tasks.empty() || chain.tasks.size() > kMostTasks)
      return fail(ErrorCode::InvalidArgument, "a chain of {} tasks; it has 1..{}", chain.tasks.size(),
                  kMostTasks);
    for (const TaskEntry& task : chain.tasks) PERAXIS_TRY(check_task(job, task));
  }
  return {};
}

Status check_range(const Buffer& buffer, int64_t offset, int64_t bytes) {
  const int64_t size = static_cast<int64_t>(buffer.bytes.size());
  if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset)
    return fail(ErrorCode::InvalidArgument, "bytes {}..{} of the buffer at {:#x}, which has {}", offset,
                offset + bytes, buffer.address, size);
  return {};
}

}  // namespace peraxis::device
