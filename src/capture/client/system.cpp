// See system.hpp.
#include "capture/client/system.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>

namespace peraxis::capture::client {

int64_t monotonic_ns() {
  timespec now;
  raw(SYS_clock_gettime, CLOCK_MONOTONIC, as_long(&now));
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void Lock::lock() {
  int expected = 0;
  if (__atomic_compare_exchange_n(&state_, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
  while (__atomic_exchange_n(&state_, 2, __ATOMIC_ACQUIRE) != 0)
    raw(SYS_futex, as_long(&state_), FUTEX_WAIT_PRIVATE, 2);
}
void Lock::unlock() {
  if (__atomic_exchange_n(&state_, 0, __ATOMIC_RELEASE) == 2)
    raw(SYS_futex, as_long(&state_), FUTEX_WAKE_PRIVATE, 1);
}

SafeCopy::~SafeCopy() {
  for (const int fd : pipe_)
    if (fd >= 0) sys_close(fd);
}

bool SafeCopy::copy(void* to, const void* from, size_t bytes) {
  if (pipe_[0] < 0 && raw(SYS_pipe2, as_long(pipe_), O_CLOEXEC) != 0) return false;
  constexpr size_t kPiece = 4096;
  for (size_t done = 0; done < bytes;) {
    const size_t piece = bytes - done < kPiece ? bytes - done : kPiece;
    const long sent =
        raw(SYS_write, pipe_[1], as_long(static_cast<const char*>(from) + done), static_cast<long>(piece));
    if (sent == -EINTR) continue;
    if (sent <= 0) return false;
    for (long got = 0; got < sent;) {
      const long n = raw(SYS_read, pipe_[0], as_long(static_cast<char*>(to) + done) + got, sent - got);
      if (n == -EINTR) continue;
      if (n <= 0) return false;
      got += n;
    }
    done += static_cast<size_t>(sent);
  }
  return true;
}

Arena::Arena(size_t bytes) : size_(bytes) {
  begin_ = static_cast<uint8_t*>(
      sys_map(bytes, -1, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE));
}
Arena::~Arena() {
  if (begin_ != nullptr) sys_unmap(begin_, size_);
}
void* Arena::take(size_t bytes) {
  const size_t padded = (bytes + 7) / 8 * 8;
  if (begin_ == nullptr || padded < bytes || padded > size_ - used_) return nullptr;
  void* out = begin_ + used_;
  used_ += padded;
  return out;
}

Key key_of(int fd) {
  struct stat status;
  if (sys_fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode)) return {0, 0};
  return {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino)};
}

}  // namespace peraxis::capture::client
