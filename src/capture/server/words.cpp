// See words.hpp.
#include "capture/server/words.hpp"

#include <algorithm>

#include "trace/register_index.hpp"
#include "trace/stream.hpp"

namespace peraxis::capture {

std::vector<uint64_t> words_at(const Space& space, const CommandRange& task) {
  std::vector<uint64_t> out;
  const uint32_t address = task.address & ~0xFU;
  for (const Mapped& part : space) {
    const std::span<const uint8_t> bytes = part.memory->bytes();
    if (address < part.address || address - part.address >= bytes.size()) continue;
    const auto from = bytes.subspan(address - part.address);
    const size_t count = std::min<size_t>(task.words, from.size() / 8);
    for (size_t i = 0; i < count; ++i) {
      uint64_t word = 0;
      for (size_t b = 0; b < 8; ++b) word |= uint64_t{from[i * 8 + b]} << (8 * b);
      out.push_back(word);
    }
  }
  return out;
}

bool sets_pointer(uint64_t word) {
  using namespace rk3588;
  const trace::RegisterEntry* entry = trace::find_register(trace::target_of(word), trace::offset_of(word));
  return entry != nullptr && (entry->info->offset == CNA::S_POINTER::Reg::offset ||
                              entry->info->offset == CORE::S_POINTER::Reg::offset);
}

std::optional<uint32_t> address_in(uint64_t word) {
  const trace::RegisterEntry* entry = trace::find_register(trace::target_of(word), trace::offset_of(word));
  if (entry == nullptr || !entry->address) return std::nullopt;
  if (entry->info->block != rk3588::Block::PC) return trace::value_of(word);
  return trace::value_of(word) == 0 ? std::nullopt : std::optional(trace::value_of(word) & ~0xFU);
}

}  // namespace peraxis::capture
