// A command stream: 64-bit words as a program counter fetches them, and what is known of the memory their
// addresses point into. Words are kept as they are; reading a stream never loses or repairs anything.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/register_index.hpp"

namespace peraxis::trace {

// A range of device addresses with a name.
struct BufferRange {
  std::string name;
  int64_t address = 0, size = 0;
};
struct Place {
  std::string buffer;
  int64_t offset = 0;

  std::string text() const;  // "weights+0x40"
  bool operator==(const Place&) const = default;
};

struct Stream {
  std::string name;
  std::vector<uint64_t> words;
  std::vector<uint8_t> rest;               // bytes after the last whole word, at most 7
  std::vector<BufferRange> buffers;        // empty: addresses are numbers only
  std::map<int64_t, Place> relocations;    // by word: not yet an address
  std::map<int64_t, std::string> origins;  // by a task's first word: where it came from
};

Stream stream_of_bytes(std::string name, std::span<const uint8_t> bytes);
std::vector<uint8_t> bytes_of_words(std::span<const uint64_t> words);

// One program: words up to and including its op-enable word. Zero words between programs lead the next one.
struct TaskWords {
  int64_t first = 0, count = 0;
  bool complete = true;  // false: no op-enable word, the stream ends inside
};
std::vector<TaskWords> split_tasks(std::span<const uint64_t> words);

// Where the address written by word `index` points to, when that is known.
std::optional<Place> place_of(const Stream& stream, int64_t index);

inline uint16_t target_of(uint64_t word) {
  return static_cast<uint16_t>(word >> 48);
}
inline uint32_t value_of(uint64_t word) {
  return static_cast<uint32_t>(word >> 16);
}
inline uint16_t offset_of(uint64_t word) {
  return static_cast<uint16_t>(word);
}
bool is_enable(uint64_t word);

// What the registers hold while a stream runs: two groups a block that alternate with the tasks
// (docs/hardware/pc.md#ping-pong-register-groups), so a short program sees what the task two before it wrote.
class RegisterImage {
 public:
  void begin_task() { now_.known.reset(); }
  void write(uint64_t word);
  void end_task();
  // In the current task. When its group never got the register, the other group's value serves: better
  // than nothing for a reader of a cut stream.
  std::optional<uint32_t> value(uint16_t offset) const;
  // What was last written before the current task.
  std::optional<uint32_t> previous(uint16_t offset) const;
  bool written(uint16_t offset) const;  // by the current task

 private:
  static constexpr size_t kBlocks = 16;
  struct Values {
    std::array<uint32_t, kRegisterCount> value{};
    std::bitset<kRegisterCount> known;

    std::optional<uint32_t> get(uint16_t offset) const;
    void set(size_t number, uint32_t v);
  };
  Values groups_[2];
  Values now_, before_;
  uint8_t group_[kBlocks] = {};
  bool fixed_[kBlocks] = {};
};

// Op-enable words: tasks as far as the words tell. What holds all of them at once takes up to
// kMostTasksAtOnce.
int64_t count_tasks(const Stream& stream);
inline constexpr int64_t kMostTasksAtOnce = int64_t{1} << 17;

}  // namespace peraxis::trace
