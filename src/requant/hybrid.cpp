// hybrid: channel by channel where a layer's scale ratio exceeds hybrid_ratio, positional groups elsewhere.
// (A group's ratio is at most its layer's, so this also bounds every group.)
#include <numeric>

#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {

Result<LayerParams> hybrid(const Layer& layer, const StrategyOptions& options) {
  std::vector<int32_t> all(layer.channels.size());
  std::iota(all.begin(), all.end(), 0);
  const bool wide = scale_ratio(layer, all) > options.hybrid_ratio;
  Result<LayerParams> params = wide ? per_channel(layer, options) : groups(layer, options);
  if (params) params->strategy = Strategy::Hybrid;
  return params;
}

}  // namespace peraxis::requant
