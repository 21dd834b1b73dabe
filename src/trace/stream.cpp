// See stream.hpp.
#include "trace/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace peraxis::trace {

using namespace rk3588;

std::string Place::text() const {
  return offset == 0 ? buffer : fmt::format("{}+{:#x}", buffer, offset);
}

Stream stream_of_bytes(std::string name, std::span<const uint8_t> bytes) {
  Stream out;
  out.name = std::move(name);
  out.words.reserve(bytes.size() / 8);
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8; ++i) word |= uint64_t{bytes[at + i]} << (8 * i);
    out.words.push_back(word);
  }
  const size_t whole = bytes.size() / 8 * 8;
  out.rest.assign(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end());
  return out;
}

std::vector<uint8_t> bytes_of_words(std::span<const uint64_t> words) {
  std::vector<uint8_t> out;
  out.reserve(words.size() * 8);
  for (const uint64_t word : words)
    for (size_t i = 0; i < 8; ++i) out.push_back(static_cast<uint8_t>(word >> (8 * i)));
  return out;
}

bool is_enable(uint64_t word) {
  return target_of(word) == kEnableTarget && offset_of(word) == kEnableOffset;
}

std::vector<TaskWords> split_tasks(std::span<const uint64_t> words) {
  std::vector<TaskWords> out;
  int64_t first = 0;
  bool any = false;
  const auto count = static_cast<int64_t>(words.size());
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t word = words[static_cast<size_t>(i)];
    any |= word != 0;
    if (!is_enable(word)) continue;
    out.push_back({first, i + 1 - first, true});
    first = i + 1;
    any = false;
  }
  if (any) out.push_back({first, count - first, false});
  return out;
}

std::optional<Place> place_of(const Stream& stream, int64_t index) {
  if (const auto found = stream.relocations.find(index); found != stream.relocations.end())
    return found->second;
  if (stream.buffers.empty()) return std::nullopt;
  const uint64_t word = stream.words[static_cast<size_t>(index)];
  const RegisterEntry* entry = find_register(target_of(word), offset_of(word));
  if (entry == nullptr || !entry->address || value_of(word) == 0) return std::nullopt;
  const int64_t address = value_of(word);
  for (const BufferRange& range : stream.buffers)
    if (address >= range.address && address < range.address + range.size)
      return Place{range.name, address - range.address};
  return std::nullopt;
}

std::optional<uint32_t> RegisterImage::Values::get(uint16_t offset) const {
  const RegisterEntry* entry = register_at(offset);
  if (entry == nullptr || !known[entry->number]) return std::nullopt;
  return value[entry->number];
}

void RegisterImage::Values::set(size_t number, uint32_t v) {
  value[number] = v;
  known.set(number);
}

void RegisterImage::write(uint64_t word) {
  const RegisterEntry* entry = find_register(target_of(word), offset_of(word));
  if (entry == nullptr) return;
  const uint16_t offset = offset_of(word);
  const size_t block = offset >> 12;
  if ((offset & 0xFFF) == 0x004 && block != 0) {
    // Both clears: the groups do not alternate from here on. 0xE: they do.
    fixed_[block] = (value_of(word) & 0x3F) == 0x30;
    if (fixed_[block]) group_[block] = 0;
  }
  groups_[group_[block]].set(entry->number, value_of(word));
  now_.set(entry->number, value_of(word));
}

void RegisterImage::end_task() {
  for (size_t i = 0; i < kRegisterCount; ++i)
    if (now_.known[i]) before_.set(i, now_.value[i]);
  for (size_t b = 0; b < kBlocks; ++b)
    if (!fixed_[b]) group_[b] ^= 1;
}

std::optional<uint32_t> RegisterImage::value(uint16_t offset) const {
  const uint8_t group = group_[offset >> 12];
  const auto found = groups_[group].get(offset);
  return found ? found : groups_[group ^ 1].get(offset);
}

std::optional<uint32_t> RegisterImage::previous(uint16_t offset) const {
  return before_.get(offset);
}

bool RegisterImage::written(uint16_t offset) const {
  return now_.get(offset).has_value();
}

int64_t count_tasks(const Stream& stream) {
  return std::ranges::count_if(stream.words, [](uint64_t w) {
    return target_of(w) == kEnableTarget && offset_of(w) == kEnableOffset;
  });
}

}  // namespace peraxis::trace
