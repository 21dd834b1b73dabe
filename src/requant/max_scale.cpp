// max-scale: one OUT_CVT gain for all channels, that of the largest multiplier; channels with a smaller one
// come out too large, clip at the ends of int8, and are multiplied down by the host. The baseline of the
// research note: it shows why per-axis models need better. corrections.md 5.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "requant/strategy.hpp"

namespace peraxis::requant {

Result<LayerParams> max_scale(const Layer& layer) {
  if (Status ok = require_no_wrap(layer); !ok) return tl::make_unexpected(ok.error());
  double largest = 0;
  for (const Channel& channel : layer.channels)
    if (!channel.constant) largest = std::max(largest, channel.multiplier);
  if (largest > 32767)
    return fail(ErrorCode::Unsupported, "multiplier {:.6g} exceeds OUT_CVT's 32767", largest);

  LayerParams out;
  out.strategy = Strategy::MaxScale;
  ChannelSet set;
  const OutCvt cvt = nearest_out_cvt(largest > 0 ? largest : 1.0);
  set.dpu.out_scale = cvt.scale;
  set.dpu.out_shift = cvt.shift;
  if (!set_activation(layer, set.dpu)) {
    // The bound falls between two OUT_CVT steps; the host's clamp after the correction keeps it.
    set.dpu.relu = set.dpu.relux = false;
    set.dpu.bn_addend = 0;
    set.dpu.out_offset = layer.z_out;
    out.host = HostWork::Correct;
  }
  set.channels.resize(layer.channels.size());
  std::iota(set.channels.begin(), set.channels.end(), 0);
  set.params.resize(layer.channels.size());
  out.correction.assign(layer.channels.size(), 1.0);
  for (size_t c = 0; c < layer.channels.size(); ++c) {
    const Channel& channel = layer.channels[c];
    if (channel.constant && constant_params(channel.constant_value, set.dpu, set.params[c])) continue;
    if (channel.addend != static_cast<int32_t>(channel.addend))
      return fail(ErrorCode::Unsupported, "channel {}: addend {} does not fit 32 bits", c, channel.addend);
    set.params[c].a = static_cast<int32_t>(channel.addend);
    if (channel.multiplier != largest) {
      out.correction[c] = channel.multiplier / largest;
      out.host = HostWork::Correct;
    }
  }
  out.sets.push_back(std::move(set));
  return out;
}

}  // namespace peraxis::requant
