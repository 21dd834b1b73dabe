// See recorder.hpp. Files and buffers of the process in tables of fixed size, so that no hook allocates.
#include "capture/client/recorder.hpp"

#include <sys/mman.h>

#include "capture/client/hooks.hpp"
#include "capture/client/log.hpp"
#include "capture/client/paths.hpp"
#include "capture/client/tables.hpp"
#include "device/uapi/rknpu.hpp"
#include "device/uapi/rocket.hpp"

namespace peraxis::capture::client {

using namespace uapi;

namespace {

Log the_log;
Tables tables;
bool commands_only = false;
uint32_t owner = 0;  // process that the state belongs to
Lock state_lock;     // of the tables

struct CallCount {
  uint32_t request, known;
  uint64_t times;
};
constexpr size_t kMostCalls = 128;
CallCount calls[kMostCalls];
Lock calls_lock;

void emit_buffer(const RecordedBo& bo) {
  const log::BufferRecord record = {bo.file, bo.handle, bo.address, bo.size, bo.object, bo.flags, 0};
  the_log.add(log::Kind::Buffer, &record, sizeof(record));
}
void emit_open(const RecordedFile& file) {
  const log::OpenRecord record = {file.id, file.driver};
  the_log.add(log::Kind::Open, &record, sizeof(record));
}

// In a forked child: locks are free, the log is new and begins with what the parent had.
void follow_fork() {
  const uint32_t process = process_id();
  if (process == owner) return;
  const bool forked = owner != 0;
  owner = process;
  if (!forked) return;
  state_lock.forget();
  calls_lock.forget();
  the_log.forget_lock();
  the_log.start_again();
  for (CallCount& call : calls) call = {};
  tables.for_each_file([](RecordedFile& file) {
    file.lock.forget();
    emit_open(file);
  });
  tables.for_each_bo([](RecordedBo& bo) {
    bo.recorded = false;
    emit_buffer(bo);
  });
}

void emit_call(const CallCount& call) {
  const log::CallRecord record = {call.request, call.known, call.times};
  the_log.add(log::Kind::Calls, &record, sizeof(record));
}

void count_call(uint32_t request, bool known) {
  const Holding holding(calls_lock);
  for (CallCount& call : calls) {
    if (call.times != 0 && call.request != request) continue;
    call.request = request;
    call.known = known ? 1 : 0;
    // After 1, 2, 4, 8 ... times; the rest when the process ends.
    ++call.times;
    if ((call.times & (call.times - 1)) == 0) emit_call(call);
    return;
  }
}

__attribute__((destructor)) void finish() {
  if (!the_log.on() || owner != process_id()) return;
  for (const CallCount& call : calls)
    if ((call.times & (call.times - 1)) != 0) emit_call(call);
}

// What the driver of an open device is called; None for others.
bool driver_of(int fd, const char* path, log::Driver& driver) {
  char name[16] = {};
  DrmVersion version = {};
  version.name_length = sizeof(name) - 1;
  version.name = reinterpret_cast<uint64_t>(name);
  if (pass_ioctl(fd, kDrmVersion, &version) == 0) {
    if (__builtin_strcmp(name, rocket::kName) == 0) {
      driver = log::Driver::Rocket;
      return true;
    }
    driver = log::Driver::Rknpu;
    return __builtin_strcmp(name, rknpu::kName) == 0;
  }
  driver = log::Driver::Rknpu;
  return path != nullptr && __builtin_strcmp(path, "/dev/rknpu") == 0;
}

RecordedFile* file_of(int fd) {
  const Holding holding(state_lock);
  return tables.file_of(fd);
}

void forget_bo(RecordedBo& bo) {
  const uint32_t record[2] = {bo.file, bo.handle};
  the_log.add(log::Kind::BufferGone, record, sizeof(record));
  if (bo.map != nullptr) sys_unmap(bo.map, bo.map_bytes);
  bo.file = 0;
}

void add_bo(int fd, RecordedBo bo, uint64_t offset) {
  // What lies between the size asked for and the end of the page belongs to the buffer on the device.
  bo.size = bo.map_bytes = (bo.size + 4095) / 4096 * 4096;
  bo.map = pass_map(bo.map_bytes, fd, offset);
  const Holding holding(state_lock);
  RecordedBo* slot = tables.add_bo();
  if (slot == nullptr) {
    if (bo.map != nullptr) sys_unmap(bo.map, bo.map_bytes);
    return;
  }
  *slot = bo;
  emit_buffer(*slot);
}

void remove_bo(uint32_t file, uint32_t handle) {
  const Holding holding(state_lock);
  if (RecordedBo* bo = tables.find_bo(file, handle)) forget_bo(*bo);
}

// The content goes to the log when it is not what the log has. A copy is written: the program or the device
// may change the buffer meanwhile.
void record_content(RecordedBo& bo) {
  if (bo.map == nullptr) return;
  const uint64_t now = log::checksum(bo.map, bo.size);
  if (bo.recorded && now == bo.checksum) return;
  Arena arena(bo.size + 8);
  void* copy = arena.take(bo.size);
  if (copy == nullptr) return;
  __builtin_memcpy(copy, bo.map, bo.size);
  bo.checksum = log::checksum(copy, bo.size);
  bo.recorded = true;
  const log::ContentRecord record = {bo.file, bo.handle};
  the_log.add(log::Kind::Content, &record, sizeof(record), copy, bo.size);
}

void record_contents(const RecordedFile& file, const log::TaskPart* tasks, uint32_t count) {
  const Holding holding(state_lock);
  tables.for_each_bo([&](RecordedBo& bo) {
    if (bo.file != file.id) return;
    bool wanted = !commands_only;
    for (uint32_t i = 0; !wanted && i < count; ++i)
      wanted = tasks[i].address >= bo.address && tasks[i].address - bo.address < bo.size;
    if (wanted) record_content(bo);
  });
}

// A submit in the form of the log, built in an arena.
struct Parts {
  explicit Parts(size_t room) : arena(room) {}
  Arena arena;
  log::SubmitRecord head = {};
  log::JobPart* jobs = nullptr;
  log::TaskPart* tasks = nullptr;
  uint32_t* handles = nullptr;
};

void emit_begin(Parts& parts) {
  const size_t bytes = parts.head.jobs * sizeof(log::JobPart) + parts.head.tasks * sizeof(log::TaskPart) +
                       parts.head.handles * sizeof(uint32_t);
  Arena packed(bytes + 64);
  auto* to = static_cast<uint8_t*>(packed.take(bytes));
  if (to == nullptr) return;
  const uint8_t* begin = to;
  const auto append = [&](const void* from, size_t size) {
    if (size != 0) __builtin_memcpy(to, from, size);
    to += size;
  };
  append(parts.jobs, parts.head.jobs * sizeof(log::JobPart));
  append(parts.tasks, parts.head.tasks * sizeof(log::TaskPart));
  append(parts.handles, parts.head.handles * sizeof(uint32_t));
  the_log.add(log::Kind::Begin, &parts.head, sizeof(parts.head), begin, bytes);
}

// Jobs that cannot be read are left out: the kernel drops them.
bool read_rocket_jobs(const rocket::Submit& submit, Parts& parts) {
  SafeCopy safe;
  uint64_t tasks = 0, handles = 0;
  Arena raw_jobs(submit.job_count * sizeof(rocket::Job) + 64);
  auto* jobs = static_cast<rocket::Job*>(raw_jobs.take(submit.job_count * sizeof(rocket::Job)));
  if (jobs == nullptr) return false;
  for (uint64_t i = 0; i < submit.job_count; ++i) {
    if (!safe.copy(&jobs[i], reinterpret_cast<void*>(submit.jobs + i * submit.job_struct_size),
                   sizeof(jobs[i])))
      return false;
    tasks += jobs[i].task_count;
    handles += uint64_t{jobs[i].in_bo_handle_count} + jobs[i].out_bo_handle_count;
  }
  constexpr uint64_t kMost = 1U << 20;
  if (tasks > kMost || handles > kMost) return false;
  parts.jobs = static_cast<log::JobPart*>(parts.arena.take(submit.job_count * sizeof(log::JobPart)));
  parts.tasks = static_cast<log::TaskPart*>(parts.arena.take(tasks * sizeof(log::TaskPart)));
  parts.handles = static_cast<uint32_t*>(parts.arena.take(handles * sizeof(uint32_t)));
  if (parts.jobs == nullptr || parts.tasks == nullptr || parts.handles == nullptr) return false;
  log::SubmitRecord& head = parts.head;
  for (uint32_t i = 0; i < submit.job_count; ++i) {
    const rocket::Job& job = jobs[i];
    log::JobPart& part = parts.jobs[head.jobs++];
    part = {head.tasks, 0, head.handles, 0, 0, 0};
    for (uint64_t t = 0; t < job.task_count; ++t) {
      rocket::Task task = {};
      if (!safe.copy(&task, reinterpret_cast<void*>(job.tasks + t * job.task_struct_size), sizeof(task)))
        break;
      parts.tasks[head.tasks++] = {task.regcmd, task.regcmd_count, 0};
      ++part.task_count;
    }
    const auto add_list = [&](uint64_t from, uint32_t count, uint32_t& first, uint32_t& taken) {
      first = head.handles;
      taken = 0;
      if (count == 0 || !safe.copy(parts.handles + head.handles, reinterpret_cast<void*>(from), count * 4UL))
        return;
      head.handles += taken = count;
    };
    add_list(job.in_bo_handles, job.in_bo_handle_count, part.first_in, part.in_count);
    add_list(job.out_bo_handles, job.out_bo_handle_count, part.first_out, part.out_count);
  }
  return true;
}

void wait_for_outputs(int fd, const Parts& parts) {
  for (uint32_t j = 0; j < parts.head.jobs; ++j)
    for (uint32_t i = 0; i < parts.jobs[j].out_count; ++i) {
      rocket::PrepBo prep = {parts.handles[parts.jobs[j].first_out + i], 0, INT64_MAX};
      while (pass_ioctl(fd, rocket::kPrepBo, &prep) == -EINTR) {
      }
    }
}

long rocket_submit(RecordedFile& file, int fd, uint32_t request, void* argument) {
  constexpr size_t kRoom = 64UL << 20;
  rocket::Submit submit = {};
  SafeCopy safe;
  if (!safe.copy(&submit, argument, sizeof(submit)) || submit.job_struct_size < sizeof(rocket::Job))
    return pass_ioctl(fd, request, argument);
  const Holding turn(file.lock);
  Parts parts(kRoom);
  const bool known = read_rocket_jobs(submit, parts);
  parts.head.file = file.id;
  parts.head.number = file.submits++;
  if (known) {
    record_contents(file, parts.tasks, parts.head.tasks);
    emit_begin(parts);
  }
  log::EndRecord end = {file.id, parts.head.number, 0, 0, monotonic_ns(), 0};
  const long result = pass_ioctl(fd, request, argument);
  end.result = static_cast<int32_t>(result);
  if (!known) return result;
  if (result >= 0) wait_for_outputs(fd, parts);
  end.end_ns = monotonic_ns();
  record_contents(file, parts.tasks, parts.head.tasks);
  the_log.add(log::Kind::End, &end, sizeof(end));
  return result;
}

// The tasks of an rknpu submit lie in a buffer; the kernel takes the range that a core's entry names.
void read_rknpu_tasks(const RecordedFile& file, const rknpu::Submit& submit, Parts& parts) {
  const Holding holding(state_lock);
  const RecordedBo* list = tables.find_object(file.id, submit.task_obj_addr);
  if (list == nullptr || list->map == nullptr) return;
  const uint64_t room = list->size / sizeof(rknpu::Task);
  uint32_t cores = 0;
  for (uint32_t core = 0; core < 3; ++core) cores += submit.core_mask >> core & 1;
  log::SubmitRecord& head = parts.head;
  parts.jobs = static_cast<log::JobPart*>(parts.arena.take(sizeof(log::JobPart)));
  parts.tasks = static_cast<log::TaskPart*>(parts.arena.take(room * 3 * sizeof(log::TaskPart)));
  if (parts.jobs == nullptr || parts.tasks == nullptr) return;
  for (uint32_t core = 0; core < 3; ++core) {
    if (submit.core_mask != 0 ? (submit.core_mask >> core & 1) == 0 : core != 0) continue;
    const rknpu::SubcoreTask range = submit.subcore[core + (cores == 3 ? 2 : 0)];
    for (uint64_t i = 0; i < range.number && range.start + i < room; ++i) {
      rknpu::Task task;
      __builtin_memcpy(&task, static_cast<const uint8_t*>(list->map) + (range.start + i) * sizeof(task),
                       sizeof(task));
      parts.tasks[head.tasks++] = {task.regcmd_addr, task.regcfg_amount + rknpu::kTailWords, core};
    }
  }
  parts.jobs[0] = {0, head.tasks, 0, 0, 0, 0};
  head.jobs = 1;
}

// Buffers that the CPU caches: what the device wrote becomes visible.
void sync_from_device(const RecordedFile& file, int fd) {
  const Holding holding(state_lock);
  tables.for_each_bo([&](RecordedBo& bo) {
    if (bo.file != file.id || (bo.flags & rknpu::kCacheable) == 0) return;
    rknpu::MemSync sync = {rknpu::kSyncFromDevice, 0, bo.object, 0, bo.size};
    pass_ioctl(fd, rknpu::kMemSync, &sync);
  });
}

long rknpu_submit(RecordedFile& file, int fd, uint32_t request, void* argument) {
  constexpr size_t kRoom = 64UL << 20;
  rknpu::Submit submit = {};
  SafeCopy safe;
  if (!safe.copy(&submit, argument, sizeof(submit))) return pass_ioctl(fd, request, argument);
  const Holding turn(file.lock);
  Parts parts(kRoom);
  read_rknpu_tasks(file, submit, parts);
  parts.head.file = file.id;
  parts.head.number = file.submits++;
  parts.head.core_mask = submit.core_mask;
  parts.head.flags = submit.flags;
  record_contents(file, parts.tasks, parts.head.tasks);
  emit_begin(parts);
  log::EndRecord end = {file.id, parts.head.number, 0, 0, monotonic_ns(), 0};
  const long result = pass_ioctl(fd, request, argument);
  end.result = static_cast<int32_t>(result);
  end.end_ns = monotonic_ns();
  if (safe.copy(&submit, argument, sizeof(submit))) end.task_counter = submit.task_counter;
  sync_from_device(file, fd);
  record_contents(file, parts.tasks, parts.head.tasks);
  the_log.add(log::Kind::End, &end, sizeof(end));
  return result;
}

long rknpu_call(RecordedFile& file, int fd, uint32_t request, void* argument) {
  const bool misc = ioctl_type(request) == rknpu::kMiscType;
  const uint32_t index = ioctl_index(request) + (misc ? kDriverCalls : 0);
  if (index == rknpu::kSubmitIndex) return rknpu_submit(file, fd, request, argument);
  rknpu::MemDestroy destroy = {};
  SafeCopy safe;
  if (index == rknpu::kMemDestroyIndex && safe.copy(&destroy, argument, sizeof(destroy)))
    remove_bo(file.id, destroy.handle);
  const long result = pass_ioctl(fd, request, argument);
  if (index != rknpu::kMemCreateIndex || result != 0) return result;
  rknpu::MemCreate made = {};
  if (!safe.copy(&made, argument, rknpu::kOldMemCreateSize)) return result;
  rknpu::MemMap map = {made.handle, 0, 0};
  const uint32_t map_request =
      misc ? ioctl_number(kReadWrite, rknpu::kMiscType, 3, sizeof(map)) : rknpu::kMemMap;
  RecordedBo bo = {};
  bo.file = file.id;
  bo.handle = made.handle;
  bo.address = made.dma_addr;
  bo.size = made.size;
  bo.object = made.obj_addr;
  bo.flags = made.flags;
  if (pass_ioctl(fd, map_request, &map) == 0) add_bo(fd, bo, map.offset);
  return result;
}

long rocket_call(RecordedFile& file, int fd, uint32_t request, void* argument) {
  if (ioctl_index(request) == ioctl_index(rocket::kSubmit)) return rocket_submit(file, fd, request, argument);
  DrmGemClose close = {};
  SafeCopy safe;
  const bool closing = request == kDrmGemClose && safe.copy(&close, argument, sizeof(close));
  if (closing) remove_bo(file.id, close.handle);
  const long result = pass_ioctl(fd, request, argument);
  if (ioctl_index(request) == ioctl_index(rocket::kCreateBo) && result == 0) {
    const auto& made = *static_cast<const rocket::CreateBo*>(argument);
    RecordedBo bo = {};
    bo.file = file.id;
    bo.handle = made.handle;
    bo.address = made.dma_address;
    bo.size = made.size;
    add_bo(fd, bo, made.offset);
  }
  return result;
}

bool known_call(log::Driver driver, uint32_t request) {
  const uint32_t index = ioctl_index(request);
  const uint32_t own = driver == log::Driver::Rocket ? 4 : 6;
  return (index >= kDriverCalls && index < kDriverCalls + own) || index == ioctl_index(kDrmVersion) ||
         index == ioctl_index(kDrmGetUnique) || request == kDrmGemClose || request == kDrmGetCap ||
         request == kDrmPrimeHandleToFd || request == kDrmPrimeFdToHandle ||
         (ioctl_type(request) == rknpu::kMiscType && index < own);
}

}  // namespace

void start_recorder(const char* folder, bool only_commands) {
  the_log.set_folder(folder);
  commands_only = only_commands;
  owner = process_id();
}

long recorded_ioctl(int fd, uint32_t request, void* argument) {
  if (!the_log.on()) return pass_ioctl(fd, request, argument);
  follow_fork();
  RecordedFile* file = file_of(fd);
  if (file == nullptr) return pass_ioctl(fd, request, argument);
  count_call(request, known_call(file->driver, request));
  return file->driver == log::Driver::Rocket ? rocket_call(*file, fd, request, argument)
                                             : rknpu_call(*file, fd, request, argument);
}

void recorder_opened(int fd, const char* path) {
  if (!the_log.on() || !may_be_device(path)) return;
  follow_fork();
  log::Driver driver;
  if (!driver_of(fd, path, driver)) return;
  const Holding holding(state_lock);
  if (RecordedFile* file = tables.open(fd, driver)) emit_open(*file);
}

void recorder_copied(int from, int to) {
  if (!the_log.on() || from == to) return;
  follow_fork();
  recorder_closing(to);
  const Holding holding(state_lock);
  tables.copy(from, to);
}

void recorder_closing(int fd) {
  if (!the_log.on()) return;
  follow_fork();
  const Holding holding(state_lock);
  const uint32_t gone = tables.close(fd);
  if (gone == 0) return;
  tables.for_each_bo([&](RecordedBo& bo) {
    if (bo.file == gone) forget_bo(bo);
  });
  the_log.add(log::Kind::Close, &gone, sizeof(gone));
}

}  // namespace peraxis::capture::client
