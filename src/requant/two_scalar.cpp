// two-scalar: a layer whose channels share one multiplier gets 30 bits of it from two scalar factors, one in
// BS and one in OUT_CVT (docs/strategies/two-scalar.md). Pairs near the target product are tried and the one
// whose thresholds fit the reference best is taken, so many layers come out without a single differing value.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {
namespace {

constexpr int kWindow = 4096;      // BS factors tried below 32767
constexpr size_t kFinalists = 24;  // pairs whose thresholds are compared

struct Pair {
  int32_t bs = 0, out = 0, total_shift = 0;
  double error = 0;  // relative, of the product
};

std::vector<Pair> best_pairs(double multiplier) {
  std::vector<Pair> pairs;
  for (int32_t bs = 32767; bs > 32767 - kWindow; --bs) {
    int exponent = 0;
    std::frexp(multiplier / bs, &exponent);
    const int shift = 15 - exponent;
    const double exact = std::ldexp(multiplier / bs, shift);
    const double out = std::round(exact);
    if (out > 32767 || shift < 0) continue;
    pairs.push_back({bs, static_cast<int32_t>(out), shift, std::abs(out - exact) / exact});
  }
  const size_t keep = std::min(kFinalists, pairs.size());
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(keep), pairs.end(),
                    [](const Pair& a, const Pair& b) { return a.error < b.error; });
  pairs.resize(keep);
  return pairs;
}

// The smallest BS shift that keeps every channel's product in 32 bits.
int smallest_shift(const Layer& layer, int32_t factor) {
  int64_t reach = 0;
  for (const Channel& channel : layer.channels)
    reach = std::max({reach, std::abs(channel.acc_min()), std::abs(channel.acc_max())});
  int shift = 0;
  while (((reach + 64) * factor >> shift) >= (int64_t{1} << 31) - 2) ++shift;
  return shift;
}

}  // namespace

Result<LayerParams> two_scalar(const Layer& layer, const StrategyOptions&) {
  if (Status ok = require_no_wrap(layer); !ok) return tl::make_unexpected(ok.error());
  std::vector<int32_t> all(layer.channels.size());
  std::iota(all.begin(), all.end(), 0);
  if (scale_ratio(layer, all) != 1.0)
    return fail(ErrorCode::Unsupported,
                "the layer has per-axis scales with ratio {:.4g}; two scalars are one scale",
                scale_ratio(layer, all));
  const double multiplier = live_multiplier(layer);

  std::vector<std::vector<int64_t>> reference(all.size());
  for (size_t c = 0; c < all.size(); ++c)
    if (!layer.channels[c].constant) reference[c] = reference_thresholds(layer, layer.channels[c]);

  LayerParams best;
  double best_cost = 1e300;
  for (const Pair& pair : best_pairs(multiplier)) {
    ChannelSet set;
    set.dpu.multiply = true;
    set.dpu.scalar_factor = pair.bs;
    set.dpu.bs_shift = smallest_shift(layer, pair.bs);
    set.dpu.out_scale = pair.out;
    set.dpu.out_shift = pair.total_shift - set.dpu.bs_shift;
    if (set.dpu.out_shift < 0 || set.dpu.out_shift > 62 || !set_activation(layer, set.dpu)) continue;
    set.channels = all;
    set.params.resize(all.size());
    double cost = 0;
    bool fits = true;
    for (size_t c = 0; c < all.size() && fits && cost < best_cost; ++c) {
      const Channel& channel = layer.channels[c];
      set.params[c].c = static_cast<int16_t>(pair.bs);
      if (channel.constant) {
        fits = constant_params(channel.constant_value, set.dpu, set.params[c]);
        continue;
      }
      double channel_cost = 0;
      fits = choose_addend(layer, channel, reference[c], set.dpu, set.params[c], &channel_cost) &&
             stays_in_int32(channel, set.params[c], set.dpu);
      cost += channel_cost;
    }
    if (!fits || cost >= best_cost) continue;
    best_cost = cost;
    best.sets = {std::move(set)};
  }
  if (best.sets.empty())
    return fail(ErrorCode::Unsupported,
                "multiplier {:.6g} with activation range {}..{} has no pair of 15-bit factors", multiplier,
                layer.low, layer.high);
  best.strategy = Strategy::TwoScalar;
  best.host = HostWork::None;
  return best;
}

}  // namespace peraxis::requant
