// What the strategies without a per-channel multiplier share: channels that go through one OUT_CVT gain, the
// largest of the group, and what is left to correct on the host.
#pragma once

#include "requant/strategy.hpp"

namespace peraxis::requant {

// One set a group, in the order given. Each group's channels need not be ascending.
Result<LayerParams> out_cvt_groups(const Layer& layer, Strategy strategy, const StrategyOptions& options,
                                   std::vector<std::vector<int32_t>> groups);

// Largest ratio of two live multipliers of `channels`; 1 for fewer than two.
double scale_ratio(const Layer& layer, const std::vector<int32_t>& channels);

// Channels by position in runs of options.group_size.
std::vector<std::vector<int32_t>> positional_groups(const Layer& layer, const StrategyOptions& options);

}  // namespace peraxis::requant
