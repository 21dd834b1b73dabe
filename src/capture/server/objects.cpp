// See objects.hpp.
#include "capture/server/objects.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/hash.hpp"

namespace peraxis::capture {

Result<std::shared_ptr<SharedMemory>> SharedMemory::create(int64_t bytes, const std::string& name) {
  Descriptor fd(memfd_create(name.c_str(), MFD_CLOEXEC));
  const int64_t size = whole_pages(bytes);
  if (!fd.valid() || ftruncate(fd.get(), size) != 0)
    return fail(ErrorCode::OutOfMemory, "{} bytes of shared memory: {}", size, std::strerror(errno));
  void* at = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED)
    return fail(ErrorCode::OutOfMemory, "mapping {} bytes: {}", size, std::strerror(errno));
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(std::move(fd), {static_cast<uint8_t*>(at), static_cast<size_t>(size)}));
}

SharedMemory::~SharedMemory() {
  munmap(bytes_.data(), bytes_.size());
}

std::vector<std::pair<int64_t, int64_t>> SharedMemory::touched() const {
  std::vector<std::pair<int64_t, int64_t>> out;
  const auto size = static_cast<int64_t>(bytes_.size());
  for (int64_t at = 0; at < size;) {
    const off_t data = lseek(fd(), at, SEEK_DATA);
    if (data < 0) break;
    const off_t hole = lseek(fd(), data, SEEK_HOLE);
    out.emplace_back(data, hole < 0 ? size : hole);
    at = out.back().second;
  }
  return out;
}

uint64_t SharedMemory::checksum() const {
  base::Hasher hasher;
  for (const auto& [begin, end] : touched())
    for (int64_t at = begin; at < end; at += kPage) {
      const std::span<const uint8_t> page = bytes_.subspan(static_cast<size_t>(at), kPage);
      if (std::ranges::all_of(page, [](uint8_t byte) { return byte == 0; })) continue;
      hasher.update({reinterpret_cast<const uint8_t*>(&at), sizeof(at)});
      hasher.update(page);
    }
  return hasher.digest();
}

Result<std::pair<std::unique_ptr<Pipe>, Descriptor>> Pipe::create() {
  int ends[2];
  struct stat status{};
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::Io, "a pipe: {}", std::strerror(errno));
  Descriptor read_end(ends[0]), write_end(ends[1]);
  if (fstat(ends[1], &status) != 0) return fail(ErrorCode::Io, "a pipe: {}", std::strerror(errno));
  std::unique_ptr<Pipe> pipe(
      new Pipe(std::move(write_end), {static_cast<uint64_t>(status.st_dev), status.st_ino}));
  return std::pair(std::move(pipe), std::move(read_end));
}

Descriptor Pipe::another_end() const {
  return Descriptor(::open(fmt::format("/proc/self/fd/{}", fd()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

void Pipe::set_readable(bool readable) {
  if (readable == readable_) return;
  // Opening through /proc adds a reader for a moment only, so that the last close is still seen.
  char byte = 0;
  if (readable) {
    if (write(fd(), &byte, 1) != 1) return;
  } else if (const Descriptor end = another_end(); !end.valid() || read(end.get(), &byte, 1) != 1) {
    return;
  }
  readable_ = readable;
}

void Fence::finish(int32_t with) {
  if (finished()) return;
  status = with;
  for (const auto& watcher : watchers) watcher();
  watchers.clear();
}

}  // namespace peraxis::capture
