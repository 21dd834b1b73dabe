// Means of windows as one depthwise task whose weights are all the same: AVERAGE_POOL_2D, MEAN. An output is
// a function of the window's sum alone, so that every sum a window can have is compared with the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.hpp"
#include "num/multiplier.hpp"
#include "requant/operator_certificate.hpp"
#include "requant/parameters.hpp"

namespace peraxis::requant {

// The reference's output as a function of the sum of `count` values. All values in the int8 domain.
struct AverageGoal {
  int64_t count = 1;
  double gain = 1;                               // about: (output - offset) / (sum - count * zero)
  int32_t zero = 0, offset = 0;                  // the output is `offset` where all values are `zero`
  int32_t low = -128, high = 127;                // outputs are kept in
  std::optional<num::Multiplier> two_roundings;  // the reference multiplies by it and rounds twice
  // The smallest sum whose output is at least low + 1 + i; sum_max() + 1 where there is none.
  std::vector<int64_t> thresholds;

  int64_t sum_min() const { return -128 * count; }
  int64_t sum_max() const { return 127 * count; }
};

// AVERAGE_POOL_2D over `count` real pixels: half away from zero of the stored values.
AverageGoal pool_goal(const ir::Tensor& output, ir::Activation activation, int64_t count);
// MEAN of `count` values.
AverageGoal mean_goal(const ir::Tensor& input, const ir::Tensor& output, int64_t count);
// (sum - count * zero) * gain + offset, rounded to the nearest: a stage on the way to a mean.
AverageGoal nearest_goal(int64_t count, double gain, int32_t zero, int32_t offset, int32_t low, int32_t high);

// y = DPU(weight * sum + addend), with one factor for all channels.
struct AverageParams {
  int32_t weight = 1;
  int32_t addend = 0;
  rk3588::DpuParams dpu;
  // Against the goal, over all sums.
  Certificate certificate;
  bool every_reading = false;  // equal to the goal, under every open reading of the chip's tie rules
};

// The parameters with the smallest difference; none when the activation range cannot be expressed.
std::optional<AverageParams> average_parameters(const AverageGoal& goal);

// What is proved of parameters found for the goal: all sums count alike.
OperatorCertificate certify_average(const AverageGoal& goal, const AverageParams& params);

// The PPU's average of whole windows (docs/hardware/ppu.md#average) against the goal, under the worse of the
// two readings of its ties.
OperatorCertificate ppu_average(const AverageGoal& goal, int64_t kernel_w, int64_t kernel_h);

}  // namespace peraxis::requant
