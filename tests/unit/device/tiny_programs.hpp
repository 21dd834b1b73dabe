// The smallest convolution as command words, and jobs made of it: 1x1, one pixel, 16 channels in, 32 out.
// With the identity as weights its first 16 outputs are inputs plus a number, which any test can compute.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.hpp"

namespace peraxis::device::test {

inline constexpr int64_t kLanes = 16;     // channels in, and bytes of a map that count
inline constexpr int64_t kMapBytes = 64;  // room for the 32 bytes a task writes
inline constexpr int64_t kWeightBytes = 512;
inline constexpr int64_t kStrideWords = 80;  // from program to program
inline constexpr uint32_t kProgramWords = 74;

struct Step {
  uint32_t from = 0, to = 0, weights = 0;  // device addresses
  int8_t add = 0;
  int32_t barrier = 0;   // cores that wait for each other behind it; 0: none
  int64_t ic_bytes = 0;  // not 0: in place of the data's size, to be refused
};
// One after the other from `address` on; the tail of each but the last leads to the next.
std::vector<uint64_t> words_of(const std::vector<Step>& steps, uint32_t address);
// Entries of such words.
Chain chain_of(size_t steps, uint32_t address, int32_t core = kAnyCore);

// Copies `bytes` into the buffer and ends the access.
Status fill(Device& device, const Buffer& buffer, std::span<const uint8_t> bytes);
// A buffer of identity weights, ready to be read.
Result<Buffer> identity_weights(Device& device);
// The words into the buffer, which is then ready to be read.
Status fill_words(Device& device, const Buffer& buffer, const std::vector<uint64_t>& words);

// A job of `tasks` tasks that go to and fro between two maps; each adds `add` to 16 bytes.
class Adder {
 public:
  static Result<Adder> make(Device& device, size_t tasks, int8_t add);

  Status set(uint8_t value) const;  // of the first map; no job may be in flight
  Job job(int32_t core = kAnyCore) const;
  Result<std::vector<uint8_t>> result() const;
  // What `job` makes of `set(value)`.
  std::vector<uint8_t> expected(uint8_t value) const;
  // set, submit, wait, compare.
  Status check(uint8_t value, int32_t core = kAnyCore) const;
  const Buffer& maps() const { return maps_; }
  const Buffer& command_words() const { return commands_; }

 private:
  Device* device_ = nullptr;
  size_t tasks_ = 0;
  int8_t add_ = 0;
  Buffer commands_, weights_, maps_;
};

}  // namespace peraxis::device::test
