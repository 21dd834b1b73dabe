// See log.hpp.
#include "capture/client/log.hpp"

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

namespace peraxis::capture::client {
namespace {

constexpr int kFirstNumber = 700;  // out of the way of programs that close everything they do not know

size_t program_name(char* to, size_t room) {
  const long fd = sys_open("/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  const long got = raw(SYS_read, fd, as_long(to), static_cast<long>(room));
  sys_close(static_cast<int>(fd));
  return got <= 0 ? 0 : static_cast<size_t>(got) - (to[got - 1] == '\n' ? 1 : 0);
}

}  // namespace

bool Log::still_ours() const {
  struct stat status;
  return fd_ >= 0 && sys_fstat(fd_, &status) == 0 && status.st_ino == inode_;
}

bool Log::open() {
  char path[4096];
  const int length = snprintf(path, sizeof(path), "%s/%u-%lld.plog", folder_, process_id(),
                              static_cast<long long>(monotonic_ns()));
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path)) return false;
  const long fd = sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  const long moved = raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kFirstNumber);
  if (moved >= 0) sys_close(static_cast<int>(fd));
  fd_ = static_cast<int>(moved >= 0 ? moved : fd);
  struct stat status;
  inode_ = sys_fstat(fd_, &status) == 0 ? status.st_ino : 0;
  return true;
}

void Log::add(log::Kind kind, const void* head, size_t head_bytes, const void* rest, size_t rest_bytes) {
  const Holding holding(lock_);
  if (!still_ours()) {
    if (!open()) return;
    const log::ProcessRecord process = {process_id(), static_cast<uint32_t>(raw(SYS_getppid))};
    char bytes[sizeof(process) + 64];
    memcpy(bytes, &process, sizeof(process));
    const size_t size = sizeof(process) + program_name(bytes + sizeof(process), 64);
    const log::RecordHead record = {log::kMagic, log::Kind::Process, size, log::checksum(bytes, size),
                                    monotonic_ns()};
    const iovec parts[] = {{const_cast<log::RecordHead*>(&record), sizeof(record)}, {bytes, size}};
    raw(SYS_writev, fd_, as_long(parts), 2);
  }
  log::RecordHead record = {log::kMagic, kind, head_bytes + rest_bytes, 0, monotonic_ns()};
  record.checksum = log::checksum(head, head_bytes);
  if (rest_bytes > 0) record.checksum = log::checksum(rest, rest_bytes, record.checksum);
  iovec parts[] = {{&record, sizeof(record)},
                   {const_cast<void*>(head), head_bytes},
                   {const_cast<void*>(rest), rest_bytes}};
  size_t left = sizeof(record) + head_bytes + rest_bytes;
  int first = 0;
  while (left > 0) {
    const long written = raw(SYS_writev, fd_, as_long(parts + first), 3 - first);
    if (written == -EINTR) continue;
    if (written <= 0) return;  // the disk is full: a reader stops at the piece
    left -= static_cast<size_t>(written);
    for (auto step = static_cast<size_t>(written); step > 0 && first < 3;) {
      const size_t part = step < parts[first].iov_len ? step : parts[first].iov_len;
      parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + part;
      parts[first].iov_len -= part;
      step -= part;
      if (parts[first].iov_len == 0) ++first;
    }
  }
}

}  // namespace peraxis::capture::client
