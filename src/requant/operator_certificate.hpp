// What is counted of an operator other than a convolution that the NPU runs: it is a function of one or two
// 8-bit values, or of a window's sum, so that every input there is can be compared with the reference.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "requant/parameters.hpp"

namespace peraxis::requant {

struct OperatorCertificate {
  // Combinations of operand values, or sums of windows. 0: nothing can differ, values are moved, compared or
  // looked up.
  int64_t values = 0;
  int64_t differing = 0;  // of those, with another output than the reference
  int32_t max = 0;        // largest difference, LSB
  double expected = 0;    // share of outputs expected to differ
  // False: `max` follows from the sizes of the roundings, and `expected` is an estimate (means of means).
  bool counted = true;
  // As in LayerCertificate.
  bool every_reading = true;
  int32_t max_any_reading = 0;

  bool equal() const { return max == 0; }
};

// How often combinations of operand values were seen on calibration inputs: [a + 128], or
// [(a + 128) * 256 + b + 128] of two activations, int8 domain, `a` the operator's first. Empty: not at all.
using SeenOperands = std::span<const int64_t>;
// The share of the plain count in an expectation of combinations that were seen: one never seen counts too.
inline constexpr double kUnseenShare = 0.1;

// The place of a combination in SeenOperands.
constexpr size_t seen_index(int32_t a) {
  return static_cast<uint8_t>(a + 128);
}
constexpr size_t seen_index(int32_t a, int32_t b) {
  return seen_index(a) * 256 + seen_index(b);
}

// The open readings that can show in a task without a convolution, behind the machine model's own.
inline constexpr std::array kElementReadings = {
    TieReading{}, TieReading{.bs_up = true}, TieReading{.offset_inside = true}, TieReading{.out_even = true}};

// How often an activation of zero point `zero` has the value q, beside others: trained activations crowd at
// the zero point, as in OutputDensity.
inline double crowding(int32_t q, int32_t zero) {
  static const std::array<double, 512> decay = [] {
    std::array<double, 512> t{};
    for (size_t i = 0; i < t.size(); ++i) t[i] = std::exp(-static_cast<double>(i) / kActivationDecay);
    return t;
  }();
  return decay[static_cast<size_t>(std::min(std::abs(q - zero), 511))];
}

struct Combination {
  size_t place = 0;           // in SeenOperands
  double crowding = 1;        // how often it is met, beside others
  int32_t got = 0, want = 0;  // outputs of the task and of the reference
};

// `each(ties, take)` calls take(Combination) for every one. What is expected of inputs nobody has seen is the
// larger of two shares: of all combinations alike, and of combinations that crowd.
template <class Each>
OperatorCertificate count_combinations(const Each& each, SeenOperands seen) {
  struct Share {
    double all = 0, differing = 0;
    void add(double weight, bool differs) {
      all += weight;
      if (differs) differing += weight;
    }
    double value() const { return all > 0 ? differing / all : 0; }
  };
  OperatorCertificate out;
  for (size_t r = 0; r < kElementReadings.size(); ++r) {
    OperatorCertificate now;
    Share crowded, met;
    each(kElementReadings[r], [&](const Combination& c) {
      const int32_t apart = std::abs(c.got - c.want);
      ++now.values;
      now.differing += apart != 0 ? 1 : 0;
      now.max = std::max(now.max, apart);
      crowded.add(c.crowding, apart != 0);
      if (c.place < seen.size()) met.add(static_cast<double>(seen[c.place]), apart != 0);
    });
    if (r == 0) {
      const Share alike{static_cast<double>(now.values), static_cast<double>(now.differing)};
      now.expected = std::max(alike.value(), crowded.value());
      if (met.all > 0) now.expected = kUnseenShare * now.expected + (1 - kUnseenShare) * met.value();
      out = now;
    }
    out.max_any_reading = std::max(out.max_any_reading, now.max);
    out.every_reading = out.every_reading && now.differing == out.differing && now.max == out.max;
  }
  return out;
}

}  // namespace peraxis::requant
