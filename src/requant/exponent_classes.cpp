// exponent-classes: LiteRT's two roundings done by the chip's two stages. BS multiplies by the upper 15 bits
// of the mantissa and rounds (the high multiply), OUT_CVT shifts by the exponent and rounds half away (the
// rounding shift). All channels of a task share the exponent, so channels are split by it: usually two to
// four tasks a layer (docs/strategies/exponent-classes.md).
//
// With OUT_CVT scale 1 a fraction 2^-n of all values is an exact tie, so the result depends on the chip's tie
// rule and on where the zero point is added (E1, docs/hardware/dpu.md#guessed). The tie-proof form multiplies
// by 1 + 2^-14 there, which moves every tie outwards.
//
// FULLY_CONNECTED and the single-rounding reference round once: they take hw-multiply's parameters.
#include <algorithm>
#include <cmath>
#include <map>

#include "requant/strategy.hpp"

namespace peraxis::requant {
namespace {

constexpr int kMaxLeftShift = 15;

rk3588::DpuParams class_params(int exponent, bool tie_proof) {
  rk3588::DpuParams dpu;
  dpu.multiply = true;
  dpu.bs_shift = exponent > 0 ? 15 - exponent : 15;
  const int n = exponent > 0 ? 0 : -exponent;
  dpu.out_scale = tie_proof ? 16385 : 1;
  dpu.out_shift = tie_proof ? n + 14 : n;
  dpu.ties_away = true;
  return dpu;
}

Result<LayerParams> by_exponent(const Layer& layer, bool tie_proof) {
  if (Status ok = require_no_wrap(layer); !ok) return tl::make_unexpected(ok.error());
  const Strategy self = tie_proof ? Strategy::ExponentClassesTieProof : Strategy::ExponentClasses;
  if (layer.rounding != Rounding::Two) {
    Result<LayerParams> single = hw_multiply(layer, {});
    if (single) single->strategy = self;
    return single;
  }
  LayerParams out;
  out.strategy = self;
  std::map<int, std::vector<int32_t>> classes;
  std::vector<int32_t> constants;
  for (size_t c = 0; c < layer.channels.size(); ++c) {
    const Channel& channel = layer.channels[c];
    if (channel.constant)
      constants.push_back(static_cast<int32_t>(c));
    else
      classes[channel.fixed.exponent].push_back(static_cast<int32_t>(c));
  }
  if (classes.empty()) classes[-8] = {};
  // Constants ride with the largest class: they cost nothing there.
  auto host = std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  const int constants_class = host->first;
  for (auto& [exponent, members] : classes) {
    if (exponent > kMaxLeftShift)
      return fail(ErrorCode::Unsupported, "multiplier exponent {} exceeds {}: BS cannot shift left", exponent,
                  kMaxLeftShift);
    ChannelSet set;
    set.dpu = class_params(exponent, tie_proof);
    if (!set_activation(layer, set.dpu)) {
      // Only the scale-1 form puts every bound on a step.
      set.dpu = class_params(exponent, false);
      if (!set_activation(layer, set.dpu))
        return fail(ErrorCode::Unsupported, "the activation range {}..{} does not fall on the gain's steps",
                    layer.low, layer.high);
    }
    if (exponent == constants_class) {
      members.insert(members.end(), constants.begin(), constants.end());
      std::sort(members.begin(), members.end());
    }
    for (const int32_t c : members) {
      const Channel& channel = layer.channels[static_cast<size_t>(c)];
      ChannelParams params;
      if (channel.constant) {
        params = PERAXIS_TRY(require_constant(layer, c, set.dpu));
      } else {
        params.c = static_cast<int16_t>(
            std::min<int64_t>(32767, (int64_t{channel.fixed.mantissa} + (1 << 15)) >> 16));
        const std::vector<int64_t> reference = reference_thresholds(layer, channel);
        if (!choose_addend(layer, channel, reference, set.dpu, params) ||
            !stays_in_int32(channel, params, set.dpu))
          return fail(ErrorCode::Unsupported, "channel {}: its sum can leave 32 bits", c);
        if (certify(layer, channel, reference, set.dpu, params).max > 1)
          return fail(ErrorCode::Unsupported, "channel {} with multiplier {:.6g} differs by more than 1 LSB",
                      c, channel.multiplier);
      }
      set.channels.push_back(c);
      set.params.push_back(params);
    }
    out.sets.push_back(std::move(set));
  }
  out.host = host_work_of(layer, out.sets);
  return out;
}

}  // namespace

Result<LayerParams> exponent_classes(const Layer& layer, const StrategyOptions&) {
  return by_exponent(layer, false);
}
Result<LayerParams> exponent_classes_tie_proof(const Layer& layer, const StrategyOptions&) {
  return by_exponent(layer, true);
}

}  // namespace peraxis::requant
