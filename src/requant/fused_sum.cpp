#include "requant/fused_sum.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "requant/element_output.hpp"

namespace peraxis::requant {
namespace {

constexpr int32_t kValues = 256;

// By stored values of the convolution and of the other operand: what the chip's BN, EW and OUT_CVT make.
std::vector<int8_t> chip_sums(const ElementParams& sum, const TieReading& ties) {
  std::vector<int8_t> table;
  table.reserve(size_t{kValues} * kValues);
  for (int32_t a = -128; a < 128; ++a)
    for (int32_t b = -128; b < 128; ++b)
      table.push_back(static_cast<int8_t>(element_output(sum, a, b, ties)));
  return table;
}

// Over the other operand's values, where the reference's convolution has one output and the chip's another.
struct Difference {
  int32_t count = -1;  // not known yet
  int32_t max = 0;
};

class Sums {
 public:
  Sums(const std::vector<int8_t>& reference, const ElementParams& sum, const TieReading& ties)
      : reference_(reference), chip_(chip_sums(sum, ties)), known_(size_t{kValues} * kValues) {}

  const Difference& at(int32_t wanted, int32_t got) {
    const auto row = [](int32_t q) { return static_cast<size_t>(q + 128) * kValues; };
    Difference& out = known_[row(wanted) + static_cast<size_t>(got + 128)];
    if (out.count >= 0) return out;
    out.count = 0;
    for (size_t b = 0; b < kValues; ++b) {
      const int32_t apart = std::abs(reference_[row(wanted) + b] - chip_[row(got) + b]);
      if (apart != 0) ++out.count;
      out.max = std::max(out.max, apart);
    }
    return out;
  }

 private:
  const std::vector<int8_t>& reference_;
  std::vector<int8_t> chip_;
  std::vector<Difference> known_;
};

// Steps through the accumulators of one channel, from threshold to threshold of both.
Certificate count_channel(const Layer& layer, const Channel& channel, const std::vector<int64_t>& reference,
                          const std::vector<int64_t>& hardware, Sums& sums) {
  Certificate out;
  out.values = channel.acc_max() - channel.acc_min() + 1;
  int64_t pairs = 0;
  size_t r = 0, h = 0;
  for (int64_t at = channel.acc_min(); at <= channel.acc_max();) {
    while (r < reference.size() && reference[r] <= at) ++r;
    while (h < hardware.size() && hardware[h] <= at) ++h;
    int64_t next = channel.acc_max() + 1;
    if (r < reference.size()) next = std::min(next, reference[r]);
    if (h < hardware.size()) next = std::min(next, hardware[h]);
    const Difference& apart =
        sums.at(layer.low + static_cast<int32_t>(r), layer.low + static_cast<int32_t>(h));
    pairs += apart.count * (next - at);
    out.max = std::max(out.max, apart.max);
    at = next;
  }
  out.differing = (pairs + kValues - 1) / kValues;
  return out;
}

constexpr std::array kReadings = {TieReading{}, TieReading{.bs_up = true}, TieReading{.offset_inside = true},
                                  TieReading{.out_even = true}};

// Shares of all pairs: where the sum itself is off, and where a convolution that is one step off shows.
struct Shares {
  double own = 0, shown = 0;
};
Shares shares_of(const Layer& layer, Sums& sums) {
  Shares out;
  const double all = static_cast<double>(layer.high - layer.low + 1) * kValues;
  for (int32_t q = layer.low; q <= layer.high; ++q) {
    out.own += sums.at(q, q).count / all;
    out.shown +=
        (sums.at(q, std::min(q + 1, layer.high)).count + sums.at(q, std::max(q - 1, layer.low)).count) /
        (2 * all);
  }
  return out;
}

}  // namespace

Result<FusedSum> fuse_sum(const Layer& layer, const ElementParams& sum, const std::vector<int8_t>& reference,
                          bool readings) {
  FusedSum out;
  out.params = PERAXIS_TRY(multiply_to_steps(layer));
  out.params.sum = sum;
  const ChannelSet& set = out.params.sets.front();
  out.certificate = certify(layer, out.params, false);
  out.certificate.max_any_reading = 0;
  std::vector<Sums> sums;
  for (const TieReading& reading : kReadings) {
    sums.emplace_back(reference, sum, reading);
    if (!readings) break;
  }
  const Shares shares = shares_of(layer, sums.front());
  for (size_t member = 0; member < set.channels.size(); ++member) {
    const auto c = static_cast<size_t>(set.channels[member]);
    const Channel& channel = layer.channels[c];
    const std::vector<int64_t> wanted = reference_thresholds(layer, channel);
    ChannelCertificate& entry = out.certificate.channels[c];
    for (size_t i = 0; i < sums.size(); ++i) {
      const std::vector<int64_t> got =
          channel_thresholds(layer, channel, set.dpu, set.params[member], kReadings[i]);
      const Certificate counted = count_channel(layer, channel, wanted, got, sums[i]);
      if (i == 0) {
        entry.differing = counted.differing;
        entry.max = counted.max;
        entry.expected = std::min(1.0, entry.expected * shares.shown + shares.own);
      } else if (counted.differing != entry.differing || counted.max != entry.max) {
        out.certificate.every_reading = false;
      }
      out.certificate.max_any_reading = std::max(out.certificate.max_any_reading, counted.max);
    }
  }
  if (const int32_t max = out.certificate.max_any_reading; max > kMostSumDifference)
    return fail(ErrorCode::Unsupported, "it would differ by up to {}, the limit is {}", max,
                kMostSumDifference);
  return out;
}

}  // namespace peraxis::requant
