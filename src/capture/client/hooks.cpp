// The functions of libc that the library takes the place of. Each does what the kernel would do and then,
// when that is not what a program on a board would see, asks the fake kernel; everything else passes through.
#include "capture/client/hooks.hpp"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "capture/client/paths.hpp"
#include "capture/client/recorder.hpp"
#include "capture/client/remote.hpp"
#include "device/uapi/drm.hpp"

namespace peraxis::capture::client {
namespace {

__attribute__((constructor)) void start() {
  set_fake_socket(getenv(kSocketVariable));
  set_fake_root(getenv(kRootVariable));
  start_recorder(getenv(kLogVariable), getenv(kRegcmdVariable) != nullptr);
}

bool fake() {
  return fake_socket() != nullptr;
}

}  // namespace

long do_open(int directory, const char* path, int flags, unsigned mode) {
  char room[kPathRoom];
  long fd = 0;
  if (fake() && is_fake_device(path))
    fd = remote_open(flags);
  else
    fd = raw(SYS_openat, directory, as_long(redirected(path, room)), flags, static_cast<long>(mode));
  if (fd >= 0) recorder_opened(static_cast<int>(fd), path);
  return fd;
}

long pass_ioctl(int fd, uint32_t request, void* argument) {
  const long result = sys_ioctl(fd, request, argument);
  if (result >= 0 || !fake()) return result;
  const char type = uapi::ioctl_type(request);
  const bool ours = type == uapi::kDrmType || type == uapi::kDmaBufType || type == uapi::kSyncType;
  // A pipe knows none of these calls; with which error depends on who plays the kernel (qemu says ENOSYS).
  return ours && key_of(fd).inode != 0 ? remote_ioctl(fd, request, argument) : result;
}

void* pass_map(size_t bytes, int fd, uint64_t offset) {
  void* at = sys_map(bytes, fd, offset, PROT_READ, MAP_SHARED);
  if (at != nullptr || !fake()) return at;
  const long mapped = remote_map(nullptr, bytes, PROT_READ, MAP_SHARED, fd, offset);
  return mapped < 0 && mapped >= -4095 ? nullptr : reinterpret_cast<void*>(mapped);
}

long do_ioctl(int fd, uint32_t request, void* argument) {
  return recorded_ioctl(fd, request, argument);
}

long do_mmap(void* hint, size_t length, int protection, int flags, int fd, uint64_t offset) {
  const long at = raw(SYS_mmap, as_long(hint), static_cast<long>(length), protection, flags, fd,
                      static_cast<long>(offset));
  if (at != -ENODEV && at != -EACCES && at != -EINVAL) return at;
  if (!fake() || fd < 0 || key_of(fd).inode == 0) return at;
  const long mapped = remote_map(hint, length, protection, flags, fd, offset);
  // A pipe of the program itself gets the kernel's answer.
  return mapped == -ENODEV && remote_kind(fd) == ObjectKind::None ? at : mapped;
}

long do_seek(int fd, long offset, int from) {
  const long at = raw(SYS_lseek, fd, offset, from);
  if (at != -ESPIPE || !fake() || from == SEEK_CUR) return at;
  const long size = remote_size(fd);
  return size < 0 || from == SEEK_END ? size : 0;
}

long do_fcntl(int fd, int command, long argument) {
  const long result = raw(SYS_fcntl, fd, command, argument);
  if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))
    recorder_copied(fd, static_cast<int>(result));
  return result;
}

long do_close(int fd) {
  recorder_closing(fd);
  return sys_close(fd);
}

long do_dup(long number, int from, int to, int flags) {
  const long result = raw(number, from, to, flags);
  if (result >= 0) recorder_copied(from, static_cast<int>(result));
  return result;
}

long do_stat(int directory, const char* path, struct stat* status, int flags) {
  char room[kPathRoom];
  const char* file = redirected(path, room);
  const long result = sys_stat(directory, file, status, flags);
  if (result == 0 && file != path) become_device(path, status);
  return result;
}
long do_fstat(int fd, struct stat* status) {
  const long result = sys_fstat(fd, status);
  if (result == 0 && fake() && S_ISFIFO(status->st_mode) && remote_kind(fd) == ObjectKind::File)
    become_device(status);
  return result;
}

}  // namespace peraxis::capture::client

using namespace peraxis::capture::client;

#define HOOK extern "C" __attribute__((visibility("default")))

namespace {
bool takes_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}
}  // namespace

#define PERAXIS_MODE_ARGUMENT(flags)                 \
  unsigned mode = 0;                                 \
  if (takes_mode(flags)) {                           \
    va_list list;                                    \
    va_start(list, flags);                           \
    mode = static_cast<unsigned>(va_arg(list, int)); \
    va_end(list);                                    \
  }

