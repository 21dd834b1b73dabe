// Where everything lives in device memory. Constants (weights, operands) are laid out once; activations
// share one arena: an allocation may take the place of another whose last use is before its first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

namespace peraxis::lower {

class MemoryPlan {
 public:
  struct Location {
    bool constant = false;  // in the constants buffer, else in the activation arena
    int64_t offset = 0;
  };

  int32_t add_constant(std::vector<uint8_t> bytes);
  int32_t add_activation(int64_t bytes);
  void grow_activation(int32_t allocation, int64_t bytes) {  // before place()
    entries_[static_cast<size_t>(allocation)].bytes += bytes;
  }
  // An activation is at least so large; before place(). Constants have the size of their bytes.
  void at_least(int32_t allocation, int64_t bytes) {
    Entry& entry = entries_[static_cast<size_t>(allocation)];
    if (!entry.location.constant) entry.bytes = std::max(entry.bytes, bytes);
  }
  // Of either kind, so far: the next one's number.
  int32_t allocations() const { return static_cast<int32_t>(entries_.size()); }
  // Step `step` reads or writes the activation; steps are numbered in execution order.
  void touch(int32_t allocation, int32_t step);

  // For tests: no activation takes another's place, and so many bytes between two belong to none.
  void keep_apart(int64_t gap) { gap_ = gap; }
  // Assigns every offset. Refuses more than the 32-bit address space holds.
  Status place();

  Location location(int32_t allocation) const { return entries_[static_cast<size_t>(allocation)].location; }
  int64_t activation_bytes() const { return activation_bytes_; }
  // Of the program: every allocation as it was placed, without hashes.
  std::vector<program::Allocation> allocation_records() const;
  std::vector<uint8_t> take_constants() { return std::move(constants_); }
  // Bytes of all activations alive at the busiest step: the floor of any plan.
  int64_t peak_live_bytes() const;

 private:
  struct Entry {
    Location location;
    int64_t bytes = 0;
    int32_t first = INT32_MAX, last = -1;
  };
  std::vector<Entry> entries_;
  std::vector<uint8_t> constants_;
  int64_t activation_bytes_ = 0;
  int64_t gap_ = 0;
};

}  // namespace peraxis::lower
