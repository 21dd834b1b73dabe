// See in_process.hpp.
#include "capture/server/in_process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace peraxis::capture {
namespace {

Key key_of(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return {};
  return {static_cast<uint64_t>(status.st_dev), status.st_ino};
}

// Pointers are taken as they are; only addresses below a page count as bad.
class LocalCaller final : public Caller {
 public:
  bool read(uint64_t address, std::span<uint8_t> to) override {
    if (address < static_cast<uint64_t>(kPage)) return false;
    std::memcpy(to.data(), reinterpret_cast<const void*>(address), to.size());
    return true;
  }
  bool write(uint64_t address, std::span<const uint8_t> from) override {
    if (address < static_cast<uint64_t>(kPage)) return false;
    std::memcpy(reinterpret_cast<void*>(address), from.data(), from.size());
    return true;
  }
  Key object_of(int32_t fd) override { return key_of(fd); }
};

int give(CallResult& result) {
  const int fd = result.descriptor.release();
  if (fd >= 0 && !result.close_on_exec) fcntl(fd, F_SETFD, 0);
  return fd;
}

}  // namespace

int InProcess::open(int flags) const {
  CallResult result = kernel_.open(flags);
  return result.result < 0 ? static_cast<int>(result.result) : give(result);
}

int InProcess::ioctl(int fd, uint32_t request, void* argument) const {
  LocalCaller caller;
  CallResult result = kernel_.ioctl(key_of(fd), request, reinterpret_cast<uint64_t>(argument), caller);
  if (result.descriptor.valid()) {
    const int32_t number = give(result);
    caller.write(result.descriptor_at, {reinterpret_cast<const uint8_t*>(&number), sizeof(number)});
  }
  return static_cast<int>(result.result);
}

MapResult InProcess::map(int fd, uint64_t offset, uint64_t length, int protection, int flags) const {
  return kernel_.map(key_of(fd), offset, length, protection, flags);
}

}  // namespace peraxis::capture
