// Functions that look at paths: a fake kernel's device files and its part of /sys are found where a program
// expects them. Only what programs use to find a device; a shell's `ls` or `cp` works too, since folders are
// real.
#include <dlfcn.h>
#include <linux/stat.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "capture/client/hooks.hpp"
#include "capture/client/paths.hpp"

struct __dirstream;
struct dirent;

using namespace peraxis::capture::client;

#define HOOK extern "C" __attribute__((visibility("default")))

namespace {

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define PERAXIS_STAT_HOOKS(suffix, type)                                                                   \
  HOOK int stat##suffix(const char* path, type* status) noexcept {                                         \
    return static_cast<int>(returned(do_stat(AT_FDCWD, path, reinterpret_cast<struct stat*>(status), 0))); \
  }                                                                                                        \
  HOOK int lstat##suffix(const char* path, type* status) noexcept {                                        \
    return static_cast<int>(                                                                               \
        returned(do_stat(AT_FDCWD, path, reinterpret_cast<struct stat*>(status), AT_SYMLINK_NOFOLLOW)));   \
  }                                                                                                        \
  HOOK int fstat##suffix(int fd, type* status) noexcept {                                                  \
    return static_cast<int>(returned(do_fstat(fd, reinterpret_cast<struct stat*>(status))));               \
  }                                                                                                        \
  HOOK int fstatat##suffix(int directory, const char* path, type* status, int flags) noexcept {            \
    if (path != nullptr && path[0] == 0 && (flags & AT_EMPTY_PATH) != 0)                                   \
      return static_cast<int>(returned(do_fstat(directory, reinterpret_cast<struct stat*>(status))));      \
    return static_cast<int>(                                                                               \
        returned(do_stat(directory, path, reinterpret_cast<struct stat*>(status), flags)));                \
  }                                                                                                        \
  HOOK int __xstat##suffix(int, const char* path, type* status) noexcept {                                 \
    return static_cast<int>(returned(do_stat(AT_FDCWD, path, reinterpret_cast<struct stat*>(status), 0))); \
  }                                                                                                        \
  HOOK int __lxstat##suffix(int, const char* path, type* status) noexcept {                                \
    return static_cast<int>(                                                                               \
        returned(do_stat(AT_FDCWD, path, reinterpret_cast<struct stat*>(status), AT_SYMLINK_NOFOLLOW)));   \
  }                                                                                                        \
  HOOK int __fxstat##suffix(int, int fd, type* status) noexcept {                                          \
    return static_cast<int>(returned(do_fstat(fd, reinterpret_cast<struct stat*>(status))));               \
  }

// On 64-bit systems both forms have one layout.
#undef stat64
PERAXIS_STAT_HOOKS(, struct stat)
PERAXIS_STAT_HOOKS(64, struct stat64)

HOOK int statx(int directory, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  char room[kPathRoom];
  const char* file = redirected(path, room);
  const long result = raw(SYS_statx, directory, as_long(file), flags, static_cast<long>(mask), as_long(out));
  if (result != 0) return static_cast<int>(returned(result));
  struct stat status;
  const bool of_fd = path != nullptr && path[0] == 0 && (flags & AT_EMPTY_PATH) != 0;
  if ((file != path || of_fd) &&
      (of_fd ? do_fstat(directory, &status) : do_stat(directory, path, &status, 0)) == 0 &&
      S_ISCHR(status.st_mode)) {
    out->stx_mode = static_cast<uint16_t>(status.st_mode);
    out->stx_rdev_major = major(status.st_rdev);
    out->stx_rdev_minor = minor(status.st_rdev);
  }
  return 0;
}

HOOK int access(const char* path, int mode) noexcept {
  char room[kPathRoom];
  return static_cast<int>(returned(raw(SYS_faccessat, AT_FDCWD, as_long(redirected(path, room)), mode)));
}
HOOK ssize_t readlink(const char* path, char* out, size_t bytes) noexcept {
  char room[kPathRoom];
  return returned(
      raw(SYS_readlinkat, AT_FDCWD, as_long(redirected(path, room)), as_long(out), static_cast<long>(bytes)));
}
HOOK char* realpath(const char* path, char* out) noexcept {
  static const auto real = next<char* (*)(const char*, char*)>("realpath");
  char room[kPathRoom];
  char* found = real(redirected(path, room), out);
  unredirect(found);
  return found;
}
HOOK __dirstream* opendir(const char* path) {
  static const auto real = next<__dirstream* (*)(const char*)>("opendir");
  char room[kPathRoom];
  return real(redirected(path, room));
}
#define PERAXIS_SCANDIR(name)                                                        \
  HOOK int name(const char* path, void* list, void* filter, void* order) {           \
    static const auto real = next<int (*)(const char*, void*, void*, void*)>(#name); \
    char room[kPathRoom];                                                            \
    return real(redirected(path, room), list, filter, order);                        \
  }
PERAXIS_SCANDIR(scandir)
PERAXIS_SCANDIR(scandir64)
#define PERAXIS_FOPEN(name)                                                    \
  HOOK FILE* name(const char* path, const char* mode) {                        \
    static const auto real = next<FILE* (*)(const char*, const char*)>(#name); \
    char room[kPathRoom];                                                      \
    return real(redirected(path, room), mode);                                 \
  }
PERAXIS_FOPEN(fopen)
#undef fopen64
PERAXIS_FOPEN(fopen64)
