// Flags are kept as bits and handled a 64-bit word at a time: a feature row costs a few compares, so the
// check can stay on in every run.
#include "machine/memory.hpp"

#include <algorithm>
#include <bit>

namespace peraxis::machine {
namespace {

constexpr int64_t kSpace = int64_t{1} << 32;
constexpr int kPageShift = 12;

// Bits [first, first + count) of one word, count in 1..64.
uint64_t word_mask(int64_t first, int64_t count) {
  const uint64_t ones = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  return ones << first;
}

// Calls f(word index, mask) for the words that hold bits [first, first + count).
template <class F>
void for_words(int64_t first, int64_t count, F f) {
  while (count > 0) {
    const int64_t bit = first & 63;
    const int64_t n = std::min<int64_t>(count, 64 - bit);
    if (!f(static_cast<size_t>(first >> 6), word_mask(bit, n))) return;
    first += n;
    count -= n;
  }
}

// The first clear bit of [first, first + count), or -1.
int64_t first_clear(const std::vector<uint64_t>& flags, int64_t first, int64_t count) {
  int64_t found = -1;
  for_words(first, count, [&](size_t word, uint64_t mask) {
    const uint64_t missing = ~flags[word] & mask;
    if (missing == 0) return true;
    found = static_cast<int64_t>(word) * 64 + std::countr_zero(missing);
    return false;
  });
  return found;
}

}  // namespace

MarkedBytes::MarkedBytes(std::span<uint8_t> bytes, std::string name)
    : bytes_(bytes),
      name_(std::move(name)),
      flags_((bytes.size() + 63) / 64),
      stamps_((bytes.size() + (size_t{1} << kPageShift) - 1) >> kPageShift) {}

void MarkedBytes::mark_written(int64_t offset, int64_t size) {
  const auto bytes = static_cast<int64_t>(bytes_.size());
  if (offset >= 0 && size >= 0 && offset <= bytes && size <= bytes - offset)
    set_flags(offset, size, true, changed_ + 1);
}

void MarkedBytes::set_flags(int64_t offset, int64_t size, bool value, int64_t time) {
  if (size == 0) return;
  for_words(offset, size, [&](size_t word, uint64_t mask) {
    flags_[word] = value ? flags_[word] | mask : flags_[word] & ~mask;
    return true;
  });
  changed_ = std::max(changed_, time);
  for (int64_t page = offset >> kPageShift; page <= (offset + size - 1) >> kPageShift; ++page)
    stamps_[static_cast<size_t>(page)] = time;
}

Status Memory::map(uint32_t address, std::span<uint8_t> bytes, std::string name) {
  return map(address, std::make_shared<MarkedBytes>(bytes, std::move(name)));
}

Status Memory::map(uint32_t address, std::shared_ptr<MarkedBytes> block) {
  const int64_t size = static_cast<int64_t>(block->bytes().size());
  if (size == 0) return fail(ErrorCode::InvalidArgument, "buffer '{}' is empty", block->name());
  if (address + size > kSpace)
    return fail(ErrorCode::InvalidArgument, "buffer '{}' at {:#x}: {} bytes reach beyond 4 GiB",
                block->name(), address, size);
  auto next = std::lower_bound(buffers_.begin(), buffers_.end(), int64_t{address},
                               [](const Buffer& b, int64_t a) { return b.address < a; });
  const Buffer* clash = nullptr;
  if (next != buffers_.end() && next->address < address + size) clash = &*next;
  if (next != buffers_.begin() && std::prev(next)->end() > address) clash = &*std::prev(next);
  if (clash != nullptr)
    return fail(ErrorCode::InvalidArgument, "buffer '{}' at {:#x}, {} bytes, overlaps buffer '{}' at {:#x}",
                block->name(), address, size, clash->block->name(), clash->address);
  // Later than all that happened to the block elsewhere, so that its stamps lie in the past. The block itself
  // stays as it is: another memory may be reading it.
  clock_ = std::max(clock_, block->changed_) + 1;
  buffers_.insert(next, {address, std::move(block), clock_});
  return {};
}

void Memory::unmap(uint32_t address) {
  std::erase_if(buffers_, [address](const Buffer& b) { return b.address == address; });
  ++clock_;
}

void Memory::clear() {
  buffers_.clear();
  ++clock_;
}

const Memory::Buffer* Memory::find(int64_t address, int64_t size) const {
  auto after = std::upper_bound(buffers_.begin(), buffers_.end(), address,
                                [](int64_t a, const Buffer& b) { return a < b.address; });
  if (after == buffers_.begin() || size < 0) return nullptr;
  const Buffer& buffer = *std::prev(after);
  return size <= buffer.end() - address ? &buffer : nullptr;
}

Memory::Buffer* Memory::find(int64_t address, int64_t size) {
  return const_cast<Buffer*>(static_cast<const Memory*>(this)->find(address, size));
}

tl::unexpected<Error> Memory::outside(int64_t address, int64_t size, std::string_view what) const {
  const Buffer* start = find(address, 0);
  if (start != nullptr && address < start->end())
    return fail(ErrorCode::Device, "{}: {} bytes at {:#x} reach {} bytes beyond buffer '{}'", what, size,
                address, address + size - start->end(), start->block->name());
  return fail(ErrorCode::Device, "{}: {} bytes at {:#x} lie outside every buffer", what, size, address);
}

Status Memory::set_flags(int64_t address, int64_t size, bool value) {
  Buffer* buffer = find(address, size);
  if (buffer == nullptr) return outside(address, size, "marking memory");
  if (size > 0) buffer->block->set_flags(address - buffer->address, size, value, ++clock_);
  return {};
}

Status Memory::mark_written(int64_t address, int64_t size) {
  return set_flags(address, size, true);
}
Status Memory::mark_unwritten(int64_t address, int64_t size) {
  return set_flags(address, size, false);
}

Result<std::span<const uint8_t>> Memory::read(int64_t address, int64_t size, std::string_view what) const {
  const Buffer* buffer = find(address, size);
  if (buffer == nullptr) return outside(address, size, what);
  const int64_t clear = first_clear(buffer->block->flags_, address - buffer->address, size);
  if (clear >= 0) {
    std::string text = fmt::format("{}: the byte at {:#x} (buffer '{}' + {}) was never written", what,
                                   buffer->address + clear, buffer->block->name(), clear);
    if (!read_unwritten_) return fail(ErrorCode::Device, "{}", text);
    constexpr size_t kMostFindings = 16;
    if (unwritten_reads_.size() < kMostFindings &&
        std::ranges::find(unwritten_reads_, text) == unwritten_reads_.end())
      unwritten_reads_.push_back(std::move(text));
  }
  return std::span<const uint8_t>(buffer->block->bytes())
      .subspan(static_cast<size_t>(address - buffer->address), static_cast<size_t>(size));
}

Result<std::span<uint8_t>> Memory::write(int64_t address, int64_t size, std::string_view what) {
  Buffer* buffer = find(address, size);
  if (buffer == nullptr) return outside(address, size, what);
  PERAXIS_TRY(set_flags(address, size, true));
  return buffer->block->bytes().subspan(static_cast<size_t>(address - buffer->address),
                                        static_cast<size_t>(size));
}

bool Memory::mapped(int64_t address, int64_t size) const {
  return find(address, size) != nullptr;
}

bool Memory::written(int64_t address, int64_t size) const {
  const Buffer* buffer = find(address, size);
  return buffer != nullptr && first_clear(buffer->block->flags_, address - buffer->address, size) < 0;
}

bool Memory::changed_since(int64_t time, int64_t address, int64_t size) const {
  const Buffer* buffer = find(address, size);
  if (buffer == nullptr || size == 0) return buffer == nullptr;
  if (buffer->mapped > time) return true;  // what was here before is not what a cache has seen
  const int64_t first = address - buffer->address;
  for (int64_t page = first >> kPageShift; page <= (first + size - 1) >> kPageShift; ++page)
    if (buffer->block->stamps_[static_cast<size_t>(page)] > time) return true;
  return false;
}

}  // namespace peraxis::machine
