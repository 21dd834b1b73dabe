// max-scale: one OUT_CVT gain for all channels, that of the largest multiplier; channels with a smaller one
// come out too large, clip at the ends of int8, and are multiplied down by the host. It shows why per-axis
// models need better (docs/strategies/max-scale.md).
//
// With bias_rescale the bias is brought to the largest scale while the sums stay in their channel's own: a
// published variant, kept to compare with its report. It is wrong for every channel but the largest.
#include <numeric>

#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {

Result<LayerParams> max_scale(const Layer& layer, const StrategyOptions& options) {
  std::vector<int32_t> all(layer.channels.size());
  std::iota(all.begin(), all.end(), 0);
  return out_cvt_groups(layer, Strategy::MaxScale, options, {std::move(all)});
}

}  // namespace peraxis::requant
