// What SOFTMAX and LOG_SOFTMAX of 8-bit values share: exponentials in Q0.31 of the distances to a row's
// maximum, and their sum in Q12.19.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/context.hpp"
#include "kernels/reference/fixed_point.hpp"

namespace peraxis::kernels::reference {

inline constexpr int kDifferenceIntegerBits = 5;    // of the exponential's argument, Q5.26
inline constexpr int kAccumulatorIntegerBits = 12;  // of the sum, Q12.19

struct Scaling {
  num::Multiplier multiplier;  // exponent > 0
  int32_t lowest = 0;          // differences below this give probability 0
};

inline Result<Scaling> make_scaling(const Context& context, float beta, float input_scale) {
  const double real = std::min(static_cast<double>(beta) * static_cast<double>(input_scale) *
                                   static_cast<double>(1 << (31 - kDifferenceIntegerBits)),
                               2147483647.0);
  if (!(real > 1.0)) {
    return fail(ErrorCode::Unsupported, "{}: beta {} times input scale {} is not above 2^-26",
                context.label(), beta, input_scale);
  }
  const num::Multiplier multiplier = num::quantize_multiplier(real);
  const double radius = static_cast<double>((1 << kDifferenceIntegerBits) - 1) *
                        static_cast<double>(1 << (31 - kDifferenceIntegerBits)) /
                        static_cast<double>(int64_t{1} << multiplier.exponent);
  return Scaling{multiplier, -static_cast<int32_t>(std::floor(radius))};
}

// The largest of a row of stored values.
inline int32_t largest_of(std::span<const uint8_t> row, ir::DataType type) {
  int32_t largest = ir::type_range(type).low;
  for (const uint8_t byte : row) largest = std::max(largest, stored(byte, type));
  return largest;
}

// The sum over a row; `exponential` is of a difference to the largest. Sums from `limit` (Q12.19) on are
// refused.
template <class Exponential>
Result<int32_t> sum_of_exponentials(const Context& context, std::span<const uint8_t> row, int32_t largest,
                                    int32_t lowest, int64_t limit, Exponential exponential) {
  const ir::DataType type = context.input(0).type;
  int64_t sum = 0;
  for (const uint8_t byte : row) {
    const int32_t difference = stored(byte, type) - largest;
    if (difference >= lowest) sum += num::shift_ties_away(exponential(difference), kAccumulatorIntegerBits);
  }
  if (sum < limit) return static_cast<int32_t>(sum);
  return fail(ErrorCode::Unsupported, "{}: a row of {} values is so even that its exponentials sum to {}",
              context.label(), row.size(), limit >> (31 - kAccumulatorIntegerBits));
}

}  // namespace peraxis::kernels::reference
