#include "lower/memory_plan.hpp"

#include <algorithm>

#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

// Buffers of one program, commands included, must lie below 4 GiB; leave room for the device's own.
constexpr int64_t kMaxBytes = (int64_t{1} << 32) - (int64_t{1} << 26);

}  // namespace

int32_t MemoryPlan::add_constant(std::vector<uint8_t> bytes) {
  Entry entry;
  constants_.resize(
      static_cast<size_t>(round_up(static_cast<int64_t>(constants_.size()), rk3588::kBufferAlign)));
  entry.location = {true, static_cast<int64_t>(constants_.size())};
  entry.bytes = static_cast<int64_t>(bytes.size());
  constants_.insert(constants_.end(), bytes.begin(), bytes.end());
  entries_.push_back(entry);
  return static_cast<int32_t>(entries_.size() - 1);
}

int32_t MemoryPlan::add_activation(int64_t bytes) {
  Entry entry;
  entry.bytes = bytes;
  entries_.push_back(entry);
  return static_cast<int32_t>(entries_.size() - 1);
}

void MemoryPlan::touch(int32_t allocation, int32_t step) {
  Entry& entry = entries_[static_cast<size_t>(allocation)];
  entry.first = std::min(entry.first, step);
  entry.last = std::max(entry.last, step);
}

Status MemoryPlan::place() {
  std::vector<size_t> order;
  for (size_t i = 0; i < entries_.size(); ++i)
    if (!entries_[i].location.constant && entries_[i].last >= 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return entries_[a].bytes > entries_[b].bytes; });
  const auto by_offset = [](const Entry* a, const Entry* b) {
    return a->location.offset < b->location.offset;
  };
  int32_t steps = 0;
  for (const Entry& entry : entries_) steps = std::max(steps, entry.last + 1);
  // Placed allocations by the steps they live in, each list by offset: most live in one or two of many.
  std::vector<std::vector<const Entry*>> alive(static_cast<size_t>(steps));
  for (const size_t i : order) {
    Entry& entry = entries_[i];
    const auto first = alive.begin() + entry.first, last = alive.begin() + entry.last + 1;
    // Those that live at the same time: take the first gap.
    std::vector<const Entry*> rivals = *first;
    if (last - first > 1) {
      for (auto step = first + 1; step != last; ++step)
        rivals.insert(rivals.end(), step->begin(), step->end());
      std::sort(rivals.begin(), rivals.end(), by_offset);
    }
    int64_t offset =
        gap_ > 0 && activation_bytes_ > 0 ? round_up(activation_bytes_ + gap_, rk3588::kBufferAlign) : 0;
    for (const Entry* rival : rivals) {
      if (offset + entry.bytes <= rival->location.offset) break;
      offset = std::max(offset, round_up(rival->location.offset + rival->bytes, rk3588::kBufferAlign));
    }
    entry.location.offset = offset;
    activation_bytes_ = std::max(activation_bytes_, offset + entry.bytes);
    for (auto step = first; step != last; ++step)
      step->insert(std::upper_bound(step->begin(), step->end(), &entry, by_offset), &entry);
  }
  const int64_t total = activation_bytes_ + static_cast<int64_t>(constants_.size());
  if (total > kMaxBytes)
    return fail(ErrorCode::OutOfMemory,
                "the model needs {} bytes of device memory; 32-bit device addresses allow {}", total,
                kMaxBytes);
  return {};
}

std::vector<program::Allocation> MemoryPlan::allocation_records() const {
  std::vector<program::Allocation> out;
  out.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const bool used = !entry.location.constant && entry.last >= 0;
    out.push_back({entry.location.constant, entry.location.offset, entry.bytes, used ? entry.first : -1,
                   used ? entry.last : -1, 0});
  }
  return out;
}

int64_t MemoryPlan::peak_live_bytes() const {
  int32_t steps = 0;
  for (const Entry& entry : entries_) steps = std::max(steps, entry.last + 1);
  std::vector<int64_t> live(static_cast<size_t>(steps) + 1);
  for (const Entry& entry : entries_) {
    if (entry.location.constant || entry.last < 0) continue;
    live[static_cast<size_t>(entry.first)] += entry.bytes;
    live[static_cast<size_t>(entry.last) + 1] -= entry.bytes;
  }
  int64_t now = 0, peak = 0;
  for (const int64_t change : live) peak = std::max(peak, now += change);
  return peak;
}

}  // namespace peraxis::lower
