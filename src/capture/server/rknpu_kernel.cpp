// The calls of the driver. See rknpu_kernel.hpp; rknpu_jobs.cpp runs what is submitted here.
#include "capture/server/rknpu_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

namespace peraxis::capture {

using namespace uapi;

namespace {

constexpr uint32_t kHardwareVersion = 0x46495245, kDriverVersion = 908;
constexpr uint32_t kFrequency = 1'000'000'000, kMicrovolts = 800'000;
constexpr int64_t kLowestAddress = 0x1000;

}  // namespace

RknpuKernel::RknpuKernel(KernelOptions options)
    : FakeKernel(std::move(options)),
      addresses_(std::max(kLowestAddress, (int64_t{1} << 32) - options_.faults.address_space()),
                 int64_t{1} << 32) {}

RknpuKernel::~RknpuKernel() {
  stop();
  for (std::thread& thread : background_) thread.join();
}

std::string_view RknpuKernel::call_name(uint32_t request) const {
  switch (ioctl_index(request)) {
    case rknpu::kActionIndex:
      return "action";
    case rknpu::kSubmitIndex:
      return "submit";
    case rknpu::kMemCreateIndex:
      return "create";
    case rknpu::kMemMapIndex:
      return "offset";
    case rknpu::kMemDestroyIndex:
      return "destroy";
    case rknpu::kMemSyncIndex:
      return "sync";
    default:
      return FakeKernel::call_name(request);
  }
}

CallResult RknpuKernel::driver_call(File& file, uint32_t request, uint64_t argument, Caller& caller,
                                    Lock& lock) {
  switch (ioctl_index(request)) {
    case rknpu::kActionIndex:
      return action(request, argument, caller);
    case rknpu::kSubmitIndex:
      return submit(request, argument, caller, lock);
    case rknpu::kMemCreateIndex:
      return create(file, request, argument, caller);
    case rknpu::kMemMapIndex:
      return map_offset(file, request, argument, caller);
    case rknpu::kMemDestroyIndex:
      return destroy(file, request, argument, caller);
    case rknpu::kMemSyncIndex:
      return sync(request, argument, caller);
    default:
      return error(EINVAL);
  }
}

CallResult RknpuKernel::action(uint32_t request, uint64_t argument, Caller& caller) {
  using Kind = rknpu::ActionKind;
  rknpu::Action call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  switch (static_cast<Kind>(call.flags)) {
    case Kind::GetHwVersion:
      call.value = kHardwareVersion;
      break;
    case Kind::GetDriverVersion:
      call.value = kDriverVersion;
      break;
    case Kind::GetFrequency:
      call.value = kFrequency;
      break;
    case Kind::GetVoltage:
      call.value = kMicrovolts;
      break;
    case Kind::GetIommuEnabled:
      call.value = 1;
      break;
    case Kind::GetWriteAmount:
    case Kind::GetReadAmount:
    case Kind::GetWeightAmount:
    case Kind::GetTotalAmount:
    case Kind::GetTotalSram:
    case Kind::GetFreeSram:
    case Kind::GetIommuDomain:
      call.value = 0;
      break;
    case Kind::Reset:
    case Kind::ClearTotalAmounts:
    case Kind::SetProcessNice:
    case Kind::PowerOn:
    case Kind::PowerOff:
    case Kind::SetIommuDomain:
      break;
    default:  // setting clocks and voltages, bandwidths of a board without that block, unknown ones
      return error(EINVAL);
  }
  return put(caller, request, argument, call) ? CallResult{} : error(EFAULT);
}

void RknpuKernel::sweep() {
  std::erase_if(objects_, [&](const auto& entry) {
    if (!entry.second.bo.expired()) return false;
    addresses_.give_back(entry.second.address, entry.second.size);
    return true;
  });
}
// Not here: another file, a dma-buf or a job may still have the object.
void RknpuKernel::handle_closed(File&, const std::shared_ptr<Bo>&) {}

CallResult RknpuKernel::create(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  rknpu::MemCreate call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  std::shared_ptr<Bo> bo = find_handle(file, call.handle);  // of an imported buffer: says where it is
  if (bo == nullptr) {
    if (call.size == 0) return error(EINVAL);
    sweep();
    const int64_t size =
        call.size > uint64_t{1} << 32 ? int64_t{1} << 33 : whole_pages(static_cast<int64_t>(call.size));
    constexpr uint32_t kNoAlignment = 0x400;
    const auto alignment = (call.flags & kNoAlignment) != 0
                               ? kPage
                               : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
    const auto address = addresses_.take_high(size, alignment);
    if (!address) return error(ENOMEM);
    auto made = new_bo(file, size);
    if (!made) {
      addresses_.give_back(*address, size);
      return error(ENOMEM);
    }
    bo = *made;
    bo->address = *address;
    bo->flags = call.flags;
    bo->object = next_object_;
    next_object_ += 0x400;
    if (options_.strict) bo->flushed = bo->memory->checksum();
    objects_[bo->object] = {bo, *address, size};
    call.handle = new_handle(file, bo);
  }
  call.size = static_cast<uint64_t>(bo->size);
  call.obj_addr = bo->object;
  call.dma_addr = static_cast<uint64_t>(bo->address);
  call.sram_size = 0;
  return put(caller, request, argument, call) ? CallResult{} : error(EFAULT);
}

CallResult RknpuKernel::map_offset(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  rknpu::MemMap call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  const auto bo = find_handle(file, call.handle);
  if (bo == nullptr) return error(ENOENT);
  call.offset = bo->map_offset;
  return put(caller, request, argument, call) ? CallResult{} : error(EFAULT);
}

CallResult RknpuKernel::destroy(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  rknpu::MemDestroy call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  if (find_handle(file, call.handle) == nullptr) return error(EINVAL);
  file.handles.erase(call.handle);
  return {};
}

std::shared_ptr<Bo> RknpuKernel::object(uint64_t address) {
  const auto found = objects_.find(address);
  auto bo = found == objects_.end() ? nullptr : found->second.bo.lock();
  if (bo == nullptr)
    findings_.add(
        FindingKind::Punished,
        fmt::format("{:#x} is the obj_addr of no buffer: the kernel takes it for a pointer", address));
  return bo;
}

CallResult RknpuKernel::sync(uint32_t request, uint64_t argument, Caller& caller) {
  rknpu::MemSync call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  const auto bo = object(call.obj_addr);
  if (bo == nullptr) return error(EINVAL);
  const auto size = static_cast<uint64_t>(bo->size);
  if (call.offset > size || call.size > size - call.offset) {
    findings_.add(FindingKind::Punished,
                  fmt::format("MEM_SYNC of {} bytes at {} of a buffer of {}", call.size, call.offset, size));
    return error(EINVAL);
  }
  if (options_.strict && (call.flags & rknpu::kSyncToDevice) != 0) bo->flushed = bo->memory->checksum();
  return {};
}

CallResult RknpuKernel::submit(uint32_t request, uint64_t argument, Caller& caller, Lock& lock) {
  rknpu::Submit call;
  if (!get(caller, request, argument, call)) return error(EFAULT);
  if (call.task_number == 0 || call.core_mask > 7) return error(EINVAL);
  if ((call.flags & rknpu::kJobPc) == 0) return error(EINVAL);
  auto job = std::make_shared<Job>();
  job->call = call;
  job->list = object(call.task_obj_addr);
  job->done = std::make_shared<Fence>();
  if (job->list == nullptr) return error(EINVAL);
  if ((job->list->flags & rknpu::kKernelMapping) == 0)
    findings_.add(FindingKind::Punished, "the task list has no KERNEL_MAPPING: the kernel cannot read it");
  if ((call.flags & rknpu::kJobFenceIn) != 0) {
    const auto fence = fence_of(caller.object_of(call.fence_fd));
    if (fence == nullptr) return error(EINVAL);
    changed_.wait_for(lock, std::chrono::milliseconds(call.timeout_ms),
                      [&] { return fence->finished() || stopping(); });
  }
  if (call.core_mask == 0) {
    const auto idle = std::ranges::min_element(options_.faults.core_order(), {}, [&](int32_t core) {
      return queued_tasks_[static_cast<size_t>(core)];
    });
    job->call.core_mask = 1U << *idle;
  }
  for (uint32_t core = 0; core < kCores; ++core)
    if ((job->call.core_mask >> core & 1) != 0) job->cores.push_back(core);
  if (options_.strict) inspect(*job);
  CallResult out;
  if ((call.flags & rknpu::kJobFenceOut) != 0)
    out = new_sync_file(job->done, argument + offsetof(rknpu::Submit, fence_fd));
  for (const uint32_t core : job->cores) {
    queues_[core].push_back(job.get());
    queued_tasks_[core] += call.task_number;
  }
  if ((call.flags & rknpu::kJobNonBlock) != 0) {
    background_.emplace_back([this, job] {
      block_sigpipe();
      Lock own(lock_);
      run(*job, own);
    });
    return out;
  }
  const JobResult result = run(*job, lock);
  call.task_counter = result.counter;
  if (result.error == 0) call.hw_elapse_time = result.elapsed_ns;
  call.fence_fd = -1;
  // The core copies the struct back only when the call succeeded.
  if (result.error == 0 && !put(caller, request, argument, call)) return error(EFAULT);
  out.result = -result.error;
  return out;
}

}  // namespace peraxis::capture
