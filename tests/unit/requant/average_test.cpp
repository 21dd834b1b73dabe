// Parameters of averages, tried for every sum: the DPU's output against LiteRT's own formulas
// (docs/arithmetic.md#average_pool_2d, docs/arithmetic.md#mean), written out here once more.
#include "requant/average.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "num/rounding.hpp"

namespace peraxis::requant {
namespace {

ir::Tensor tensor(ir::DataType type, float scale, int64_t zero_point) {
  ir::Tensor t;
  t.type = type;
  t.quant = {{scale}, {zero_point}, 0};
  return t;
}

int32_t device(const AverageParams& p, int64_t sum) {
  ChannelParams channel;
  channel.a = p.addend;
  return hardware_output(p.dpu, channel, p.weight * sum);
}

// Counts as the certificate does.
template <class Reference>
Certificate brute_force(const AverageGoal& goal, const AverageParams& p, const Reference& reference) {
  Certificate out;
  for (int64_t sum = goal.sum_min(); sum <= goal.sum_max(); ++sum) {
    const int32_t apart = std::abs(device(p, sum) - reference(sum));
    ++out.values;
    out.differing += apart != 0 ? 1 : 0;
    out.max = std::max(out.max, apart);
  }
  return out;
}

TEST(AverageParameters, PoolsAreEqualForEverySum) {
  for (const ir::DataType type : {ir::DataType::Int8, ir::DataType::UInt8})
    for (const int64_t count : {1, 2, 3, 4, 6, 8, 9, 15, 16, 25, 36, 49, 64, 125, 168, 225, 500, 961}) {
      const bool is_uint8 = type == ir::DataType::UInt8;
      const AverageGoal goal = pool_goal(tensor(type, 0.1F, is_uint8 ? 3 : -3), ir::Activation::None, count);
      const auto params = average_parameters(goal);
      ASSERT_TRUE(params) << count;
      const Certificate tried = brute_force(goal, *params, [&](int64_t sum) {
        const int64_t stored = is_uint8 ? sum + 128 * count : sum;
        const double mean = static_cast<double>(stored) / static_cast<double>(count);
        // std::round goes half away from zero, as the reference does; no quotient is near a tie but ties.
        return static_cast<int32_t>(std::round(mean)) - (is_uint8 ? 128 : 0);
      });
      EXPECT_EQ(tried.differing, 0) << count;
      EXPECT_EQ(params->certificate.differing, 0) << count;
      EXPECT_EQ(tried.values, params->certificate.values);
      EXPECT_TRUE(params->every_reading) << count;
    }
}

TEST(AverageParameters, PoolWithRelu) {
  const AverageGoal goal = pool_goal(tensor(ir::DataType::Int8, 0.1F, -17), ir::Activation::Relu, 12);
  EXPECT_EQ(goal.low, -17);
  const auto params = average_parameters(goal);
  ASSERT_TRUE(params);
  const Certificate tried = brute_force(goal, *params, [&](int64_t sum) {
    return std::max<int32_t>(static_cast<int32_t>(std::round(static_cast<double>(sum) / 12)), -17);
  });
  EXPECT_EQ(tried.differing, params->certificate.differing);
  EXPECT_EQ(tried.max, params->certificate.max);
  EXPECT_LE(tried.max, 1);
}

TEST(AverageParameters, MeansAreCounted) {
  int equal = 0, all = 0;
  for (const int64_t count : {2, 9, 49, 100, 196, 400, 961})
    for (const float out_scale : {0.05F, 0.0191F, 0.0235F, 0.4F})
      for (const int64_t zero : {-128, -7, 90}) {
        const ir::Tensor in = tensor(ir::DataType::Int8, 0.0235F, zero);
        const ir::Tensor out = tensor(ir::DataType::Int8, out_scale, zero / 2);
        const AverageGoal goal = mean_goal(in, out, count);
        const auto params = average_parameters(goal);
        ASSERT_TRUE(params);
        // m * 2^k / n with k = floor(log2 n), the mantissa truncated; two roundings.
        num::Multiplier m = num::quantize_multiplier(0.0235F / static_cast<double>(out_scale));
        const int k = static_cast<int>(std::floor(std::log2(count)));
        m = {static_cast<int32_t>((int64_t{m.mantissa} << k) / count), m.exponent - k};
        const Certificate tried = brute_force(goal, *params, [&](int64_t sum) {
          const int32_t steps = num::multiply_two_roundings(static_cast<int32_t>(sum - zero * count), m);
          return static_cast<int32_t>(std::clamp<int64_t>(steps + zero / 2, -128, 127));
        });
        EXPECT_EQ(tried.differing, params->certificate.differing) << count << " " << out_scale;
        EXPECT_EQ(tried.max, params->certificate.max) << count << " " << out_scale;
        EXPECT_LE(tried.max, 1) << count << " " << out_scale;
        equal += tried.differing == 0 ? 1 : 0;
        ++all;
      }
  EXPECT_GT(equal * 2, all);
}

TEST(AverageParameters, Stages) {
  const AverageGoal goal = nearest_goal(529, 0.37 / 529, -128, -128, -128, 127);
  const auto params = average_parameters(goal);
  ASSERT_TRUE(params);
  for (int64_t sum = goal.sum_min(); sum <= goal.sum_max(); ++sum) {
    const double real = static_cast<double>(sum + 128 * 529) * 0.37 / 529 - 128;
    EXPECT_LE(std::abs(device(*params, sum) - std::clamp(real, -128.0, 127.0)), 0.5 + 1e-9) << sum;
  }
}

// docs/hardware/ppu.md#average: without ties the PPU is equal; with an even number of values ties go
// elsewhere.
TEST(PpuAverage, DiffersInTiesOnly) {
  for (const int64_t side : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const int64_t count = side * side;
    const OperatorCertificate c =
        ppu_average(pool_goal(tensor(ir::DataType::Int8, 0.1F, 0), ir::Activation::None, count), side, side);
    EXPECT_EQ(c.values, 255 * count + 1);
    EXPECT_LE(c.max, 1);
    EXPECT_EQ(c.differing == 0, side % 2 == 1) << side;
    // A tie for every output but the last.
    EXPECT_LE(c.differing, 255) << side;
  }
}

}  // namespace
}  // namespace peraxis::requant
