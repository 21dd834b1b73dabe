// The log that the preloaded library writes while a program runs: one file a process, records appended one
// after the other, each with its length and checksum, so that whatever was complete before a crash can be
// read. Integers are little-endian, structs have no gaps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peraxis::capture::log {

enum class Kind : uint32_t {
  Process = 1,  // ProcessRecord, then the name of the program
  Open,         // OpenRecord
  Close,        // uint32 file
  Buffer,       // BufferRecord
  BufferGone,   // uint32 file, uint32 handle
  Content,      // ContentRecord, then the bytes; only when they differ from the last record of the buffer
  Begin,        // SubmitRecord, then its parts; before the call
  End,          // EndRecord; the call returned and its work is done
  Calls,        // CallRecord: how often a call was made
};
enum class Driver : uint32_t { Rocket = 1, Rknpu = 2 };

constexpr uint32_t kMagic = 0x31524C50;  // "PLR1"
struct RecordHead {
  uint32_t magic;
  Kind kind;
  uint64_t bytes;     // of the payload
  uint64_t checksum;  // of the payload
  int64_t time_ns;    // CLOCK_MONOTONIC
};
static_assert(sizeof(RecordHead) == 32);

struct ProcessRecord {
  uint32_t process, parent;
};
struct OpenRecord {
  uint32_t file;
  Driver driver;
};
struct BufferRecord {
  uint32_t file, handle;
  uint64_t address, size, object;
  uint32_t flags, pad;
};
struct ContentRecord {
  uint32_t file, handle;
};
struct SubmitRecord {
  uint32_t file, number;
  uint32_t jobs, tasks, handles;  // followed by so many JobPart, TaskPart, uint32
  uint32_t core_mask;             // rknpu
  uint32_t flags, pad;
};
struct JobPart {
  uint32_t first_task, task_count;
  uint32_t first_in, in_count, first_out, out_count;  // in the list of handles
};
struct TaskPart {
  uint64_t address;
  uint32_t words, core;
};
struct EndRecord {
  uint32_t file, number;
  int32_t result;         // of the call: negative errno
  uint32_t task_counter;  // rknpu
  int64_t start_ns, end_ns;
};
struct CallRecord {
  uint32_t request;
  uint32_t known;  // 0: a call that the recorder does not know
  uint64_t times;
};
static_assert(sizeof(BufferRecord) == 40 && sizeof(SubmitRecord) == 32 && sizeof(EndRecord) == 32);

// Mixes eight bytes at a time; for damage, not for security.
inline uint64_t checksum(const void* data, size_t bytes, uint64_t seed = 0x9E3779B97F4A7C15) {
  const auto* at = static_cast<const uint8_t*>(data);
  uint64_t hash = seed ^ bytes;
  while (bytes >= 8) {
    uint64_t word;
    __builtin_memcpy(&word, at, 8);
    hash = (hash ^ word) * 0xFF51AFD7ED558CCD;
    hash ^= hash >> 32;
    at += 8;
    bytes -= 8;
  }
  for (; bytes > 0; --bytes) hash = (hash ^ *at++) * 0x100000001B3;
  return hash ^ hash >> 29;
}

}  // namespace peraxis::capture::log
