// xxhash as a header, so that no shared library of another version can take its place at run time.
#include "base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace peraxis::base {

struct Hasher::State {
  XXH64_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH64_reset(&state_->xxh, 0);
}
Hasher::~Hasher() = default;

void Hasher::update(std::span<const uint8_t> bytes) {
  if (!bytes.empty()) XXH64_update(&state_->xxh, bytes.data(), bytes.size());
}
uint64_t Hasher::digest() const {
  return XXH64_digest(&state_->xxh);
}

uint64_t hash64(std::span<const uint8_t> bytes) {
  return XXH64(bytes.data(), bytes.size(), 0);
}
uint64_t hash64(std::string_view text) {
  return XXH64(text.data(), text.size(), 0);
}

}  // namespace peraxis::base
