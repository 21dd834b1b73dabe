// Random layers as the strategies see them, without a graph.
#pragma once

#include <cmath>
#include <random>

#include "requant/strategy.hpp"

namespace peraxis::requant::testing {

struct LayerShape {
  int channels = 8;
  int64_t taps = 64;      // weights a channel
  double log2_high = -6;  // multipliers between 2^low and 2^high
  double log2_low = -11;
  int32_t z_out = -128;
  int32_t low = -128, high = 127;
  Rounding rounding = Rounding::Two;
};

inline Layer random_layer(const LayerShape& shape, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Layer layer;
  layer.label = "conv_2d 0 'random'";
  layer.rounding = shape.rounding;
  layer.z_out = shape.z_out;
  layer.low = shape.low;
  layer.high = shape.high;
  for (int c = 0; c < shape.channels; ++c) {
    Channel channel;
    const double span = shape.log2_high - shape.log2_low;
    channel.multiplier = std::exp2(shape.log2_low + span * static_cast<double>(rng() % 100001) / 100000.0);
    channel.fixed = num::quantize_multiplier(channel.multiplier);
    for (int64_t t = 0; t < shape.taps; ++t) {
      const int64_t w = static_cast<int64_t>(rng() % 255) - 127;
      channel.raw_min += w >= 0 ? -128 * w : 127 * w;
      channel.raw_max += w >= 0 ? 127 * w : -128 * w;
    }
    channel.addend = static_cast<int64_t>(rng() % 20001) - 10000;
    channel.constant_value = reference_output(layer, channel, channel.acc_min());
    channel.constant = channel.constant_value == reference_output(layer, channel, channel.acc_max());
    layer.channels.push_back(channel);
  }
  return layer;
}

}  // namespace peraxis::requant::testing
