// The memory of the model: buffers of the caller at 32-bit device addresses, with one flag a byte that
// tells whether it has ever been written. Reading a byte nobody wrote is an error (or, when asked for, a
// finding), so a forgotten upload, a wrong stride or a task that runs too early is found at the byte.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace peraxis::machine {

// Bytes with a mark for each: written or not. Memories of several jobs may map the same block: side by side
// when all only read it, else in turns.
class MarkedBytes {
 public:
  // `bytes` must outlive the block and may not be empty.
  MarkedBytes(std::span<uint8_t> bytes, std::string name);

  std::span<uint8_t> bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  // A range outside the block is the caller's mistake and changes nothing.
  void mark_written(int64_t offset, int64_t size);

 private:
  friend class Memory;
  void set_flags(int64_t offset, int64_t size, bool value, int64_t time);

  std::span<uint8_t> bytes_;
  std::string name_;
  std::vector<uint64_t> flags_;  // one bit a byte
  std::vector<int64_t> stamps_;  // by page: the clock at its last change
  int64_t changed_ = 0;          // the latest of them
};

class Memory {
 public:
  // `bytes` must outlive the memory. Buffers may not overlap nor reach beyond 4 GiB.
  Status map(uint32_t address, std::span<uint8_t> bytes, std::string name);
  Status map(uint32_t address, std::shared_ptr<MarkedBytes> block);
  // Forgets the buffer that begins there.
  void unmap(uint32_t address);
  // Takes away all buffers.
  void clear();
  Status mark_written(int64_t address, int64_t size);
  Status mark_unwritten(int64_t address, int64_t size);

  // The bytes, all inside one buffer and all written; `what` names the reader in the error.
  Result<std::span<const uint8_t>> read(int64_t address, int64_t size, std::string_view what) const;
  // The bytes to write, all inside one buffer; they count as written from now on.
  Result<std::span<uint8_t>> write(int64_t address, int64_t size, std::string_view what);
  bool mapped(int64_t address, int64_t size) const;

  // From now on bytes nobody wrote are read as they were mapped, and every such reading is a finding.
  void read_unwritten() { read_unwritten_ = true; }
  const std::vector<std::string>& unwritten_reads() const { return unwritten_reads_; }
  bool written(int64_t address, int64_t size) const;

  // For caches of what was read: the clock moves with every write and every change of a flag.
  int64_t now() const { return clock_; }
  // False only when the bytes and their flags are as they were at `time`, a value of now(). Kept by pages: a
  // write close by also counts, and so does a range outside every buffer.
  bool changed_since(int64_t time, int64_t address, int64_t size) const;

 private:
  struct Buffer {
    int64_t address = 0;
    std::shared_ptr<MarkedBytes> block;
    int64_t mapped = 0;  // the clock at that moment
    int64_t end() const { return address + static_cast<int64_t>(block->bytes().size()); }
  };
  const Buffer* find(int64_t address, int64_t size) const;
  Buffer* find(int64_t address, int64_t size);
  tl::unexpected<Error> outside(int64_t address, int64_t size, std::string_view what) const;
  Status set_flags(int64_t address, int64_t size, bool value);

  std::vector<Buffer> buffers_;  // sorted by address
  int64_t clock_ = 0;
  bool read_unwritten_ = false;
  mutable std::vector<std::string> unwritten_reads_;  // the first ones, each sentence once
};

}  // namespace peraxis::machine
