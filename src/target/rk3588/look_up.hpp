// The look-up table of the DPU's EW stage as a function of one 8-bit value. The ranges are those of every
// captured vendor stream and of the fp16 measurements (docs/hardware/dpu.md#look-up-table): LE spans
// -16384..0, LO 0..16384, each 512 steps of 32, and a linear interpolation between two entries.
//
// Value q is looked up at x = q * 128 + 64. Four steps belong to each value, their entries are equal, and x
// is where the third begins: from 64 below x to 32 above it the table is flat. So neither the rounding of the
// interpolation, nor an index off by one entry, nor what was measured to be wrong next to x = 0 and at the
// ends of the tables, changes a result. Entries are 64 * (output + 129), above 0 like all that were measured
// (entries of 0 were wrong in fp16); OUT_CVT divides and subtracts again, without a tie to round.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace peraxis::rk3588 {

inline constexpr int64_t kLookUpEntries = 513;
inline constexpr int kLookUpSelect = 5;         // log2 of a step
inline constexpr int32_t kLookUpReach = 16384;  // LE starts at minus this, LO ends at it
inline constexpr int32_t kLookUpFactor = 128, kLookUpAddend = 64;
inline constexpr int32_t kLookUpShift = 6, kLookUpOffset = -129;         // of OUT_CVT
inline constexpr int64_t kLookUpSteps = kLookUpFactor >> kLookUpSelect;  // that belong to one value

struct LookUpTable {
  std::array<int16_t, kLookUpEntries> le{}, lo{};
  bool operator==(const LookUpTable&) const = default;
};

// `outputs[q + 128]` is the output for the input value q.
inline LookUpTable look_up_table(const std::array<int8_t, 256>& outputs) {
  LookUpTable table;
  for (int64_t i = 0; i < kLookUpEntries; ++i) {
    // The last entry of each table closes the last value's steps.
    const auto value = static_cast<size_t>(std::min<int64_t>(i / kLookUpSteps, 127));
    const auto at = static_cast<size_t>(i);
    table.le[at] = static_cast<int16_t>((outputs[value] - kLookUpOffset) * (1 << kLookUpShift));
    table.lo[at] = static_cast<int16_t>((outputs[value + 128] - kLookUpOffset) * (1 << kLookUpShift));
  }
  return table;
}

}  // namespace peraxis::rk3588