HOOK int open(const char* path, int flags, ...) {
  PERAXIS_MODE_ARGUMENT(flags)
  return static_cast<int>(returned(do_open(AT_FDCWD, path, flags, mode)));
}
HOOK int open64(const char* path, int flags, ...) {
  PERAXIS_MODE_ARGUMENT(flags)
  return static_cast<int>(returned(do_open(AT_FDCWD, path, flags, mode)));
}
HOOK int openat(int directory, const char* path, int flags, ...) {
  PERAXIS_MODE_ARGUMENT(flags)
  return static_cast<int>(returned(do_open(directory, path, flags, mode)));
}
HOOK int openat64(int directory, const char* path, int flags, ...) {
  PERAXIS_MODE_ARGUMENT(flags)
  return static_cast<int>(returned(do_open(directory, path, flags, mode)));
}
HOOK int __open_2(const char* path, int flags) {
  return static_cast<int>(returned(do_open(AT_FDCWD, path, flags, 0)));
}
HOOK int __open64_2(const char* path, int flags) {
  return static_cast<int>(returned(do_open(AT_FDCWD, path, flags, 0)));
}
HOOK int __openat_2(int directory, const char* path, int flags) {
  return static_cast<int>(returned(do_open(directory, path, flags, 0)));
}
HOOK int __openat64_2(int directory, const char* path, int flags) {
  return static_cast<int>(returned(do_open(directory, path, flags, 0)));
}
HOOK int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  return static_cast<int>(returned(do_ioctl(fd, static_cast<uint32_t>(request), argument)));
}
HOOK void* mmap(void* hint, size_t length, int protection, int flags, int fd, long offset) {
  return reinterpret_cast<void*>(
      returned(do_mmap(hint, length, protection, flags, fd, static_cast<uint64_t>(offset))));
}
HOOK void* mmap64(void* hint, size_t length, int protection, int flags, int fd, long offset) {
  return reinterpret_cast<void*>(
      returned(do_mmap(hint, length, protection, flags, fd, static_cast<uint64_t>(offset))));
}
HOOK int close(int fd) {
  return static_cast<int>(returned(do_close(fd)));
}
HOOK int dup(int fd) {
  return static_cast<int>(returned(do_dup(SYS_dup, fd, 0, 0)));
}
HOOK int dup3(int from, int to, int flags) {
  return static_cast<int>(returned(do_dup(SYS_dup3, from, to, flags)));
}
HOOK int dup2(int from, int to) {
  if (from == to) return returned(raw(SYS_fcntl, from, F_GETFD)) < 0 ? -1 : to;
  return static_cast<int>(returned(do_dup(SYS_dup3, from, to, 0)));
}
#define PERAXIS_FCNTL(name)                                             \
  HOOK int name(int fd, int command, ...) {                             \
    va_list list;                                                       \
    va_start(list, command);                                            \
    const long argument = va_arg(list, long);                           \
    va_end(list);                                                       \
    return static_cast<int>(returned(do_fcntl(fd, command, argument))); \
  }
PERAXIS_FCNTL(fcntl)
PERAXIS_FCNTL(fcntl64)

HOOK long lseek(int fd, long offset, int from) {
  return returned(do_seek(fd, offset, from));
}
HOOK long lseek64(int fd, long offset, int from) {
  return returned(do_seek(fd, offset, from));
}

// A program that makes system calls itself: those that matter are treated as their functions are.
HOOK long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& value : a) value = va_arg(list, long);
  va_end(list);
  const auto pointer = [&](int i) { return reinterpret_cast<void*>(a[i]); };
  const auto text = [&](int i) { return reinterpret_cast<const char*>(a[i]); };
  switch (number) {
#ifdef SYS_open
    case SYS_open:
      return returned(do_open(AT_FDCWD, text(0), static_cast<int>(a[1]), static_cast<unsigned>(a[2])));
#endif
    case SYS_openat:
      return returned(
          do_open(static_cast<int>(a[0]), text(1), static_cast<int>(a[2]), static_cast<unsigned>(a[3])));
    case SYS_ioctl:
      return returned(do_ioctl(static_cast<int>(a[0]), static_cast<uint32_t>(a[1]), pointer(2)));
    case SYS_mmap:
      return returned(do_mmap(pointer(0), static_cast<size_t>(a[1]), static_cast<int>(a[2]),
                              static_cast<int>(a[3]), static_cast<int>(a[4]), static_cast<uint64_t>(a[5])));
    case SYS_close:
      return returned(do_close(static_cast<int>(a[0])));
    case SYS_dup:
      return returned(do_dup(SYS_dup, static_cast<int>(a[0]), 0, 0));
    case SYS_dup3:
      return returned(
          do_dup(SYS_dup3, static_cast<int>(a[0]), static_cast<int>(a[1]), static_cast<int>(a[2])));
    case SYS_fcntl:
      return returned(do_fcntl(static_cast<int>(a[0]), static_cast<int>(a[1]), a[2]));
    case SYS_lseek:
      return returned(do_seek(static_cast<int>(a[0]), a[1], static_cast<int>(a[2])));
    default:
      return returned(raw(number, a[0], a[1], a[2], a[3], a[4], a[5]));
  }
}
