#include "requant/strategy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "layers.hpp"
#include "requant/out_cvt_groups.hpp"

namespace peraxis::requant {
namespace {

using testing::LayerShape;
using testing::random_layer;

struct Case {
  const char* name;
  LayerShape shape;
};

// Every strategy, on every kind of layer: channels covered once, factors within their fields, and the
// promise of at most 1 LSB for those that make it.
class EveryStrategy : public ::testing::TestWithParam<std::tuple<int, int>> {};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> out;
    auto add = [&](const char* name, auto change) {
      Case c{name, {}};
      c.shape.channels = 40;
      change(c.shape);
      out.push_back(c);
    };
    add("plain", [](LayerShape&) {});
    add("ratio_1", [](LayerShape& s) { s.log2_low = s.log2_high = -8.3; });
    add("ratio_1e3", [](LayerShape& s) { s.log2_low = -16; });
    add("ratio_1e6", [](LayerShape& s) { s.log2_low = -26; });
    add("multipliers_above_one", [](LayerShape& s) {
      s.log2_high = 6;
      s.log2_low = -2;
      s.taps = 9;
    });
    add("relu6_any_zero_point", [](LayerShape& s) {
      s.z_out = -11;
      s.low = -11;
      s.high = 103;
    });
    add("relu_n1_to_1", [](LayerShape& s) {
      s.z_out = 3;
      s.low = -61;
      s.high = 67;
    });
    add("upper_bound_only", [](LayerShape& s) {
      s.z_out = -128;
      s.low = -128;
      s.high = 60;
    });
    add("once", [](LayerShape& s) {
      s.rounding = Rounding::Once;
      s.z_out = 5;
    });
    add("double", [](LayerShape& s) {
      s.rounding = Rounding::Double;
      s.z_out = -5;
    });
    add("long_sums", [](LayerShape& s) {
      s.taps = 9216;
      s.log2_low = -16;
      s.log2_high = -12;
    });
    add("tiny_scales", [](LayerShape& s) {
      s.log2_low = -60;
      s.log2_high = -30;
    });
    return out;
  }();
  return all;
}

// The others clip, or leave the arithmetic to the host.
bool promises_one(Strategy strategy) {
  return strategy == Strategy::HwMultiply || strategy == Strategy::ExponentClasses ||
         strategy == Strategy::ExponentClassesTieProof || strategy == Strategy::TwoScalar;
}

