// Hardware parameters of a set of output channels, what the chip computes with them, and how far that is
// from the reference: counted exactly over every reachable accumulator by comparing thresholds, so the cost
// does not grow with the range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "requant/layer.hpp"
#include "target/rk3588/conv_task.hpp"

namespace peraxis::requant {

struct ChannelParams {
  int32_t a = 0;              // added to the raw sum
  int16_t c = 0;              // factor (with DpuParams::multiply)
  bool drop_weights = false;  // the channel is written as a constant: its weights are zero
};

// Channels that run in one task a tile. `channels` are logical output channels, ascending.
struct ChannelSet {
  std::vector<int32_t> channels;
  std::vector<ChannelParams> params;  // one a channel
  rk3588::DpuParams dpu;
};

// How far a channel is from the reference, over all its reachable accumulators.
struct Certificate {
  int64_t values = 0;     // reachable accumulators
  int64_t differing = 0;  // of those, with another output
  int32_t max = 0;        // largest difference
};

// The factor BS multiplies by: the register's, or the channel's record.
inline int32_t factor_of(const rk3588::DpuParams& dpu, const ChannelParams& params) {
  return dpu.scalar_factor != 0 ? dpu.scalar_factor : params.c;
}

// How the chip breaks ties where that is not known (E1, docs/hardware/dpu.md#guessed). False is what the
// machine model does unless told otherwise.
struct TieReading {
  bool bs_up = false;          // BS: ties upwards instead of to even
  bool offset_inside = false;  // OUT_CVT: the zero point takes part in the tie decision
  bool out_even = false;       // OUT_CVT: CVT_ROUND ignored, ties to even
};

// The output of the DPU for raw sum `raw` (docs/hardware/dpu.md#order-of-the-stages).
int32_t hardware_output(const rk3588::DpuParams& dpu, const ChannelParams& params, int64_t raw,
                        const TieReading& ties = {});

// OUT_CVT: product / 2^shift rounded, the offset added, kept to int8.
int32_t converted(int64_t product, int32_t shift, int32_t offset, bool ties_away,
                  const TieReading& ties = {});

// As reference_thresholds, of the hardware; over x = raw + a rather than the accumulator, unclipped, for
// q = low + 1 .. high. params.c > 0 with multiply.
std::vector<int64_t> hardware_thresholds(const rk3588::DpuParams& dpu, int32_t c, int32_t low, int32_t high,
                                         const TieReading& ties = {});

// Compares two threshold lists over accumulators [acc_min, acc_max].
Certificate compare_thresholds(const std::vector<int64_t>& reference, const std::vector<int64_t>& hardware,
                               int64_t acc_min, int64_t acc_max);

// Thresholds of the hardware over the channel's accumulators, as reference_thresholds.
std::vector<int64_t> channel_thresholds(const Layer& layer, const Channel& channel,
                                        const rk3588::DpuParams& dpu, const ChannelParams& params,
                                        const TieReading& ties = {});

// Certificate of channel `layer.channels[channel]` with the given parameters.
Certificate certify(const Layer& layer, const Channel& channel, const rk3588::DpuParams& dpu,
                    const ChannelParams& params);
// The same for a caller that has the channel's reference_thresholds already.
Certificate certify(const Layer& layer, const Channel& channel, const std::vector<int64_t>& reference,
                    const rk3588::DpuParams& dpu, const ChannelParams& params);

// Fills relu, bn_addend, relux and out_offset so that the layer's activation range is kept
// (docs/hardware/dpu.md#activations). False when the range cannot be expressed exactly with this OUT_CVT.
bool set_activation(const Layer& layer, rk3588::DpuParams& dpu);

// The addend that brings the hardware's thresholds closest to the reference's, weighted towards outputs
// near the zero point: there most activations lie, and an addend centred on the range makes real mismatch
// 2-12 times larger (docs/strategies/hw-multiply.md). Yields params.a = channel.addend + correction.
// False when a does not fit int32.
// `cost`, when given, gets the expected share of differing outputs, up to a factor common to all candidates.
bool choose_addend(const Layer& layer, const Channel& channel, const std::vector<int64_t>& reference,
                   const rk3588::DpuParams& dpu, ChannelParams& params, double* cost = nullptr);

// Parameters that write `value` whatever the input. False when not possible with this OUT_CVT.
bool constant_params(int32_t value, const rk3588::DpuParams& dpu, ChannelParams& params);

// Nearest 15-bit OUT_CVT for a real gain in (0, 32767]: scale * 2^-shift
// (docs/hardware/dpu.md#scales-of-15-bits). The nearest of that range for any other gain.
struct OutCvt {
  int32_t scale = 1, shift = 0;
};
OutCvt nearest_out_cvt(double gain);

}  // namespace peraxis::requant
