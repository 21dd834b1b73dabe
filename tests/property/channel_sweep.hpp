// What one output channel really gives: every reachable raw sum (or, when there are too many, samples that
// bracket every step) through the reference arithmetic and through the machine model, as runs of equal
// outputs, and the count of differences between two such lines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "accumulator_sweep.hpp"
#include "requant/certificate.hpp"

namespace peraxis::property {

// Outputs over raw sums that were tried, ascending, neighbours with the same output together.
struct Run {
  int64_t first = 0, last = 0;
  int32_t value = 0;
};
class Line {
 public:
  void add(int64_t first, int64_t last, int32_t value) {
    if (!runs_.empty() && runs_.back().last + 1 == first && runs_.back().value == value)
      runs_.back().last = last;
    else
      runs_.push_back({first, last, value});
  }
  const std::vector<Run>& runs() const { return runs_; }
  void clear() { runs_.clear(); }

 private:
  std::vector<Run> runs_;
};

struct Count {
  int64_t differing = 0;
  int32_t max = 0;
  int64_t tried = 0;         // of the values, really computed
  int64_t undetermined = 0;  // gaps between tried values in which an output changes
};
// Output -> what the host makes of it, by q + 128.
using Table = std::array<int8_t, 256>;
// Both lines must have tried the same values. A gap whose two ends agree in both lines is taken to be like
// its ends: neither the reference (unless it wraps) nor the chip ever goes down.
Count count_differences(const Line& observed, const Table& table, const Line& reference);

inline constexpr size_t kReferences = 2;

class ChannelSweep {
 public:
  // The layer under each reference; only rounding and what follows from it may differ.
  ChannelSweep(const std::array<requant::Layer, kReferences>& layers, size_t channel);

  // A way of computing the channel; the same way twice is the same number.
  size_t add(const rk3588::DpuParams& dpu, const requant::ChannelParams& params);

  // Call once all ways are known. Up to `whole_limit` sums: all of them. Else the sums within `margin` of
  // every step of the reference, and those where the parameters say the chip steps.
  void choose_values(int64_t whole_limit, int64_t margin);
  bool whole() const { return whole_; }

  Status sweep(AccumulatorSweep& machine);
  // `count` sums drawn from the whole range, compared with what the sweep says about them.
  Status draw(AccumulatorSweep& machine, int64_t count, uint64_t seed);

  const Line& reference(size_t r) const { return reference_[r]; }
  // Int32 output goes through the runtime's requantization, so it depends on the reference.
  const Line& seen(size_t way, size_t r) const {
    return ways_[way].seen[ways_[way].dpu.int32_output ? r : 0];
  }
  // Empty, or what the machine model gave other than requant::hardware_output says, or what a drawn sum gave
  // other than its surroundings.
  std::string disagreement() const;

 private:
  struct Way {
    rk3588::DpuParams dpu;
    requant::ChannelParams params;
    std::array<Line, kReferences> seen;
  };
  const requant::Channel& channel(size_t r = 0) const { return layers_[r].channels[index_]; }
  int32_t host_value(size_t r, int32_t raw) const;
  Status scan(AccumulatorSweep& machine, const Batch& batch, Way& way);
  Status draw_way(AccumulatorSweep& machine, const Batch& batch, const Way& way);
  template <class Value>
  void compare_drawn(const Batch& batch, const Line& line, const std::string& what, Value&& value);

  const std::array<requant::Layer, kReferences>& layers_;
  size_t index_;
  int64_t first_, last_;  // reachable raw sums
  std::vector<Way> ways_;
  std::vector<int64_t> blocks_;  // first of 32 sums each
  bool whole_ = false;
  std::array<Line, kReferences> reference_;
  std::string drawn_disagreement_;
};

}  // namespace peraxis::property
