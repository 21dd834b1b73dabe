// The parts a fake kernel is made of: memory that programs map, fences, and descriptors that programs hold.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "capture/protocol.hpp"

namespace peraxis::capture {

inline constexpr int64_t kPage = 4096;
inline int64_t whole_pages(int64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

using base::Descriptor;

// Whole pages in a memfd, mapped here and by the programs.
class SharedMemory {
 public:
  static Result<std::shared_ptr<SharedMemory>> create(int64_t bytes, const std::string& name);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  int fd() const { return fd_.get(); }
  std::span<uint8_t> bytes() const { return bytes_; }
  // Ranges [offset, end) of pages that anybody has ever touched.
  std::vector<std::pair<int64_t, int64_t>> touched() const;
  // Of the content; pages that nobody touched stay untouched.
  uint64_t checksum() const;

 private:
  SharedMemory(Descriptor fd, std::span<uint8_t> bytes) : fd_(std::move(fd)), bytes_(bytes) {}

  Descriptor fd_;
  std::span<uint8_t> bytes_;
};

// The kernel's end of a program's descriptor (protocol.hpp).
class Pipe {
 public:
  // The pipe and the end for the program.
  static Result<std::pair<std::unique_ptr<Pipe>, Descriptor>> create();

  Key key() const { return key_; }
  int fd() const { return write_end_.get(); }
  // Whether poll(POLLIN) on the program's end returns at once.
  void set_readable(bool readable);
  // Another descriptor of the same object, for a program that asks again.
  Descriptor another_end() const;

 private:
  Pipe(Descriptor write_end, Key key) : write_end_(std::move(write_end)), key_(key) {}

  Descriptor write_end_;
  Key key_;
  bool readable_ = false;
};

// Completion of a job. Guarded by the kernel's lock.
struct Fence {
  static constexpr int32_t kRunning = 0, kDone = 1, kCanceled = -125;

  int32_t status = kRunning;
  std::vector<std::function<void()>> watchers;  // called once, when it is finished

  bool finished() const { return status != kRunning; }
  void finish(int32_t with);
};

// A buffer object. Guarded by the kernel's lock, its bytes by nobody, as on the chip.
struct Bo {
  std::shared_ptr<SharedMemory> memory;
  int64_t size = 0;      // as asked for
  int64_t address = -1;  // in the address space of the file that made it
  uint64_t owner = 0;    // that file
  uint64_t map_offset = 0;
  uint64_t object = 0;  // rknpu's name for it
  uint32_t flags = 0;
  std::shared_ptr<Fence> writer;  // the last job that names it as output
  uint64_t flushed = 0;           // strict mode: checksum of what the device can see
  Key dma_buf{};                  // exported as

  bool busy() const { return writer != nullptr && !writer->finished(); }
};

}  // namespace peraxis::capture
