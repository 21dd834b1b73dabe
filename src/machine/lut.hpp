// The DPU's look-up table: two tables of 513 entries, LE for inputs below zero, LO for others
// (docs/hardware/dpu.md#look-up-table). A task writes them through LUT_ACCESS_CFG and LUT_ACCESS_DATA; they
// stay in the core until they are written again.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>

#include "machine/switches.hpp"

namespace peraxis::machine {

inline constexpr int64_t kLutEntries = 513;

struct LutTable {
  std::array<int16_t, kLutEntries> entries{};
  std::bitset<kLutEntries> known;
};
using LutTables = std::array<LutTable, 2>;  // LE, LO

// The tables and how inputs become positions in them.
struct Lut {
  struct Side {
    int64_t start = 0, end = 0;  // inputs of the first and of the last entry
    int select = 0;              // log2 of the step between entries
    int64_t below_scale = 0, above_scale = 0;
    int below_shift = 0, above_shift = 0;
  };
  LutTables tables;
  std::array<Side, 2> sides;
  int64_t at(int64_t x, Ties ties) const;
};

class Registers;
// The table as a task that uses it finds it.
std::shared_ptr<const Lut> decode_lut(Registers& r);

}  // namespace peraxis::machine