TEST_P(EveryStrategy, CoversEachChannelOnceWithinTheFields) {
  const auto [case_index, strategy_index] = GetParam();
  const Case& c = cases()[static_cast<size_t>(case_index)];
  const auto strategy = static_cast<Strategy>(strategy_index);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Layer layer = random_layer(c.shape, seed * 13 + static_cast<uint64_t>(case_index));
    const Result<LayerParams> params = choose_parameters(layer, strategy);
    if (!params && (strategy == Strategy::TwoScalar || strategy == Strategy::MesaScale)) {
      EXPECT_NE(c.shape.log2_low, c.shape.log2_high) << strategy_name(strategy);
      EXPECT_NE(params.error().message.find("per-axis"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(params) << c.name << " " << strategy_name(strategy) << ": " << params.error().text();
    EXPECT_EQ(params->strategy, strategy);
    std::vector<int> covered(layer.channels.size());
    for (const ChannelSet& set : params->sets) {
      ASSERT_EQ(set.channels.size(), set.params.size());
      ASSERT_TRUE(std::is_sorted(set.channels.begin(), set.channels.end()));
      ASSERT_GE(set.dpu.bs_shift, 0);
      ASSERT_LE(set.dpu.bs_shift, 62);
      ASSERT_GE(set.dpu.out_shift, 0);
      ASSERT_LE(set.dpu.out_shift, 62);
      ASSERT_GE(set.dpu.out_scale, 1);
      ASSERT_LE(set.dpu.out_scale, 32767);
      for (size_t i = 0; i < set.channels.size(); ++i) {
        ++covered[static_cast<size_t>(set.channels[i])];
        const Channel& channel = layer.channels[static_cast<size_t>(set.channels[i])];
        if (!promises_one(strategy)) continue;
        EXPECT_TRUE(stays_in_int32(channel, set.params[i], set.dpu))
            << c.name << " " << strategy_name(strategy);
        EXPECT_LE(certify(layer, channel, set.dpu, set.params[i]).max, 1)
            << c.name << " " << strategy_name(strategy) << " seed " << seed << " channel " << set.channels[i];
      }
    }
    for (const int count : covered) EXPECT_EQ(count, 1);
    EXPECT_EQ(params->host == HostWork::None,
              strategy != Strategy::Exact && params->host != HostWork::Correct && params->sets.size() == 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryStrategy,
                         ::testing::Combine(::testing::Range(0, 12),
                                            ::testing::Range(0, static_cast<int>(all_strategies().size()))),
                         [](const auto& row) {
                           std::string name =
                               std::string(cases()[static_cast<size_t>(std::get<0>(row.param))].name) + "_" +
                               strategy_name(static_cast<Strategy>(std::get<1>(row.param)));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(HwMultiply, OneSetForAnOrdinaryLayer) {
  LayerShape shape;
  shape.channels = 64;
  const Result<LayerParams> params = choose_parameters(random_layer(shape, 1), Strategy::HwMultiply);
  ASSERT_TRUE(params);
  EXPECT_EQ(params->sets.size(), 1U);
  EXPECT_EQ(params->host, HostWork::None);
}

TEST(HwMultiply, SplitsOnlyWhereOneGainExceedsOneStep) {
  LayerShape shape;
  shape.channels = 64;
  shape.taps = 2000;
  shape.log2_low = -27;
  shape.log2_high = -6;
  const Layer layer = random_layer(shape, 2);
  const Result<LayerParams> params = choose_parameters(layer, Strategy::HwMultiply);
  ASSERT_TRUE(params);
  EXPECT_GT(params->sets.size(), 1U);
  EXPECT_EQ(params->host, HostWork::Gather);
}

TEST(ExponentClasses, OneSetForEachExponent) {
  LayerShape shape;
  shape.log2_low = -10.5;
  shape.log2_high = -7.5;
  shape.channels = 100;
  const Layer layer = random_layer(shape, 3);
  const Result<LayerParams> params = choose_parameters(layer, Strategy::ExponentClasses);
  ASSERT_TRUE(params);
  for (const ChannelSet& set : params->sets)
    for (const int32_t c : set.channels)
      EXPECT_EQ(-layer.channels[static_cast<size_t>(c)].fixed.exponent, set.dpu.out_shift);
}

TEST(Settings, DecideGroupsAndCorrection) {
  LayerShape shape;
  shape.channels = 40;
  const Layer layer = random_layer(shape, 6);
  StrategyOptions options;
  options.correction = false;
  Result<LayerParams> params = choose_parameters(layer, Strategy::MaxScale, options);
  ASSERT_TRUE(params);
  EXPECT_EQ(params->host, HostWork::None);  // nothing is corrected, and one set writes everything
  options.group_size = 7;
  params = choose_parameters(layer, Strategy::Groups, options);
  ASSERT_TRUE(params);
  EXPECT_EQ(params->sets.size(), 6U);
  EXPECT_EQ(params->host, HostWork::Gather);
  options = {};
  options.max_ratio = 1.5;
  params = choose_parameters(layer, Strategy::SortedGroups, options);
  ASSERT_TRUE(params);
  for (const ChannelSet& set : params->sets) EXPECT_LE(scale_ratio(layer, set.channels), 1.5);
  options.group_size = 0;
  EXPECT_FALSE(choose_parameters(layer, Strategy::Groups, options));
}

// The note's variant moves the bias to the largest scale: right for that channel alone.
TEST(Settings, BiasRescaleChangesAllButTheLargest) {
  LayerShape shape;
  shape.channels = 3;
  Layer layer = random_layer(shape, 7);
  for (Channel& channel : layer.channels) channel.bias = 8000;
  StrategyOptions options;
  const Result<LayerParams> plain = choose_parameters(layer, Strategy::MaxScale, options);
  options.bias_rescale = true;
  const Result<LayerParams> rescaled = choose_parameters(layer, Strategy::MaxScale, options);
  ASSERT_TRUE(plain && rescaled);
  double largest = 0;
  for (const Channel& channel : layer.channels) largest = std::max(largest, channel.multiplier);
  for (size_t c = 0; c < 3; ++c) {
    const int64_t moved = int64_t{rescaled->sets[0].params[c].a} - plain->sets[0].params[c].a;
    EXPECT_EQ(moved, std::llround(8000 * (layer.channels[c].multiplier / largest - 1.0)));
  }
}

TEST(DeadChannels, AreWrittenAsTheirConstant) {
  LayerShape shape;
  shape.log2_low = shape.log2_high;  // one scale: every strategy can express it
  shape.channels = 4;
  Layer layer = random_layer(shape, 4);
  layer.channels[2].raw_min = layer.channels[2].raw_max = 0;
  layer.channels[2].addend = 12345;
  layer.channels[2].constant = true;
  layer.channels[2].constant_value = reference_output(layer, layer.channels[2], 12345);
  for (const Strategy strategy : all_strategies()) {
    if (strategy == Strategy::Exact) continue;
    const Result<LayerParams> params = choose_parameters(layer, strategy);
    ASSERT_TRUE(params);
    for (const ChannelSet& set : params->sets)
      for (size_t i = 0; i < set.channels.size(); ++i)
        if (set.channels[i] == 2) {
          EXPECT_EQ(hardware_output(set.dpu, set.params[i], 0), layer.channels[2].constant_value)
              << strategy_name(strategy);
        }
  }
}

TEST(Wrapping, IsRefusedByEveryStrategyThatSaturates) {
  Layer layer = random_layer({}, 5);
  layer.channels[1].wraps = true;
  for (const Strategy strategy : all_strategies()) {
    const Result<LayerParams> params = choose_parameters(layer, strategy);
    EXPECT_EQ(params.has_value(), strategy == Strategy::Exact);
    if (!params) {
      EXPECT_NE(params.error().message.find("wraps"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace peraxis::requant
