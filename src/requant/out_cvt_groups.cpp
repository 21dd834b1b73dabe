#include "requant/out_cvt_groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace peraxis::requant {
double largest_multiplier(const Layer& layer, const std::vector<int32_t>& channels) {
  double largest = 0;
  for (const int32_t c : channels) {
    const Channel& channel = layer.channels[static_cast<size_t>(c)];
    if (!channel.constant) largest = std::max(largest, channel.multiplier);
  }
  return largest;
}

void sort_by_multiplier(const Layer& layer, std::vector<int32_t>& channels) {
  std::stable_sort(channels.begin(), channels.end(),
                   [&](int32_t a, int32_t b) { return multiplier_of(layer, a) > multiplier_of(layer, b); });
}

double scale_ratio(const Layer& layer, const std::vector<int32_t>& channels) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const int32_t c : channels) {
    const Channel& channel = layer.channels[static_cast<size_t>(c)];
    if (channel.constant) continue;
    low = std::min(low, channel.multiplier);
    high = std::max(high, channel.multiplier);
  }
  return high > 0 && low > 0 ? high / low : 1.0;
}

double live_multiplier(const Layer& layer) {
  for (const Channel& channel : layer.channels)
    if (!channel.constant) return channel.multiplier;
  return 1.0 / 256;
}

std::vector<std::vector<int32_t>> positional_groups(const Layer& layer, const StrategyOptions& options) {
  std::vector<std::vector<int32_t>> groups;
  for (size_t c = 0; c < layer.channels.size(); ++c) {
    if (c % static_cast<size_t>(options.group_size) == 0) groups.emplace_back();
    groups.back().push_back(static_cast<int32_t>(c));
  }
  return groups;
}

Result<LayerParams> out_cvt_groups(const Layer& layer, Strategy strategy, const StrategyOptions& options,
                                   std::vector<std::vector<int32_t>> groups) {
  return out_cvt_set(layer, strategy, options, std::move(groups), nearest_out_cvt, true);
}

Result<LayerParams> out_cvt_set(const Layer& layer, Strategy strategy, const StrategyOptions& options,
                                std::vector<std::vector<int32_t>> groups,
                                const std::function<OutCvt(double)>& cvt_of, bool ties_away) {
  if (Status ok = require_no_wrap(layer); !ok) return tl::make_unexpected(ok.error());
  LayerParams out;
  out.strategy = strategy;
  out.correction.assign(layer.channels.size(), 1.0);
  bool host_clamps = false, corrects = false;
  for (std::vector<int32_t>& group : groups) {
    std::sort(group.begin(), group.end());
    const double largest = largest_multiplier(layer, group);
    if (largest > 32767)
      return fail(ErrorCode::Unsupported, "multiplier {:.6g} exceeds OUT_CVT's 32767", largest);
    ChannelSet set;
    const OutCvt cvt = cvt_of(largest > 0 ? largest : 1.0);
    set.dpu.ties_away = ties_away;
    set.dpu.out_scale = cvt.scale;
    set.dpu.out_shift = cvt.shift;
    if (!set_activation(layer, set.dpu)) {
      // The bound falls between two OUT_CVT steps; the host's clamp keeps it.
      set.dpu.relu = set.dpu.relux = false;
      set.dpu.bn_addend = 0;
      set.dpu.out_offset = layer.z_out;
      host_clamps = true;
    }
    for (const int32_t c : group) {
      const Channel& channel = layer.channels[static_cast<size_t>(c)];
      ChannelParams params;
      if (!channel.constant || !constant_params(channel.constant_value, set.dpu, params)) {
        int64_t addend = channel.addend;
        if (options.bias_rescale && largest > 0)
          addend += std::llround(static_cast<double>(channel.bias) * (channel.multiplier / largest - 1.0));
        if (addend != static_cast<int32_t>(addend))
          return fail(ErrorCode::Unsupported, "channel {}: addend {} does not fit 32 bits", c, addend);
        params = {static_cast<int32_t>(addend), 0, false};
        if (options.correction && channel.multiplier != largest) {
          out.correction[static_cast<size_t>(c)] = channel.multiplier / largest;
          corrects = true;
        }
      }
      set.channels.push_back(c);
      set.params.push_back(params);
    }
    out.sets.push_back(std::move(set));
  }
  out.host = corrects || host_clamps ? HostWork::Correct : host_work_of(layer, out.sets);
  return out;
}

}  // namespace peraxis::requant
