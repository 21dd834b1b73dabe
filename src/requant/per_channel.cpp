// per-channel: one task for every output channel, each with the OUT_CVT gain of its channel. Nothing clips;
// the price is thousands of tasks, each padded with dummy kernels to the group the chip computes together.
#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {

Result<LayerParams> per_channel(const Layer& layer, const StrategyOptions& options) {
  StrategyOptions single = options;
  single.group_size = 1;
  return out_cvt_groups(layer, Strategy::PerChannel, single, positional_groups(layer, single));
}

}  // namespace peraxis::requant
