// What the stages of the DPU have in common: the rounding shift and the cut to 32 bits between stages.
#pragma once

#include <algorithm>
#include <cstdint>

#include "machine/switches.hpp"
#include "num/rounding.hpp"

namespace peraxis::machine {

inline int64_t shift_by(int64_t x, int n, Ties ties, bool away) {
  n = std::min(n, 62);  // operands are below 2^62: a shift by 63 gives the same 0
  if (ties == Ties::Up) return num::shift_ties_up(x, n);
  if (ties == Ties::ByRegister && away) return num::shift_ties_away(x, n);
  return num::shift_ties_even(x, n);
}

inline int64_t cut(int64_t x, int64_t& saturations) {
  const int64_t y = num::saturate_int32(x);
  saturations += x != y ? 1 : 0;
  return y;
}

}  // namespace peraxis::machine
