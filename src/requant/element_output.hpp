// What a task of the DPU alone makes of its operands: the arithmetic behind every count of ADD, QUANTIZE and
// their kin.
#pragma once

#include <algorithm>
#include <cstdint>

#include "num/rounding.hpp"
#include "requant/element.hpp"
#include "requant/parameters.hpp"

namespace peraxis::requant {

// Int8-domain values; without an operand `b` is not looked at.
inline int32_t element_output(const ElementParams& e, int32_t a, int32_t b, const TieReading& ties = {}) {
  using Combine = ElementParams::Combine;
  int64_t v = int64_t{a + e.addend} * e.factor + e.constant;
  if (e.prelu_factor != 0 && v < 0)
    v = ties.bs_up ? num::shift_ties_up(v * e.prelu_factor, e.prelu_shift)
                   : num::shift_ties_even(v * e.prelu_factor, e.prelu_shift);
  if (e.relu_first) v = std::max<int64_t>(v, 0);
  if (e.operand_factor != 0) {
    const int64_t w = int64_t{b + e.operand_offset} * e.operand_factor;
    switch (e.combine) {
      case Combine::Add:
        v += w;
        break;
      case Combine::Multiply:
        v *= w;
        break;
      case Combine::Maximum:
        v = std::max(v, w);
        break;
      case Combine::Minimum:
        v = std::min(v, w);
        break;
    }
  }
  if (e.relu) v = std::max<int64_t>(v, 0);
  return converted(v * e.scale, e.shift, e.offset, true, ties);
}

// Sets prelu_factor and prelu_shift: a slope of up to 1 with 14 bits after the point, steeper ones with
// fewer. False when the slope has no factor of 15 bits.
bool set_slope(double slope, ElementParams& params);

}  // namespace peraxis::requant
