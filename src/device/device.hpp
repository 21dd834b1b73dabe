// The contract between the runtime and a device: buffers at 32-bit device addresses, jobs of chained tasks,
// fences. Every backend keeps it, and tests/unit/device/conformance asks each for it. Backends: machine/ (the
// machine model), null/ (accepts nothing; start a new one from it). docs/decisions/0009 says why it is so.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "device/fence.hpp"

namespace peraxis::device {

// Memory both sides see, at the same addresses until the last copy of the handle is gone. That gives it back,
// in any thread, also after the device itself is gone. A job keeps handles of its buffers until it has ended.
struct Buffer {
  uint32_t address = 0;  // device address (IOVA); all buffers lie below 4 GiB
  std::span<uint8_t> bytes;
  std::shared_ptr<const void> owner = nullptr;
};

struct TaskEntry {
  uint32_t address = 0;  // of the first command word, a multiple of 16
  uint32_t words = 0;    // total, including the tail
};

inline constexpr int32_t kAnyCore = -1;

// Tasks of one core, in order. Tails of the programs lead from each to the next, for devices that follow
// them; others start each entry by itself.
struct Chain {
  std::vector<TaskEntry> tasks;
  int32_t core = kAnyCore;
};

// A job runs on one core, or on several that meet at the barriers of their programs.
struct Job {
  // One a core, all with different cores or all with kAnyCore.
  std::vector<Chain> chains;
  // Every buffer the tasks touch, command words included, in one of the lists and once; what a task both
  // reads and writes is written. At least one is written. A job starts when all jobs submitted before have
  // ended that write one of its buffers, or read one it writes.
  std::vector<Buffer> reads, writes;
  // From the start on its core to its end; waiting in a queue does not count. 0: what the device itself has.
  // A device whose limit is fixed keeps its own.
  std::chrono::milliseconds timeout{0};
};

// What 32-bit addresses reach, and what of it living buffers leave to no other, gaps that keep them apart
// included. Bytes.
struct AddressSpace {
  int64_t bytes = int64_t{1} << 32;
  int64_t used = 0;
};

// Any thread may call. A core runs its jobs in the order of their submission; jobs of different cores run
// side by side. The destructor waits for all jobs; fences and buffers may outlive the device, programs and
// sessions may not. What a backend cannot do it refuses with Unsupported, its name and the thing's name. Once
// a call has answered DeviceLost all later ones do, and fences of jobs that had not ended say so too.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "sim", "null"
  virtual int32_t cores() const { return 1; }
  // The most chains of one job.
  virtual int32_t cores_of_a_job() const { return 1; }
  // None: the device does not say.
  virtual std::optional<AddressSpace> address_space() const { return std::nullopt; }

  // Zero-filled for the host; on the machine model it counts as never written until the host writes it and
  // ends its access. OutOfMemory names the size and what is left; InvalidArgument: no bytes.
  virtual Result<Buffer> allocate(int64_t bytes, const std::string& name) = 0;
  // The same, of memory that export_buffer can hand on. Exports cost descriptors and, in some kernels,
  // safety: only where needed.
  virtual Result<Buffer> allocate_exportable(int64_t bytes, const std::string& name);
  // A descriptor of the buffer's memory (a dma-buf, or what stands for it), for other devices and processes;
  // it may outlive buffer and device. InvalidArgument: not allocated as exportable, or of another device.
  virtual Result<base::Descriptor> export_buffer(const Buffer& buffer);
  // A buffer over such memory, without a copy. All of it counts as written. Two handles of the same memory
  // are two buffers: their jobs are in the caller's hands. The descriptor stays the caller's.
  virtual Result<Buffer> import_buffer(int fd, const std::string& name);

  // Around what the host does with bytes of a buffer: `begin` before it reads what jobs wrote, `end` after it
  // wrote what jobs will read. Caches are cleaned there and nowhere else. InvalidArgument: outside the
  // buffer, or a job that has not ended writes it (begin) or uses it (end): wait for its fence first.
  virtual Status begin_cpu_access(const Buffer& buffer, int64_t offset, int64_t bytes) = 0;
  virtual Status end_cpu_access(const Buffer& buffer, int64_t offset, int64_t bytes) = 0;

  // Queues the job and returns. Errors are those of the job's form (InvalidArgument: job.hpp) or of the
  // device; what happens while it runs is the fence's to say: Device (refused words, a fault), Timeout,
  // DeviceLost. A failed job leaves the device usable, and what it wrote until then written.
  virtual Result<FencePtr> submit(Job job) = 0;
};

}  // namespace peraxis::device
