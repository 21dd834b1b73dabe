// hw-multiply: the chip multiplies every channel by its own 15-bit factor (BRDMA records) before the shared
// OUT_CVT, so one task a tile serves all channels (docs/strategies/hw-multiply.md).
//
//   two roundings   OUT_CVT is a power of two, ties away: the shape of LiteRT's second rounding. LiteRT's
//                   first rounding moves its thresholds outwards by 0.5..1 accumulator counts; an addend per
//                   channel takes that up.
//   one rounding    OUT_CVT's 15-bit scale is free: searched so that all factors come out nearly whole.
//
// The largest factor is as large as 15 bits allow, the first shift as small as the proved 32-bit bound
// allows. A channel that would differ by more than 1 LSB goes to a further set with a gain of its own.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {
namespace {

constexpr int32_t kMaxFactor = 32767;
constexpr int kMaxShift = 62;
constexpr int kGainCandidates = 512;
constexpr size_t kSplitSamples = 32;  // channels looked at for each split of the shift

struct Gain {
  int total_shift = 0;  // bs_shift + out_shift
  int32_t out_scale = 1;
};

double exact_factor(double multiplier, const Gain& gain) {
  return std::ldexp(multiplier, gain.total_shift) / gain.out_scale;
}

// The largest total shift that keeps `largest`'s factor within 15 bits.
Gain gain_for(double largest, int32_t out_scale) {
  int exponent = 0;
  std::frexp(largest / out_scale, &exponent);
  Gain gain{15 - exponent, out_scale};
  while (std::round(exact_factor(largest, gain)) > kMaxFactor) --gain.total_shift;
  return gain;
}

// Searches the OUT_CVT scale whose factors are closest to whole numbers, relative to their size.
Gain search_gain(const Layer& layer, const std::vector<int32_t>& members, double largest) {
  Gain best = gain_for(largest, 16384);
  double best_error = 1e300;
  for (int i = 0; i < kGainCandidates; ++i) {
    const Gain gain = gain_for(largest, 16384 + i * (16384 / kGainCandidates));
    double error = 0;
    for (const int32_t c : members) {
      const double factor = exact_factor(layer.channels[static_cast<size_t>(c)].multiplier, gain);
      error += factor < 0.5 ? 1.0 : std::abs(std::round(factor) - factor) / factor;
    }
    if (error < best_error) {
      best_error = error;
      best = gain;
    }
  }
  return best;
}

// The smallest first shift for which every member's product provably stays in 32 bits.
int smallest_first_shift(const Layer& layer, const std::vector<int32_t>& members, const Gain& gain) {
  double reach = 0;
  for (const int32_t c : members) {
    const Channel& channel = layer.channels[static_cast<size_t>(c)];
    const double factor = std::round(exact_factor(channel.multiplier, gain));
    // Room for the addend search and the RELU_N1_TO_1 shift of the bound.
    const double acc =
        static_cast<double>(std::max(std::abs(channel.acc_min()), std::abs(channel.acc_max()))) + 4096;
    reach = std::max(reach, acc * factor);
  }
  int first = 0;
  while (std::ldexp(reach, -first) >= 1073741824.0 * 1.98) ++first;
  return first;
}

struct Job {
  const Layer& layer;
  std::vector<std::vector<int64_t>> reference;  // thresholds a channel
};

// Parameters of channel c in this set; false when it would differ by more than 1.
bool fit_channel(const Job& job, int32_t c, const Gain& gain, const rk3588::DpuParams& dpu,
                 ChannelParams& params) {
  const Layer& layer = job.layer;
  const Channel& channel = layer.channels[static_cast<size_t>(c)];
  const double factor = std::round(exact_factor(channel.multiplier, gain));
  const std::vector<int64_t>& reference = job.reference[static_cast<size_t>(c)];
  if (factor < 1) {
    // Too small a factor to express: the middle of the outputs it can reach, if that is within 1.
    const int32_t low = reference_output(layer, channel, channel.acc_min());
    const int32_t high = reference_output(layer, channel, channel.acc_max());
    return high - low <= 2 && constant_params((low + high) / 2, dpu, params);
  }
  // The neighbours of the nearest factor are tried too: with two roundings the nearest is not always the
  // best.
  double best_cost = 1e300;
  for (const double candidate : {factor, factor - 1, factor + 1}) {
    if (candidate < 1 || candidate > kMaxFactor) continue;
    ChannelParams trial;
    double cost = 0;
    trial.c = static_cast<int16_t>(candidate);
    if (!choose_addend(layer, channel, reference, dpu, trial, &cost) || cost >= best_cost) continue;
    best_cost = cost;
    params = trial;
  }
  if (best_cost == 1e300) return false;
  if (!stays_in_int32(channel, params, dpu)) return false;
  return certify(layer, channel, reference, dpu, params).max <= 1;
}

// Splits the total shift between BS and OUT_CVT. For one rounding the first is as small as the bound allows.
// For two roundings the split is searched: a second shift equal to LiteRT's exponent repeats its first
// rounding, a larger one leaves it out; which is closer depends on how the layer's exponents are spread.
bool split_shift(const Job& job, const std::vector<int32_t>& members, const Gain& gain,
                 rk3588::DpuParams& dpu) {
  const Layer& layer = job.layer;
  if (gain.total_shift < 0) return false;
  const int out_bits = gain.out_scale == 1 ? 0 : 15;
  int first = std::max(smallest_first_shift(layer, members, gain), gain.total_shift - kMaxShift);
  first = std::min(first, std::max(0, gain.total_shift - out_bits));
  dpu.multiply = true;
  dpu.out_scale = gain.out_scale;
  dpu.ties_away = true;
  auto set_first = [&](int shift) {
    dpu.bs_shift = shift;
    dpu.out_shift = gain.total_shift - shift;
  };
  set_first(first);
  if (first > kMaxShift || dpu.out_shift > kMaxShift) return false;
  if (layer.rounding != Rounding::Two || members.empty()) return true;

  int last = first;  // the first shift at which the smallest exponent's second rounding is repeated
  for (const int32_t c : members)
    last = std::max(last, gain.total_shift + layer.channels[static_cast<size_t>(c)].fixed.exponent);
  last = std::min({last, gain.total_shift, kMaxShift});
  const size_t step = std::max<size_t>(1, members.size() / kSplitSamples);
  double best_cost = 1e300;
  int best = first;
  for (int shift = first; shift <= last; ++shift) {
    set_first(shift);
    if (!set_activation(layer, dpu)) continue;
    double total = 0;
    for (size_t i = 0; i < members.size() && total < best_cost; i += step) {
      const Channel& channel = layer.channels[static_cast<size_t>(members[i])];
      ChannelParams params;
      double cost = 0;
      params.c = static_cast<int16_t>(std::max(1.0, std::round(exact_factor(channel.multiplier, gain))));
      if (choose_addend(layer, channel, job.reference[static_cast<size_t>(members[i])], dpu, params, &cost))
        total += cost;
    }
    if (total < best_cost) {
      best_cost = total;
      best = shift;
    }
  }
  set_first(best);
  return true;
}

ChannelSet make_set(const rk3588::DpuParams& dpu, std::vector<std::pair<int32_t, ChannelParams>> members) {
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  ChannelSet set;
  set.dpu = dpu;
  for (const auto& [c, params] : members) {
    set.channels.push_back(c);
    set.params.push_back(params);
  }
  return set;
}

Status add_constants(const Layer& layer, const std::vector<int32_t>& constants, const rk3588::DpuParams& dpu,
                     std::vector<std::pair<int32_t, ChannelParams>>& members) {
  for (const int32_t c : constants) members.emplace_back(c, PERAXIS_TRY(require_constant(layer, c, dpu)));
  return {};
}

// Gain, shifts and activation for `members`, whose largest multiplier is `largest`.
Result<Gain> fit_gain(const Job& job, const std::vector<int32_t>& members, double largest,
                      rk3588::DpuParams& dpu) {
  const Layer& layer = job.layer;
  Gain gain = layer.rounding == Rounding::Two ? gain_for(largest, 1) : search_gain(layer, members, largest);
  bool expressed = split_shift(job, members, gain, dpu) && set_activation(layer, dpu);
  if (!expressed && gain.out_scale != 1) {
    // A power of two puts every activation bound on a step; its factors are a little coarser.
    gain = gain_for(largest, 1);
    expressed = split_shift(job, members, gain, dpu) && set_activation(layer, dpu);
  }
  if (!expressed)
    return fail(
        ErrorCode::Unsupported,
        "multiplier {:.6g} with activation range {}..{} is outside what a 15-bit factor and two shifts "
        "can express",
        largest, layer.low, layer.high);
  return gain;
}

// Sets for one run of channels: as few as keep every channel within 1 LSB and the ratio within max_ratio.
Status fit_sets(const Job& job, std::vector<int32_t> waiting, std::vector<int32_t> constants,
                double max_ratio, std::vector<ChannelSet>& sets) {
  const Layer& layer = job.layer;
  sort_by_multiplier(layer, waiting);
  do {
    const double largest = waiting.empty() ? 1.0 / 256 : multiplier_of(layer, waiting[0]);
    // Sorted, so that those beyond the ratio are the last.
    const auto beyond = std::find_if(waiting.begin(), waiting.end(), [&](int32_t c) {
      return largest > max_ratio * multiplier_of(layer, c);
    });
    const std::vector<int32_t> now(waiting.begin(), beyond);
    std::vector<int32_t> next;
    rk3588::DpuParams dpu;
    const Gain gain = PERAXIS_TRY(fit_gain(job, now, largest, dpu));
    std::vector<std::pair<int32_t, ChannelParams>> members;
    for (const int32_t c : now) {
      ChannelParams params;
      if (fit_channel(job, c, gain, dpu, params))
        members.emplace_back(c, params);
      else
        next.push_back(c);
    }
    if (members.empty() && !waiting.empty())
      return fail(ErrorCode::Unsupported,
                  "channel {} with multiplier {:.6g} differs by more than 1 LSB with any 15-bit factor",
                  waiting[0], largest);
    PERAXIS_TRY(add_constants(layer, constants, dpu, members));
    constants.clear();
    sets.push_back(make_set(dpu, std::move(members)));
    next.insert(next.end(), beyond, waiting.end());
    waiting = std::move(next);
  } while (!waiting.empty());
  return {};
}

// What the vendor's compiler writes (docs/hardware/dpu_rdma.md#operand-records): factor 2^14 * s / s_max,
// shift 14, OUT_CVT the nearest 15 bits for s_max, ties to even, no addend search. Small channels keep few
// bits.
Status vendor_set(const Layer& layer, const std::vector<int32_t>& live, const std::vector<int32_t>& constants,
                  std::vector<ChannelSet>& sets) {
  const double largest = live.empty() ? 1.0 / 256 : largest_multiplier(layer, live);
  const OutCvt cvt = nearest_out_cvt(largest);
  rk3588::DpuParams dpu;
  dpu.multiply = true;
  dpu.bs_shift = 14;
  dpu.out_scale = cvt.scale;
  dpu.out_shift = cvt.shift;
  dpu.ties_away = false;
  if (!set_activation(layer, dpu))
    return fail(ErrorCode::Unsupported, "the activation range {}..{} does not fall on the gain's steps",
                layer.low, layer.high);
  std::vector<std::pair<int32_t, ChannelParams>> members;
  for (const int32_t c : live) {
    const Channel& channel = layer.channels[static_cast<size_t>(c)];
    ChannelParams params;
    params.c = static_cast<int16_t>(std::lround(channel.multiplier / largest * 16384));
    params.a = static_cast<int32_t>(channel.addend);
    if (params.a != channel.addend || !stays_in_int32(channel, params, dpu))
      return fail(ErrorCode::Unsupported, "channel {}: its sum can leave 32 bits", c);
    members.emplace_back(c, params);
  }
  PERAXIS_TRY(add_constants(layer, constants, dpu, members));
  sets.push_back(make_set(dpu, std::move(members)));
  return {};
}

}  // namespace

