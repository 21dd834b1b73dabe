// Two arrays of stored values, element by element: how many differ, by how much, as a histogram. Never one
// tolerance: "at most 1 anywhere" and "0.1 % off by 1" are different statements.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "ir/graph.hpp"

namespace peraxis::engine {

struct Difference {
  int64_t elements = 0, differing = 0;
  double max = 0;  // of |got - want|, in stored units
  double sum = 0;  // of |got - want|
  // got - want: -2 or less, -1, 0, 1, 2 or more
  std::array<int64_t, 5> histogram{};

  double percent() const {
    return elements == 0 ? 0.0 : 100.0 * static_cast<double>(differing) / static_cast<double>(elements);
  }
  double mean() const { return elements == 0 ? 0.0 : sum / static_cast<double>(elements); }
  void add(const Difference& other);
};

// Both spans hold dense values of `type` and are equally long.
Difference difference(ir::DataType type, std::span<const uint8_t> got, std::span<const uint8_t> want);

}  // namespace peraxis::engine
