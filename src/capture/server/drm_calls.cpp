// The calls that every DRM driver has: version, capabilities, handles, dma-bufs and sync_files.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "capture/server/fake_kernel.hpp"

namespace peraxis::capture {

using namespace uapi;

namespace {

// Numbers of the calls for screens and of sync objects: a driver without them says "not supported".
bool is_screen_call(uint32_t index) {
  return index >= kDriverCallsEnd;
}

}  // namespace

std::string_view FakeKernel::call_name(uint32_t request) const {
  switch (ioctl_index(request)) {
    case ioctl_index(kDrmPrimeHandleToFd):
      return "export";
    case ioctl_index(kDrmPrimeFdToHandle):
      return "import";
    case ioctl_index(kDrmGemClose):
      return "close";
    default:
      return "other";
  }
}

CallResult FakeKernel::generic_call(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  switch (ioctl_index(request)) {
    case ioctl_index(kDrmVersion):
      return version(request, argument, caller);
    case ioctl_index(kDrmGetUnique): {
      DrmUnique unique;
      if (!get(caller, request, argument, unique)) return error(EFAULT);
      unique.length = 0;
      return put(caller, request, argument, unique) ? CallResult{} : error(EFAULT);
    }
    case ioctl_index(kDrmSetVersion):
      return error(EACCES);  // for the master of a card only
    case ioctl_index(kDrmGemClose): {
      DrmGemClose close;
      if (!get(caller, request, argument, close)) return error(EFAULT);
      const auto bo = find_handle(file, close.handle);
      if (bo == nullptr) return error(EINVAL);
      file.handles.erase(close.handle);
      file.exported.erase(bo->map_offset);
      handle_closed(file, bo);
      return {};
    }
    case ioctl_index(kDrmGetCap): {
      DrmGetCap cap;
      if (!get(caller, request, argument, cap)) return error(EFAULT);
      cap.value = 0;
      constexpr uint64_t kMonotonicTime = 6;
      if (cap.capability == kCapPrime)
        cap.value = 3;  // import and export
      else if (cap.capability == kMonotonicTime)
        cap.value = 1;
      else if (cap.capability != kCapSyncobj && cap.capability != kCapSyncobjTimeline)
        return error(EOPNOTSUPP);
      return put(caller, request, argument, cap) ? CallResult{} : error(EFAULT);
    }
    case ioctl_index(kDrmPrimeHandleToFd):
      return export_handle(file, request, argument, caller);
    case ioctl_index(kDrmPrimeFdToHandle):
      return import_handle(file, request, argument, caller);
    case ioctl_index(kDrmModeCreateDumb):
      return error(ENOSYS);
    default:
      return error(is_screen_call(ioctl_index(request)) ? EOPNOTSUPP : EINVAL);
  }
}

CallResult FakeKernel::version(uint32_t request, uint64_t argument, Caller& caller) {
  DrmVersion v;
  if (!get(caller, request, argument, v)) return error(EFAULT);
  const auto text = [&](uint64_t at, uint64_t& length, std::string_view value) {
    const size_t bytes = std::min<uint64_t>(length, value.size());
    length = value.size();
    return at == 0 || bytes == 0 || caller.write(at, {reinterpret_cast<const uint8_t*>(value.data()), bytes});
  };
  const auto [major, minor, patch, date] = driver_version();
  v.major = major;
  v.minor = minor;
  v.patch = patch;
  if (!text(v.name, v.name_length, driver_name()) || !text(v.date, v.date_length, date) ||
      !text(v.description, v.description_length, description()))
    return error(EFAULT);
  return put(caller, request, argument, v) ? CallResult{} : error(EFAULT);
}

CallResult FakeKernel::export_handle(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  DrmPrimeHandle prime;
  if (!get(caller, request, argument, prime)) return error(EFAULT);
  if ((prime.flags & ~(kPrimeCloexec | kPrimeReadWrite)) != 0) return error(EINVAL);
  const auto bo = find_handle(file, prime.handle);
  if (bo == nullptr) return error(ENOENT);
  CallResult out;
  if (Object* object = bo->dma_buf == Key{} ? nullptr : find(bo->dma_buf)) {
    out.descriptor = object->pipe->another_end();
  } else {
    Object made;
    made.kind = ObjectKind::DmaBuf;
    made.bo = bo;
    auto added = add_object(std::move(made));
    if (added) out.descriptor = std::move(added->second);
    if (bo->busy()) set_writer(bo, bo->writer);  // so that its end is seen
  }
  if (!out.descriptor.valid()) return error(EMFILE);
  file.exported.insert(bo->map_offset);
  out.descriptor_at = argument + offsetof(DrmPrimeHandle, fd);
  out.close_on_exec = (prime.flags & kPrimeCloexec) != 0;
  return out;
}

CallResult FakeKernel::import_handle(File& file, uint32_t request, uint64_t argument, Caller& caller) {
  DrmPrimeHandle prime;
  if (!get(caller, request, argument, prime)) return error(EFAULT);
  const Object* object = find(caller.object_of(prime.fd));
  if (object == nullptr || object->kind != ObjectKind::DmaBuf)
    return error(caller.object_of(prime.fd) == Key{} ? EBADF : EINVAL);
  prime.handle = 0;
  for (const auto& [handle, bo] : file.handles)
    if (bo == object->bo) prime.handle = handle;
  if (prime.handle == 0) prime.handle = new_handle(file, object->bo);
  return put(caller, request, argument, prime) ? CallResult{} : error(EFAULT);
}

CallResult FakeKernel::dma_buf_call(Object& object, uint32_t request, uint64_t argument, Caller& caller) {
  constexpr uint32_t kSyncRead = 1, kSyncWrite = 2;
  switch (request) {
    case kDmaBufSync: {
      DmaBufSync sync;
      if (!get(caller, request, argument, sync)) return error(EFAULT);
      constexpr uint64_t kValid = 7;
      return (sync.flags & ~kValid) != 0 || (sync.flags & 3) == 0 ? error(EINVAL) : CallResult{};
    }
    case kDmaBufExportSyncFile: {
      DmaBufSyncFile file;
      if (!get(caller, request, argument, file)) return error(EFAULT);
      if ((file.flags & (kSyncRead | kSyncWrite)) == 0 || (file.flags & ~(kSyncRead | kSyncWrite)) != 0)
        return error(EINVAL);
      // Nothing runs: the kernel hands out a fence that is done, whatever happened before.
      auto fence = object.bo->busy() ? object.bo->writer : std::make_shared<Fence>();
      if (!object.bo->busy()) fence->finish(Fence::kDone);
      return new_sync_file(fence, argument + offsetof(DmaBufSyncFile, fd));
    }
    default:
      return error(ENOTTY);
  }
}

CallResult FakeKernel::sync_file_call(Object& object, uint32_t request, uint64_t argument, Caller& caller) {
  if (request != kSyncFileInfo) return error(ENOTTY);
  SyncFileInfo info;
  if (!get(caller, request, argument, info)) return error(EFAULT);
  if (info.flags != 0 || info.pad != 0) return error(EINVAL);
  std::snprintf(info.name, sizeof(info.name), "%s-fence", driver_name());
  info.status = object.fence->status;
  if (info.fence_count != 0) {
    SyncFenceInfo fence{};
    std::snprintf(fence.object, sizeof(fence.object), "%s", driver_name());
    std::snprintf(fence.driver, sizeof(fence.driver), "%s", driver_name());
    fence.status = info.status;
    if (!caller.write(info.fences, {reinterpret_cast<const uint8_t*>(&fence), sizeof(fence)}))
      return error(EFAULT);
  }
  info.fence_count = 1;
  return put(caller, request, argument, info) ? CallResult{} : error(EFAULT);
}

}  // namespace peraxis::capture
