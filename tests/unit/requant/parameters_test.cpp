#include "requant/parameters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cmath>

#include "layers.hpp"
#include "num/rounding.hpp"
#include "requant/element.hpp"

namespace peraxis::requant {
namespace {

using testing::LayerShape;
using testing::random_layer;

// The worked examples of docs/hardware/dpu.md#out_cvt-the-output-converter: scale, shift, rounding, offset.
TEST(HardwareOutput, MatchesTheWorkedExamples) {
  struct Row {
    int64_t a;
    int32_t scale, shift;
    bool away;
    int32_t offset, expected;
  };
  const Row rows[] = {{5, 1, 1, false, 0, 2},
                      {5, 1, 1, true, 0, 3},
                      {-5, 1, 1, false, 0, -2},
                      {-5, 1, 1, true, 0, -3},
                      {7, 1, 1, false, 0, 4},
                      {7, 1, 1, true, 0, 4},
                      {5, 1, 1, false, -3, -1},
                      {-5, 1, 1, false, -3, -5},
                      {7, 1, 1, false, -3, 1},
                      {3000, 20000, 19, false, 0, 114},
                      {3000, 20000, 19, false, -3, 111},
                      {-40000, 32767, 19, false, -3, -128}};
  for (const Row& row : rows) {
    rk3588::DpuParams dpu;
    dpu.out_scale = row.scale;
    dpu.out_shift = row.shift;
    dpu.ties_away = row.away;
    dpu.out_offset = row.offset;
    EXPECT_EQ(hardware_output(dpu, {}, row.a), row.expected) << row.a << " " << row.scale << " " << row.shift;
  }
}

TEST(HardwareOutput, BnAddendReluAndReluxActInThatOrder) {
  rk3588::DpuParams dpu;
  dpu.out_shift = 2;
  dpu.relu = true;
  dpu.bn_addend = 8;
  dpu.relux = true;
  dpu.relux_compare = 40;
  dpu.out_offset = -3;
  EXPECT_EQ(hardware_output(dpu, {}, -20), -3);
  EXPECT_EQ(hardware_output(dpu, {}, -8), -3);
  EXPECT_EQ(hardware_output(dpu, {}, 0), -1);
  EXPECT_EQ(hardware_output(dpu, {}, 1000), 7);
}

class ThresholdTest : public ::testing::TestWithParam<int> {};

TEST_P(ThresholdTest, ReferenceThresholdsAreWhereTheOutputSteps) {
  const uint64_t seed = static_cast<uint64_t>(GetParam());
  LayerShape shape;
  shape.taps = 3 + GetParam() % 20;
  shape.log2_high = GetParam() % 5 == 0 ? 1.0 : -3.0;
  shape.z_out = static_cast<int32_t>(seed * 37 % 256) - 128;
  shape.rounding = static_cast<Rounding>(seed % 3);
  const Layer layer = random_layer(shape, seed);
  for (const Channel& channel : layer.channels) {
    const std::vector<int64_t> thresholds = reference_thresholds(layer, channel);
    size_t passed = 0;
    for (int64_t acc = channel.acc_min(); acc <= channel.acc_max(); ++acc) {
      while (passed < thresholds.size() && thresholds[passed] <= acc) ++passed;
      ASSERT_EQ(layer.low + static_cast<int32_t>(passed), reference_output(layer, channel, acc))
          << "seed " << seed << " acc " << acc;
    }
  }
}

TEST_P(ThresholdTest, CertificateEqualsBruteForce) {
  const uint64_t seed = static_cast<uint64_t>(GetParam()) + 1000;
  LayerShape shape;
  shape.taps = 2 + GetParam() % 30;
  shape.log2_high = GetParam() % 7 == 0 ? 2.0 : -4.0;
  shape.log2_low = GetParam() % 3 == 0 ? -20.0 : -10.0;
  shape.z_out = static_cast<int32_t>(seed * 91 % 256) - 128;
  if (GetParam() % 2 == 0) shape.low = shape.z_out;
  if (GetParam() % 4 == 0) shape.high = std::min(127, shape.z_out + 90);
  shape.rounding = static_cast<Rounding>(seed % 3);
  const Layer layer = random_layer(shape, seed);
  for (const Strategy strategy : {Strategy::HwMultiply, Strategy::ExponentClasses,
                                  Strategy::ExponentClassesTieProof, Strategy::MaxScale}) {
    const Result<LayerParams> params = choose_parameters(layer, strategy);
    ASSERT_TRUE(params) << "seed " << seed << ": " << params.error().text();
    for (const ChannelSet& set : params->sets)
      for (size_t i = 0; i < set.channels.size(); ++i) {
        const Channel& channel = layer.channels[static_cast<size_t>(set.channels[i])];
        Certificate brute;
        for (int64_t acc = channel.acc_min(); acc <= channel.acc_max(); ++acc) {
          const int64_t raw = set.params[i].drop_weights ? 0 : acc - channel.addend;
          int32_t hardware = hardware_output(set.dpu, set.params[i], raw);
          // The host clamps after a correction; a bound between two OUT_CVT steps is its affair alone.
          if (params->host == HostWork::Correct) hardware = std::clamp(hardware, layer.low, layer.high);
          const int32_t difference = std::abs(hardware - reference_output(layer, channel, acc));
          ++brute.values;
          brute.differing += difference != 0 ? 1 : 0;
          brute.max = std::max(brute.max, difference);
        }
        const Certificate certificate = certify(layer, channel, set.dpu, set.params[i]);
        ASSERT_EQ(certificate.values, brute.values);
        ASSERT_EQ(certificate.differing, brute.differing)
            << "seed " << seed << " " << strategy_name(strategy) << " channel " << set.channels[i];
        ASSERT_EQ(certificate.max, brute.max) << "seed " << seed << " " << strategy_name(strategy);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ThresholdTest, ::testing::Range(0, 60));

// LiteRT adds the zero point to stored values and wraps there: uint8 FULLY_CONNECTED far below int32 gives
// -2^31 + z_out, clamped to 0, not a wrap to the top. (LiteRT's BUILTIN_REF gives 0 for such a model.)
TEST(ReferenceOutput, WrapsInStoredValues) {
  Layer layer;
  layer.rounding = Rounding::Double;
  layer.z_out = -128;  // stored zero point 0
  layer.stored_offset = 128;
  Channel channel;
  channel.multiplier = 1.999999881;
  EXPECT_EQ(reference_output(layer, channel, -2147483647), -128);
  layer.rounding = Rounding::Two;
  layer.z_out = 72;  // stored 200: 2^31 - 1 + 200 wraps to the bottom
  channel.multiplier = 0.99999994;
  channel.fixed = num::quantize_multiplier(channel.multiplier);
  EXPECT_EQ(reference_output(layer, channel, 2147483647), -128);
}

TEST(NearestOutCvt, StaysWithinHalfAStepOfTheGain) {
  for (double gain = 1e-12; gain < 3e4; gain *= 1.37) {
    const OutCvt cvt = nearest_out_cvt(gain);
    ASSERT_GE(cvt.scale, 1);
    ASSERT_LE(cvt.scale, 32767);
    ASSERT_GE(cvt.shift, 0);
    ASSERT_LE(cvt.shift, 62);
    if (gain > 1e-10 && gain < 1.0) {
      EXPECT_NEAR(std::ldexp(cvt.scale, -cvt.shift) / gain, 1.0, std::exp2(-15)) << gain;
    }
  }
}

// OUT_CVT with the zero point inside is (product + offset * 2^shift) / 2^shift: up to 70 bits before the
// shift.
TEST(HardwareOutput, TheOffsetInsideIsTheOneOf128Bits) {
  const auto model = [](int64_t product, int shift, int32_t offset, bool away) {
    const num::int128 x = static_cast<num::int128>(product) + (static_cast<num::int128>(offset) << shift);
    if (shift == 0) return num::saturate_int8(static_cast<int64_t>(x));
    const num::int128 unit = static_cast<num::int128>(1) << shift;
    num::int128 floor = x >> shift;
    const num::int128 twice = 2 * (x - floor * unit);
    if (twice > unit || (twice == unit && (away ? x > 0 : (floor & 1) != 0))) ++floor;
    return num::saturate_int8(floor > 1000 ? 1000 : floor < -1000 ? -1000 : static_cast<int64_t>(floor));
  };
  const int64_t largest = int64_t{INT32_MAX} * 32767;
  for (int shift = 0; shift <= 62; ++shift)
    for (const int32_t offset : {-128, -127, -1, 0, 1, 2, 127}) {
      std::vector<int64_t> products{0, 1, -1, largest, -largest - 32767};
      if (shift > 0 && shift < 50)  // ties and their neighbours
        for (const int64_t half : {int64_t{1}, int64_t{-1}, int64_t{3}, int64_t{-5}})
          for (const int64_t near : {-1, 0, 1}) products.push_back(half * (int64_t{1} << (shift - 1)) + near);
      for (const int64_t product : products)
        for (const bool away : {false, true}) {
          EXPECT_EQ(converted(product, shift, offset, away, {.offset_inside = true}),
                    model(product, shift, offset, away))
              << product << " / 2^" << shift << " + " << offset;
          EXPECT_EQ(converted(product, shift, offset, true, {.offset_inside = true, .out_even = true}),
                    model(product, shift, offset, false));
        }
    }
}

TEST(HardwareOutput, TheLargestShiftsOverflowNothing) {
  rk3588::DpuParams dpu;
  dpu.out_scale = 32767;
  for (dpu.out_shift = 57; dpu.out_shift <= 62; ++dpu.out_shift)
    for (dpu.out_offset = -128; dpu.out_offset < 128; dpu.out_offset += 15)
      for (const int64_t raw : {int64_t{INT32_MIN}, int64_t{-1}, int64_t{0}, int64_t{INT32_MAX}})
        // 2^31 * 2^15 is less than half of 2^57: the zero point is left.
        EXPECT_EQ(hardware_output(dpu, {}, raw, {.offset_inside = true}), dpu.out_offset) << dpu.out_shift;
}

// Thresholds after two shifts of 62 bits have more than 128 bits: those no sum reaches stay on their side.
TEST(HardwareThresholds, FarOnesAreBeyondEverySum) {
  for (const int32_t first : {0, 1, 28, 29, 61, 62})
    for (const int32_t second : {0, 1, 30, 61, 62})
      for (const int32_t factor : {1, 3, 32767})
        for (const bool relu : {false, true}) {
          rk3588::DpuParams dpu;
          dpu.multiply = true;
          dpu.bs_shift = first;
          dpu.out_shift = second;
          dpu.out_scale = 3;
          dpu.relu = relu;
          dpu.bn_addend = relu ? INT32_MAX : 0;
          ChannelParams params;
          params.c = static_cast<int16_t>(factor);
          const std::vector<int64_t> thresholds = hardware_thresholds(dpu, factor, -128, 127);
          for (size_t i = 0; i < thresholds.size(); ++i) {
            const int32_t q = -127 + static_cast<int32_t>(i);
            SCOPED_TRACE(fmt::format("{} {} {} {} {}", first, second, factor, relu, q));
            if (i > 0) {
              ASSERT_LE(thresholds[i - 1], thresholds[i]);
            }
            for (const int64_t x :
                 {int64_t{INT32_MIN}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{INT32_MAX}}) {
              if (relu && q <= 0) continue;  // below the bound every sum is at it
              // A sum that saturates on its way is no sum of a layer (stays_in_int32).
              const int64_t v = num::shift_ties_even(x * factor, first);
              if (v != num::saturate_int32(v) || v + dpu.bn_addend != num::saturate_int32(v + dpu.bn_addend))
                continue;
              ASSERT_EQ(x >= thresholds[i], hardware_output(dpu, params, x) >= q) << x;
            }
          }
        }
}

TEST(NearestOutCvt, EveryGainHasOne) {
  for (const double gain : {0.0, -1.0, 1e-300, 1e-30, 32767.4, 1e10, 1e30, 1e300, HUGE_VAL, std::nan("")}) {
    const OutCvt cvt = nearest_out_cvt(gain);
    EXPECT_GE(cvt.scale, 1) << gain;
    EXPECT_LE(cvt.scale, 32767) << gain;
    EXPECT_GE(cvt.shift, 0) << gain;
    EXPECT_LE(cvt.shift, 62) << gain;
    if (gain > 32767) {
      EXPECT_EQ(std::ldexp(cvt.scale, -cvt.shift), 32767) << gain;
    }
  }
}

// 2^32 + 512 in a float: not 512, which is what is left of it in 32 bits.
TEST(ElementParameters, SteepSlopesAreRefused) {
  ir::Graph graph;
  for (const char* name : {"x", "y"}) {
    ir::Tensor t;
    t.name = name;
    t.type = ir::DataType::Int8;
    t.shape = {1, 1, 1, 16};
    t.quant = {{0.1F}, {0}, 0};
    graph.tensors.push_back(t);
  }
  graph.inputs = {0};
  graph.outputs = {1};
  for (const float alpha : {4294967808.0F, -4294967808.0F, 1e10F, 1e38F, HUGE_VALF, std::nanf("")}) {
    graph.ops = {{ir::OpKind::LeakyRelu, {0}, {1}, ir::LeakyReluAttributes{alpha}}};
    const auto params = element_parameters(graph, 0);
    ASSERT_FALSE(params) << alpha;
    EXPECT_EQ(params.error().code, ErrorCode::Unsupported);
  }
  graph.ops = {{ir::OpKind::LeakyRelu, {0}, {1}, ir::LeakyReluAttributes{0.5F}}};
  EXPECT_TRUE(element_parameters(graph, 0));
}

}  // namespace
}  // namespace peraxis::requant
