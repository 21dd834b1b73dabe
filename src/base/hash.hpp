// xxh64: the one hash of the project (file checksums, model identity, seeds from names). It finds damage
// and tells files apart; it is no protection against somebody who wants a collision.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace peraxis::base {

uint64_t hash64(std::span<const uint8_t> bytes);
uint64_t hash64(std::string_view text);

// The same hash of bytes that come in pieces; how they are cut does not matter.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void update(std::span<const uint8_t> bytes);
  uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace peraxis::base
