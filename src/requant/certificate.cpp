#include "requant/certificate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "num/rounding.hpp"

namespace peraxis::requant {
namespace {

constexpr std::array kOpenReadings = {TieReading{.bs_up = true}, TieReading{.offset_inside = true},
                                      TieReading{.out_even = true}};

// Thresholds of the chip's int8 followed by the host's correction. Neither step ever decreases: an output
// reaches q where the chip reaches the smallest int8 that the correction takes to q.
std::vector<int64_t> corrected_thresholds(const Layer& layer, const Channel& channel,
                                          const rk3588::DpuParams& dpu, const ChannelParams& params,
                                          double ratio, const TieReading& ties) {
  const auto chip_at = [&](int64_t acc) {
    return hardware_output(dpu, params, params.drop_weights ? 0 : acc - channel.addend, ties);
  };
  const int32_t chip_low = chip_at(channel.acc_min()), chip_high = chip_at(channel.acc_max());
  std::vector<int64_t> chip;  // [p + 127]: the accumulator that reaches p, for p = -127..127
  if (chip_low != chip_high) {
    chip = hardware_thresholds(dpu, factor_of(dpu, params), -128, 127, ties);
    for (int64_t& t : chip) t += channel.addend - params.a;
  }
  std::vector<int64_t> thresholds(static_cast<size_t>(layer.high - layer.low));
  int32_t p = -128;
  for (size_t i = 0; i < thresholds.size(); ++i) {
    const int32_t q = layer.low + 1 + static_cast<int32_t>(i);
    while (p <= 127 && num::rescaled(p, layer.z_out, ratio, layer.low, layer.high) < q) ++p;
    if (p <= chip_low)
      thresholds[i] = channel.acc_min();
    else if (p > chip_high)
      thresholds[i] = channel.acc_max() + 1;
    else
      thresholds[i] =
          std::clamp(chip[static_cast<uint8_t>(p + 127)], channel.acc_min(), channel.acc_max() + 1);
  }
  return thresholds;
}

// The share of outputs expected to fall between the two lists' thresholds.
double expected_share(const Layer& layer, const Channel& channel, const std::vector<int64_t>& reference,
                      const std::vector<int64_t>& hardware) {
  const OutputDensity density(layer, channel);
  double share = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const int64_t r = std::clamp(reference[i], channel.acc_min(), channel.acc_max() + 1);
    const int64_t h = std::clamp(hardware[i], channel.acc_min(), channel.acc_max() + 1);
    share += density.at_step(layer.low + 1 + static_cast<int32_t>(i)) *
             std::min(1.0, static_cast<double>(std::abs(r - h)) * channel.multiplier);
  }
  return std::min(1.0, share);
}

struct Work {
  const Layer& layer;
  const LayerParams& params;
  bool readings;
  LayerCertificate& out;

  void channel(const ChannelSet& set, size_t member) const {
    const auto c = static_cast<size_t>(set.channels[member]);
    const Channel& channel = layer.channels[c];
    const std::vector<int64_t> reference = reference_thresholds(layer, channel);
    const auto thresholds = [&](const TieReading& ties) {
      return params.host == HostWork::Correct
                 ? corrected_thresholds(layer, channel, set.dpu, set.params[member], params.correction[c],
                                        ties)
                 : channel_thresholds(layer, channel, set.dpu, set.params[member], ties);
    };
    const std::vector<int64_t> hardware = thresholds({});
    const Certificate certificate =
        compare_thresholds(reference, hardware, channel.acc_min(), channel.acc_max());
    ChannelCertificate& entry = out.channels[c];
    entry.differing = certificate.differing;
    entry.max = certificate.max;
    if (certificate.differing > 0) entry.expected = expected_share(layer, channel, reference, hardware);
    out.max_any_reading = std::max(out.max_any_reading, certificate.max);
    if (!readings) return;
    for (const TieReading& reading : kOpenReadings) {
      const Certificate other =
          compare_thresholds(reference, thresholds(reading), channel.acc_min(), channel.acc_max());
      if (other.differing != certificate.differing || other.max != certificate.max) out.every_reading = false;
      out.max_any_reading = std::max(out.max_any_reading, other.max);
    }
  }
};

}  // namespace

int32_t LayerCertificate::max() const {
  int32_t max = 0;
  for (const ChannelCertificate& channel : channels) max = std::max(max, channel.max);
  return max;
}

double LayerCertificate::values() const {
  double sum = 0;
  for (const ChannelCertificate& channel : channels)
    sum += static_cast<double>(channel.acc_max - channel.acc_min + 1);
  return sum;
}

double LayerCertificate::differing() const {
  double sum = 0;
  for (const ChannelCertificate& channel : channels) sum += static_cast<double>(channel.differing);
  return sum;
}

double LayerCertificate::expected() const {
  double sum = 0;
  for (const ChannelCertificate& channel : channels) sum += channel.expected;
  return channels.empty() ? 0 : sum / static_cast<double>(channels.size());
}

LayerCertificate certify(const Layer& layer, const LayerParams& params, bool readings) {
  LayerCertificate out;
  out.channels.resize(layer.channels.size());
  for (size_t c = 0; c < layer.channels.size(); ++c) {
    out.channels[c].acc_min = layer.channels[c].acc_min();
    out.channels[c].acc_max = layer.channels[c].acc_max();
  }
  // Int32 sums and the host's copy of the reference arithmetic: nothing can differ.
  if (params.host == HostWork::Requantize) return out;
  const Work work{layer, params, readings, out};
  for (const ChannelSet& set : params.sets)
    for (size_t member = 0; member < set.channels.size(); ++member) work.channel(set, member);
  return out;
}

}  // namespace peraxis::requant
