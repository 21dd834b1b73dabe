// What the strategies without a per-channel multiplier share: channels that go through one OUT_CVT gain, the
// largest of the group, and what is left to correct on the host.
#pragma once

#include <functional>
#include <vector>

#include "requant/strategy.hpp"

namespace peraxis::requant {

// One set a group, in the order given. Each group's channels need not be ascending.
Result<LayerParams> out_cvt_groups(const Layer& layer, Strategy strategy, const StrategyOptions& options,
                                   std::vector<std::vector<int32_t>> groups);

// The same with another rule for OUT_CVT: cvt_of(largest multiplier of the group).
Result<LayerParams> out_cvt_set(const Layer& layer, Strategy strategy, const StrategyOptions& options,
                                std::vector<std::vector<int32_t>> groups,
                                const std::function<OutCvt(double)>& cvt_of, bool ties_away);

// Mesa's OUT_CVT for a float32 scale.
OutCvt mesa_out_cvt(float scale);

// Largest ratio of two live multipliers of `channels`; 1 for fewer than two.
double scale_ratio(const Layer& layer, const std::vector<int32_t>& channels);

inline double multiplier_of(const Layer& layer, int32_t c) {
  return layer.channels[static_cast<size_t>(c)].multiplier;
}
// Largest multiplier of the live ones of `channels`; 0 when there are none.
double largest_multiplier(const Layer& layer, const std::vector<int32_t>& channels);
// Largest first; equal ones stay in their order.
void sort_by_multiplier(const Layer& layer, std::vector<int32_t>& channels);

// Multiplier of the first live channel; an ordinary one when every channel is constant.
double live_multiplier(const Layer& layer);

// Channels by position in runs of options.group_size.
std::vector<std::vector<int32_t>> positional_groups(const Layer& layer, const StrategyOptions& options);

}  // namespace peraxis::requant
