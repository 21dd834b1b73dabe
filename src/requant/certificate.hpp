// What is known in advance about one layer under one strategy: for every channel the accumulators it can
// reach, how many of them give another output than the reference, and by how much at most. Nothing is
// sampled: the at most 256 output thresholds of both are compared, so the counts are exact for the arithmetic
// of the machine model (docs/hardware/dpu.md).
#pragma once

#include <cstdint>
#include <vector>

#include "program/program.hpp"
#include "requant/strategy.hpp"

namespace peraxis::requant {

using program::ChannelCertificate;

struct LayerCertificate {
  std::vector<ChannelCertificate> channels;
  // True when no open reading of the chip's tie rules (TieReading) changes any count.
  bool every_reading = true;
  int32_t max_any_reading = 0;  // largest difference under any of them

  int32_t max() const;
  double values() const;     // sum over the channels; double, since 2^31 a channel adds up
  double differing() const;  // the same
  double expected() const;   // mean over the channels
};

// `layer` and `params` belong together (choose_parameters). What the host does afterwards is included.
// `readings`: also look at the open readings of the tie rules; about four times the work.
LayerCertificate certify(const Layer& layer, const LayerParams& params, bool readings);

}  // namespace peraxis::requant
