// Streams of the words that the test executor runs, as the program that measured the real kernel writes them.
#pragma once

#include <cstdint>
#include <vector>

namespace peraxis::capture {

inline uint64_t command(uint16_t target, uint32_t value, uint16_t offset) {
  return uint64_t{target} << 48 | uint64_t{value} << 16 | offset;
}
struct Order {
  uint32_t target = 0, bytes = 64, seed = 1, delay_us = 0, source = 0, interrupts = 0;
  bool hangs = false;
};
// `bytes` of a ramp from `seed` at `target`, or with a source its words plus `seed`.
inline std::vector<uint64_t> stream(const Order& order) {
  constexpr uint16_t kTest = 0xFFFF;
  std::vector<uint64_t> words;
  if (order.delay_us != 0) words.push_back(command(kTest, order.delay_us, 0));
  if (order.hangs) words.push_back(command(kTest, 1, 4));
  words.push_back(command(kTest, order.bytes, 8));
  if (order.interrupts != 0) words.push_back(command(kTest, order.interrupts, 20));
  if (order.source != 0) {
    words.push_back(command(kTest, order.seed, 12));
    words.push_back(command(0x0201, order.source, 0x1070));
  } else {
    words.push_back(command(kTest, order.seed, 16));
  }
  words.push_back(command(0x1001, order.target, 0x4020));
  words.push_back(command(0x0041, 0, 0));
  words.push_back(command(0x0081, 0x1D, 8));
  return words;
}

}  // namespace peraxis::capture
