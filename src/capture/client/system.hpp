// What the preloaded library asks of the kernel: system calls without libc in between, so that hooks work
// before the loader is done, in forked children and in signal handlers, and never call themselves.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "capture/protocol.hpp"

namespace peraxis::capture::client {

// Negative errno values as the kernel returns them.
inline long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "only x86-64 and aarch64"
#endif
}
template <class T>
long as_long(T* pointer) {
  return static_cast<long>(reinterpret_cast<uintptr_t>(pointer));
}
// As libc returns it: -1 and errno.
inline long returned(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

inline long sys_open(const char* path, int flags, unsigned mode) {
  return raw(SYS_openat, AT_FDCWD, as_long(path), flags, static_cast<long>(mode));
}
inline long sys_close(int fd) {
  return raw(SYS_close, fd);
}
inline long sys_stat(int directory, const char* path, struct stat* out, int flags) {
#if defined(__x86_64__)
  return raw(SYS_newfstatat, directory, as_long(path), as_long(out), flags);
#else
  return raw(SYS_newfstatat, directory, as_long(path), as_long(out), flags);
#endif
}
inline long sys_fstat(int fd, struct stat* out) {
  return raw(SYS_fstat, fd, as_long(out));
}
inline long sys_ioctl(int fd, uint32_t request, void* argument) {
  return raw(SYS_ioctl, fd, static_cast<long>(request), as_long(argument));
}
inline void* sys_map(size_t bytes, int fd, uint64_t offset, int protection, int flags) {
  const long at =
      raw(SYS_mmap, 0, static_cast<long>(bytes), protection, flags, fd, static_cast<long>(offset));
  return at < 0 && at >= -4095 ? nullptr : reinterpret_cast<void*>(at);
}
inline void sys_unmap(void* at, size_t bytes) {
  raw(SYS_munmap, as_long(at), static_cast<long>(bytes));
}
inline uint32_t process_id() {
  return static_cast<uint32_t>(raw(SYS_getpid));
}
int64_t monotonic_ns();

// A lock that a forked child may simply forget.
class Lock {
 public:
  void lock();
  void unlock();
  void forget() { state_ = 0; }

 private:
  int state_ = 0;  // 0 free, 1 taken, 2 taken and waited for
};
class Holding {
 public:
  explicit Holding(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Holding() { lock_.unlock(); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  Lock& lock_;
};

// Copies memory that may not be there: the kernel finds out, not a signal.
class SafeCopy {
 public:
  SafeCopy() = default;
  SafeCopy(const SafeCopy&) = delete;
  SafeCopy& operator=(const SafeCopy&) = delete;
  ~SafeCopy();
  bool copy(void* to, const void* from, size_t bytes);

 private:
  int pipe_[2] = {-1, -1};
};

// Memory for one call, without malloc.
class Arena {
 public:
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  // Null when it is full.
  void* take(size_t bytes);
  uint8_t* begin() const { return begin_; }
  size_t used() const { return used_; }

 private:
  uint8_t* begin_ = nullptr;
  size_t size_ = 0, used_ = 0;
};

// The pipe's identity; zero for anything but a pipe.
Key key_of(int fd);

}  // namespace peraxis::capture::client
