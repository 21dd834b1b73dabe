// Device addresses of one address space: the smallest hole that fits, as the kernel's allocator does it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace peraxis::capture {

class Addresses {
 public:
  Addresses(int64_t begin, int64_t end) { holes_[begin] = end; }

  // `size`: whole pages.
  std::optional<int64_t> take(int64_t size) {
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      const int64_t room = hole->second - hole->first;
      if (room >= size && (best == holes_.end() || room < best->second - best->first)) best = hole;
    }
    if (best == holes_.end()) return std::nullopt;
    const auto [begin, end] = *best;
    holes_.erase(best);
    if (begin + size < end) holes_[begin + size] = end;
    return begin;
  }
  // From the top down, at a multiple of `alignment`: how the vendor's address space is filled.
  std::optional<int64_t> take_high(int64_t size, int64_t alignment) {
    for (auto hole = holes_.rbegin(); hole != holes_.rend(); ++hole) {
      const auto [begin, end] = *hole;
      const int64_t at = (end - size) / alignment * alignment;
      if (end - begin < size || at < begin) continue;
      holes_.erase(begin);
      if (begin < at) holes_[begin] = at;
      if (at + size < end) holes_[at + size] = end;
      return at;
    }
    return std::nullopt;
  }
  void give_back(int64_t address, int64_t size) {
    int64_t end = address + size;
    auto next = holes_.lower_bound(address);
    if (next != holes_.end() && next->first == end) {
      end = next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin() && std::prev(next)->second == address)
      std::prev(next)->second = end;
    else
      holes_[address] = end;
  }

 private:
  std::map<int64_t, int64_t> holes_;  // begin -> end
};

}  // namespace peraxis::capture
