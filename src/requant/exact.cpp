// exact: the task writes its raw int32 sums (OUT_CVT 1/0, BS bypassed) and the host adds the bias and
// requantizes in the reference's own arithmetic. Four times the output bytes and a pass of the CPU, for a
// difference of zero (docs/strategies/exact.md, docs/hardware/core.md#int32-output).
#include <numeric>

#include "requant/strategy.hpp"

namespace peraxis::requant {

Result<LayerParams> exact(const Layer& layer, const StrategyOptions&) {
  LayerParams out;
  out.strategy = Strategy::Exact;
  out.host = HostWork::Requantize;
  ChannelSet set;
  set.dpu.int32_output = true;
  set.channels.resize(layer.channels.size());
  std::iota(set.channels.begin(), set.channels.end(), 0);
  set.params.resize(layer.channels.size());
  out.sets.push_back(std::move(set));
  return out;
}

}  // namespace peraxis::requant
