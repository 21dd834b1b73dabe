// See fake_kernel.hpp. Numbers of errors are those of the kernel's DRM core.
#include "capture/server/fake_kernel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace peraxis::capture {

void block_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

FakeKernel::FakeKernel(KernelOptions options)
    : options_(std::move(options)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      reaper_([this] { reap(); }) {}

FakeKernel::~FakeKernel() {
  stop();
  reaper_.join();
}

void FakeKernel::stop() {
  const std::lock_guard lock(lock_);
  stopping_ = true;
  changed_.notify_all();
  eventfd_write(wake_.get(), 1);
}

FakeKernel::Object* FakeKernel::find(Key key) {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->second;
}
FakeKernel::File* FakeKernel::find_file(uint64_t id) {
  for (auto& [key, object] : objects_)
    if (object.kind == ObjectKind::File && object.file.id == id) return &object.file;
  return nullptr;
}

Result<std::pair<Key, Descriptor>> FakeKernel::add_object(Object object) {
  auto [pipe, end] = PERAXIS_TRY(Pipe::create());
  const Key key = pipe->key();
  object.pipe = std::move(pipe);
  if (object.bo != nullptr && object.kind == ObjectKind::DmaBuf) {
    object.bo->dma_buf = key;
    object.pipe->set_readable(!object.bo->busy());
  }
  objects_.insert_or_assign(key, std::move(object));
  eventfd_write(wake_.get(), 1);
  return std::pair(key, std::move(end));
}

CallResult FakeKernel::injected(std::string_view call) {
  const int number = options_.faults.error_of(call);
  if (number != 0)
    findings_.add(FindingKind::Injected, fmt::format("{} fails with {}", call, errno_name(number)));
  return error(number);
}

CallResult FakeKernel::open(int flags) {
  const std::lock_guard lock(lock_);
  if (CallResult fault = injected("open"); fault.result < 0) return fault;
  Object object;
  object.kind = ObjectKind::File;
  object.file.id = next_file_++;
  object.file.flags = flags;
  auto added = add_object(std::move(object));
  if (!added) return error(ENFILE);
  opened(find(added->first)->file);
  CallResult out;
  out.descriptor = std::move(added->second);
  out.close_on_exec = (flags & O_CLOEXEC) != 0;
  return out;
}

CallResult FakeKernel::ioctl(Key key, uint32_t request, uint64_t argument, Caller& caller) {
  Lock lock(lock_);
  Object* object = find(key);
  if (object == nullptr) return error(ENOTTY);
  const char type = uapi::ioctl_type(request);
  if (object->kind == ObjectKind::DmaBuf)
    return type == uapi::kDmaBufType ? dma_buf_call(*object, request, argument, caller) : error(ENOTTY);
  if (object->kind == ObjectKind::SyncFile)
    return type == uapi::kSyncType ? sync_file_call(*object, request, argument, caller) : error(ENOTTY);
  if (type != uapi::kDrmType) return error(ENOTTY);
  if (CallResult fault = injected(call_name(request)); fault.result < 0) return fault;
  const uint32_t index = uapi::ioctl_index(request);
  if (index >= uapi::kDriverCalls && index < uapi::kDriverCallsEnd)
    return driver_call(object->file, request, argument, caller, lock);
  return generic_call(object->file, request, argument, caller);
}

MapResult FakeKernel::map(Key key, uint64_t offset, uint64_t length, int protection, int flags) {
  const std::lock_guard lock(lock_);
  Object* object = find(key);
  if (object == nullptr) return {-ENODEV, nullptr};
  if (CallResult fault = injected("map"); fault.result < 0)
    return {static_cast<int32_t>(fault.result), nullptr};
  if (object->kind == ObjectKind::SyncFile) return {-ENODEV, nullptr};
  const uint64_t pages = (length + kPage - 1) / kPage * kPage;
  if (object->kind == ObjectKind::DmaBuf) {
    if (offset % kPage != 0 || offset + pages > object->bo->memory->bytes().size()) return {-EINVAL, nullptr};
    return {0, object->bo->memory};
  }
  const bool writable = (object->file.flags & O_ACCMODE) != O_RDONLY;
  if ((flags & MAP_TYPE) != MAP_PRIVATE && (protection & PROT_WRITE) != 0 && !writable)
    return {-EACCES, nullptr};
  if ((flags & MAP_TYPE) == MAP_PRIVATE) return {-EINVAL, nullptr};
  for (const auto& [handle, bo] : object->file.handles)
    if (bo->map_offset == offset)
      return pages > object_bytes(*bo) ? MapResult{-EINVAL, nullptr} : MapResult{0, bo->memory};
  for (const auto& [other_key, other] : objects_)
    for (const auto& [handle, bo] : other.file.handles)
      if (bo->map_offset == offset) return {-EACCES, nullptr};
  return {-EINVAL, nullptr};
}

ObjectKind FakeKernel::kind_of(Key key) {
  const std::lock_guard lock(lock_);
  const Object* object = find(key);
  return object == nullptr ? ObjectKind::None : object->kind;
}
int64_t FakeKernel::size_of(Key key) {
  const std::lock_guard lock(lock_);
  const Object* object = find(key);
  if (object == nullptr || object->kind != ObjectKind::DmaBuf) return -1;
  return static_cast<int64_t>(object->bo->memory->bytes().size());
}

uint32_t FakeKernel::new_handle(File& file, std::shared_ptr<Bo> bo) {
  uint32_t handle = 1;
  for (const auto& [taken, other] : file.handles) {
    if (taken != handle) break;
    ++handle;
  }
  file.handles[handle] = std::move(bo);
  return handle;
}
std::shared_ptr<Bo> FakeKernel::find_handle(const File& file, uint32_t handle) const {
  const auto found = file.handles.find(handle);
  return found == file.handles.end() ? nullptr : found->second;
}

Result<std::shared_ptr<Bo>> FakeKernel::new_bo(File& file, int64_t size) {
  auto bo = std::make_shared<Bo>();
  bo->memory = PERAXIS_TRY(SharedMemory::create(size, fmt::format("peraxis-bo-{}", file.id)));
  bo->size = size;
  bo->owner = file.id;
  bo->map_offset = next_map_offset_;
  next_map_offset_ += static_cast<uint64_t>(whole_pages(size));
  return bo;
}

void FakeKernel::set_writer(const std::shared_ptr<Bo>& bo, const std::shared_ptr<Fence>& fence) {
  bo->writer = fence;
  if (bo->dma_buf == Key{}) return;
  if (Object* object = find(bo->dma_buf)) object->pipe->set_readable(!bo->busy());
  const std::weak_ptr<Bo> watched = bo;
  fence->watchers.push_back([this, watched] {
    const auto live = watched.lock();
    if (live == nullptr || live->dma_buf == Key{}) return;
    if (Object* object = find(live->dma_buf)) object->pipe->set_readable(!live->busy());
  });
}

CallResult FakeKernel::new_sync_file(const std::shared_ptr<Fence>& fence, uint64_t descriptor_at) {
  Object object;
  object.kind = ObjectKind::SyncFile;
  object.fence = fence;
  auto added = add_object(std::move(object));
  if (!added) return error(EMFILE);
  find(added->first)->pipe->set_readable(fence->finished());
  if (!fence->finished())
    fence->watchers.push_back([this, key = added->first] {
      if (Object* live = find(key)) live->pipe->set_readable(true);
    });
  CallResult out;
  out.descriptor = std::move(added->second);
  out.descriptor_at = descriptor_at;
  return out;
}
std::shared_ptr<Fence> FakeKernel::fence_of(Key key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second.fence;
}

void FakeKernel::release(Key key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  Object& object = found->second;
  if (object.kind == ObjectKind::DmaBuf) object.bo->dma_buf = Key{};
  if (object.kind == ObjectKind::File) {
    released(object.file);
    for (const auto& [handle, bo] : object.file.handles) handle_closed(object.file, bo);
  }
  objects_.erase(found);
  changed_.notify_all();
}

void FakeKernel::reap() {
  block_sigpipe();
  std::vector<pollfd> polled;
  std::vector<Key> keys;
  for (;;) {
    polled.assign(1, {wake_.get(), POLLIN, 0});
    keys.clear();
    {
      const std::lock_guard lock(lock_);
      if (stopping_) return;
      for (const auto& [key, object] : objects_) {
        polled.push_back({object.pipe->fd(), 0, 0});
        keys.push_back(key);
      }
    }
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    eventfd_t count = 0;
    if ((polled[0].revents & POLLIN) != 0) eventfd_read(wake_.get(), &count);
    const std::lock_guard lock(lock_);
    if (stopping_) return;  // the driver's part may be gone already
    for (size_t i = 0; i < keys.size(); ++i)
      if ((polled[i + 1].revents & POLLERR) != 0) release(keys[i]);
  }
}

bool FakeKernel::wait_closed(std::chrono::milliseconds time) {
  Lock lock(lock_);
  return changed_.wait_for(lock, time, [&] {
    return std::ranges::none_of(objects_,
                                [](const auto& entry) { return entry.second.kind == ObjectKind::File; });
  });
}

}  // namespace peraxis::capture
