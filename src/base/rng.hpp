// Seeded random numbers for tests and tools, the same on every platform and standard library (the
// distributions of <random> are not). Generator: xoshiro256** by Blackman and Vigna, its state filled by
// splitmix64, both public domain. Not for anything secret.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace peraxis::base {

class Rng {
 public:
  explicit constexpr Rng(uint64_t seed) {
    for (uint64_t& word : state_) word = split_mix(seed);
  }

  constexpr uint64_t next() {
    const uint64_t out = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return out;
  }

  // low..high, both included, every value equally likely. Requires low <= high.
  constexpr int64_t uniform(int64_t low, int64_t high) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    if (range == 0) return static_cast<int64_t>(next());  // all 64 bits
    const uint64_t rejected = (0 - range) % range;        // 2^64 mod range: what would favour small values
    uint64_t word = next();
    while (word < rejected) word = next();
    return static_cast<int64_t>(static_cast<uint64_t>(low) + word % range);
  }
  // In [low, high).
  constexpr double uniform_real(double low, double high) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }
  // True once in `n` calls on average. Requires n >= 1.
  constexpr bool one_in(int64_t n) { return uniform(0, n - 1) == 0; }

  // Mixes a 64-bit state one step on: also good for a seed from a few numbers.
  static constexpr uint64_t split_mix(uint64_t& state) {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::array<uint64_t, 4> state_{};
};

}  // namespace peraxis::base