Result<LayerParams> multiply_groups(const Layer& layer, Strategy strategy, const StrategyOptions& options,
                                    const std::vector<std::vector<int32_t>>& groups) {
  PERAXIS_TRY(require_no_wrap(layer));
  LayerParams out;
  out.strategy = strategy;
  Job job{layer, {}};
  job.reference.resize(layer.channels.size());
  for (const std::vector<int32_t>& group : groups) {
    std::vector<int32_t> live, constants;
    for (const int32_t c : group) {
      const Channel& channel = layer.channels[static_cast<size_t>(c)];
      (channel.constant ? constants : live).push_back(c);
      if (!channel.constant && !options.vendor)
        job.reference[static_cast<size_t>(c)] = reference_thresholds(layer, channel);
    }
    if (options.vendor)
      PERAXIS_TRY(vendor_set(layer, live, constants, out.sets));
    else
      PERAXIS_TRY(fit_sets(job, std::move(live), std::move(constants), options.max_ratio, out.sets));
  }
  out.host = host_work_of(layer, out.sets);
  return out;
}

Result<LayerParams> multiply_to_steps(const Layer& layer) {
  PERAXIS_TRY(require_no_wrap(layer));
  Job job{layer, {}};
  job.reference.resize(layer.channels.size());
  std::vector<int32_t> live, constants;
  for (size_t c = 0; c < layer.channels.size(); ++c) {
    (layer.channels[c].constant ? constants : live).push_back(static_cast<int32_t>(c));
    if (!layer.channels[c].constant) job.reference[c] = reference_thresholds(layer, layer.channels[c]);
  }
  const double largest = live.empty() ? 1.0 / 256 : largest_multiplier(layer, live);
  const Gain gain = gain_for(largest, 1);
  if (gain.total_shift < 0 || gain.total_shift > kMaxShift)
    return fail(ErrorCode::Unsupported, "multiplier {:.6g} is not a 15-bit factor and a shift of 0 to {}",
                largest, kMaxShift);
  rk3588::DpuParams dpu;
  dpu.multiply = true;
  dpu.bs_shift = gain.total_shift;
  dpu.relu = dpu.relux = true;
  dpu.relux_compare = layer.high - layer.low;
  dpu.out_offset = layer.low;
  std::vector<std::pair<int32_t, ChannelParams>> members;
  for (const int32_t c : live) {
    ChannelParams params;
    if (!fit_channel(job, c, gain, dpu, params))
      return fail(ErrorCode::Unsupported, "channel {} with multiplier {:.6g} differs by more than 1", c,
                  multiplier_of(layer, c));
    members.emplace_back(c, params);
  }
  PERAXIS_TRY(add_constants(layer, constants, dpu, members));
  LayerParams out;
  out.strategy = Strategy::HwMultiply;
  out.sets.push_back(make_set(dpu, std::move(members)));
  return out;
}

Result<LayerParams> hw_multiply(const Layer& layer, const StrategyOptions& options) {
  std::vector<int32_t> all(layer.channels.size());
  std::iota(all.begin(), all.end(), 0);
  return multiply_groups(layer, Strategy::HwMultiply, options, {all});
}

}  // namespace peraxis::requant
