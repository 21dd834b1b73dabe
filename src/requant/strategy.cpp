#include "requant/strategy.hpp"

#include <array>
#include <limits>

#include "num/rounding.hpp"

namespace peraxis::requant {
namespace {

struct Entry {
  const char* name;
  const char* sentence;
};
constexpr std::array kEntries = {
#define PERAXIS_STRATEGY(identifier, name, function, sentence) Entry{name, sentence},
#include "requant/strategies.def"
#undef PERAXIS_STRATEGY
};

}  // namespace

const char* strategy_name(Strategy strategy) {
  return kEntries[static_cast<size_t>(strategy)].name;
}
const char* strategy_sentence(Strategy strategy) {
  return kEntries[static_cast<size_t>(strategy)].sentence;
}

std::optional<Strategy> strategy_from_name(std::string_view name) {
  for (size_t i = 0; i < kEntries.size(); ++i)
    if (name == kEntries[i].name) return static_cast<Strategy>(i);
  return std::nullopt;
}

std::vector<Strategy> all_strategies() {
  std::vector<Strategy> all;
  all.reserve(kEntries.size());
  for (size_t i = 0; i < kEntries.size(); ++i) all.push_back(static_cast<Strategy>(i));
  return all;
}

Result<LayerParams> choose_parameters(const Layer& layer, Strategy strategy, const StrategyOptions& options) {
  if (options.group_size < 1)
    return fail(ErrorCode::InvalidArgument, "group size {} is below 1", options.group_size);
  switch (strategy) {
#define PERAXIS_STRATEGY(identifier, name, function, sentence) \
  case Strategy::identifier:                                   \
    return function(layer, options);
#include "requant/strategies.def"
#undef PERAXIS_STRATEGY
  }
  return fail(ErrorCode::Internal, "strategy {} is not known", static_cast<int>(strategy));
}

Status require_no_wrap(const Layer& layer) {
  for (size_t c = 0; c < layer.channels.size(); ++c)
    if (layer.channels[c].wraps)
      return fail(ErrorCode::Unsupported,
                  "channel {} can reach {} in its accumulator with multiplier {:.6g}: the reference wraps at "
                  "32 bits, the chip saturates",
                  c, layer.channels[c].acc_max(), layer.channels[c].multiplier);
  return {};
}

bool stays_in_int32(const Channel& channel, const ChannelParams& params, const rk3588::DpuParams& dpu) {
  const int64_t reach_min = params.drop_weights ? 0 : channel.raw_min;
  const int64_t reach_max = params.drop_weights ? 0 : channel.raw_max;
  for (const int64_t raw : {reach_min, reach_max}) {
    const int64_t sum = raw + params.a;
    if (raw != num::saturate_int32(raw) || sum != num::saturate_int32(sum)) return false;
    if (!dpu.multiply) continue;
    const int64_t v = num::shift_ties_even(sum * factor_of(dpu, params), dpu.bs_shift);
    if (v != num::saturate_int32(v) || v + dpu.bn_addend != num::saturate_int32(v + dpu.bn_addend))
      return false;
  }
  return true;
}

Result<ChannelParams> require_constant(const Layer& layer, int32_t c, const rk3588::DpuParams& dpu) {
  const int32_t value = layer.channels[static_cast<size_t>(c)].constant_value;
  ChannelParams params;
  if (!constant_params(value, dpu, params))
    return fail(ErrorCode::Unsupported, "channel {} is constant {} and cannot be written with this gain", c,
                value);
  return params;
}

HostWork host_work_of(const Layer& layer, const std::vector<ChannelSet>& sets) {
  return sets.size() == 1 && sets[0].channels.size() == layer.channels.size() ? HostWork::None
                                                                              : HostWork::Gather;
}

}  // namespace peraxis::requant
