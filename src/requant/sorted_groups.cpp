// sorted-groups: channels sorted by multiplier before they are grouped, so that a group's ratio is small; a
// group ends at group_size channels or when the ratio would exceed max_ratio. The host puts the channels
// back in their order when it gathers.
#include <algorithm>

#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {

Result<LayerParams> sorted_groups(const Layer& layer, const StrategyOptions& options) {
  std::vector<int32_t> live, constant;
  for (size_t c = 0; c < layer.channels.size(); ++c)
    (layer.channels[c].constant ? constant : live).push_back(static_cast<int32_t>(c));
  sort_by_multiplier(layer, live);
  std::vector<std::vector<int32_t>> sorted;
  for (const int32_t c : live) {
    const bool full =
        sorted.empty() || sorted.back().size() >= static_cast<size_t>(options.group_size) ||
        multiplier_of(layer, sorted.back().front()) > options.max_ratio * multiplier_of(layer, c);
    if (full) sorted.emplace_back();
    sorted.back().push_back(c);
  }
  // Constants fit anywhere: into the last group.
  if (sorted.empty()) sorted.emplace_back();
  sorted.back().insert(sorted.back().end(), constant.begin(), constant.end());
  if (options.multiply) return multiply_groups(layer, Strategy::SortedGroups, options, sorted);
  return out_cvt_groups(layer, Strategy::SortedGroups, options, std::move(sorted));
}

}  // namespace peraxis::requant
