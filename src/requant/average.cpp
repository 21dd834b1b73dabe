// Gain and addend have more bits than a convolution's: the weight has 7, the two factors 15 each, and as BS
// does not shift, nothing is rounded before OUT_CVT. The addend moves the sums by fractions 1 / weight of a
// unit. For every output there is a range of addends that put its threshold where the reference has it; what
// all ranges share makes the task equal to the reference.
#include "requant/average.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "num/elementwise.hpp"
#include "num/rounding.hpp"

namespace peraxis::requant {
namespace {

constexpr std::array kWeights = {127, 113, 101, 89, 73, 64, 51, 32, 16, 8, 4, 2, 1};
constexpr int64_t kLargestFactor = 32767, kFactorsTried = 512, kInt32Max = INT32_MAX;
constexpr size_t kKept = 12;  // gains kept for each weight, above and below the true one

int32_t domain_of(const ir::Tensor& t) {
  return t.type == ir::DataType::UInt8 ? 128 : 0;
}

template <class Reference>
void set_thresholds(AverageGoal& goal, const Reference& reference) {
  goal.thresholds.clear();
  int64_t from = goal.sum_min();
  for (int32_t q = goal.low + 1; q <= goal.high; ++q) {
    int64_t end = goal.sum_max() + 1;
    while (from < end) {
      const int64_t middle = from + (end - from) / 2;
      if (reference(middle) >= q)
        end = middle;
      else
        from = middle + 1;
    }
    goal.thresholds.push_back(from);
  }
}

void set_range(AverageGoal& goal, const ir::Tensor& output, ir::Activation activation) {
  const ir::StoredRange range = ir::activation_range(output, activation);
  goal.low = range.low - domain_of(output);
  goal.high = range.high - domain_of(output);
}

struct Trial {
  int32_t weight = 1;
  rk3588::DpuParams dpu;
  double error = 0;  // of the gain, relative
};

bool set_range(const AverageGoal& goal, rk3588::DpuParams& dpu) {
  Layer layer;
  layer.z_out = goal.offset;
  layer.low = goal.low;
  layer.high = goal.high;
  return set_activation(layer, dpu);
}

// The largest |weight * (value - zero)| summed over a window, with room for what the addend is moved by.
int64_t reach(const AverageGoal& goal, int32_t weight) {
  return weight * (goal.count * std::max(127 - goal.zero, goal.zero + 128) + 2);
}

// Nothing rounds but OUT_CVT.
std::vector<Trial> single_roundings(const AverageGoal& goal) {
  std::vector<Trial> all;
  for (const int32_t weight : kWeights) {
    const int64_t most = std::min(kLargestFactor, kInt32Max / reach(goal, weight));
    std::vector<Trial> above, below;
    const int64_t step = std::max<int64_t>(1, most / 2 / kFactorsTried);
    for (int64_t factor = most; factor >= 1 && factor >= most / 2; factor -= step) {
      Trial trial{weight, {}, 0};
      const double gain = goal.gain / static_cast<double>(weight * factor);
      const OutCvt out = nearest_out_cvt(gain);
      trial.dpu.multiply = true;
      trial.dpu.scalar_factor = static_cast<int32_t>(factor);
      trial.dpu.out_scale = out.scale;
      trial.dpu.out_shift = out.shift;
      trial.error = std::ldexp(out.scale, -out.shift) / gain - 1;
      if (set_range(goal, trial.dpu)) (trial.error >= 0 ? above : below).push_back(trial);
    }
    for (std::vector<Trial>* side : {&above, &below}) {
      std::sort(side->begin(), side->end(),
                [](const Trial& a, const Trial& b) { return std::abs(a.error) < std::abs(b.error); });
      all.insert(all.end(), side->begin(),
                 side->begin() + static_cast<std::ptrdiff_t>(std::min(kKept, side->size())));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Trial& a, const Trial& b) { return std::abs(a.error) < std::abs(b.error); });
  return all;
}

// BS rounds as the high multiply does, OUT_CVT as the rounding shift (see exponent_classes.cpp).
std::vector<Trial> double_roundings(const AverageGoal& goal) {
  std::vector<Trial> all;
  if (!goal.two_roundings || goal.two_roundings->exponent > 0 || goal.two_roundings->mantissa == 0)
    return all;
  const double mantissa = std::ldexp(goal.two_roundings->mantissa, -31);
  const int n = -goal.two_roundings->exponent;
  for (const bool tie_proof : {true, false})
    for (const int32_t weight : kWeights) {
      if (kInt32Max / reach(goal, weight) < 1) continue;
      const int shift = static_cast<int>(std::floor(std::log2(kLargestFactor * weight / mantissa)));
      for (const int s : {shift, shift - 1}) {
        Trial trial{weight, {}, 0};
        trial.dpu.multiply = true;
        trial.dpu.scalar_factor = static_cast<int32_t>(std::lround(std::ldexp(mantissa, s) / weight));
        trial.dpu.bs_shift = s;
        trial.dpu.out_scale = tie_proof ? 16385 : 1;
        trial.dpu.out_shift = tie_proof ? n + 14 : n;
        if (s < 1 || s > 40 || trial.dpu.out_shift > 62 || trial.dpu.scalar_factor < 1 ||
            trial.dpu.scalar_factor > kLargestFactor || !set_range(goal, trial.dpu))
          continue;
        all.push_back(trial);
      }
    }
  return all;
}

// Sums at which the chip's output steps, as goal.thresholds.
std::vector<int64_t> sum_thresholds(const AverageGoal& goal, const AverageParams& p, const TieReading& ties) {
  std::vector<int64_t> out =
      hardware_thresholds(p.dpu, p.dpu.scalar_factor, goal.low, goal.high, ties);  // of weight * sum + addend
  for (int64_t& t : out) {
    const int64_t x = t - p.addend;
    const int64_t sum = x >= 0 ? (x + p.weight - 1) / p.weight : -(-x / p.weight);
    t = std::clamp(sum, goal.sum_min(), goal.sum_max() + 1);
  }
  return out;
}

// Sets the addend that serves most outputs, and compares. False when a value could leave 32 bits.
bool fit(const AverageGoal& goal, AverageParams& p) {
  const std::vector<int64_t> steps = hardware_thresholds(p.dpu, p.dpu.scalar_factor, goal.low, goal.high, {});
  int64_t least = INT64_MIN / 8, most = INT64_MAX / 8;
  for (size_t i = 0; i < steps.size(); ++i) {
    const int64_t sum = goal.thresholds[i];
    // weight * (sum - 1) + addend is below the step, weight * sum + addend has reached it.
    if (sum <= goal.sum_max()) least = std::max(least, steps[i] - p.weight * sum);
    if (sum > goal.sum_min()) most = std::min(most, steps[i] - p.weight * (sum - 1) - 1);
  }
  // Near the true offset where a bound is missing; in the middle of what is left otherwise.
  const int64_t plain = -p.weight * goal.count * goal.zero;
  if (least < INT64_MIN / 16) least = std::min(plain, most);
  if (most > INT64_MAX / 16) most = std::max(plain, least);
  const int64_t addend = least + (most - least) / 2;
  const int64_t end =
      std::max(std::abs(p.weight * goal.sum_min() + addend), std::abs(p.weight * goal.sum_max() + addend));
  if (std::abs(addend) > kInt32Max || end > kInt32Max) return false;
  if ((static_cast<num::int128>(end) * p.dpu.scalar_factor >> p.dpu.bs_shift) >= kInt32Max) return false;
  p.addend = static_cast<int32_t>(addend);
  const std::vector<int64_t> sums = sum_thresholds(goal, p, {});
  p.certificate = compare_thresholds(goal.thresholds, sums, goal.sum_min(), goal.sum_max());
  p.every_reading = p.certificate.differing == 0;
  for (int reading = 1; reading < 8 && p.every_reading; ++reading)
    p.every_reading =
        sum_thresholds(goal, p, {(reading & 1) != 0, (reading & 2) != 0, (reading & 4) != 0}) == sums;
  return true;
}

}  // namespace

AverageGoal pool_goal(const ir::Tensor& output, ir::Activation activation, int64_t count) {
  AverageGoal goal;
  goal.count = count;
  goal.gain = 1.0 / static_cast<double>(count);
  const int32_t domain = domain_of(output);
  set_range(goal, output, activation);
  // A lower bound is a ReLU at the output's zero point.
  if (goal.low > -128 || goal.high < 127)
    goal.zero = goal.offset = static_cast<int32_t>(output.quant.zero_point[0]) - domain;
  set_thresholds(goal, [&](int64_t sum) {
    const int64_t stored = sum + domain * count;
    const int64_t mean = (stored > 0 ? stored + count / 2 : stored - count / 2) / count;
    return std::clamp<int64_t>(mean - domain, goal.low, goal.high);
  });
  return goal;
}

AverageGoal mean_goal(const ir::Tensor& input, const ir::Tensor& output, int64_t count) {
  AverageGoal goal;
  goal.count = count;
  const double ratio = static_cast<double>(input.quant.scale[0]) / static_cast<double>(output.quant.scale[0]);
  goal.gain = ratio / static_cast<double>(count);
  goal.zero = static_cast<int32_t>(input.quant.zero_point[0]) - domain_of(input);
  goal.offset = static_cast<int32_t>(output.quant.zero_point[0]) - domain_of(output);
  const num::Multiplier multiplier = num::divided(num::quantize_multiplier(ratio), count);
  goal.two_roundings = multiplier;
  set_thresholds(goal, [&](int64_t sum) {
    const int64_t steps = num::multiply_two_roundings(num::wrap_int32(sum - goal.zero * count), multiplier);
    return std::clamp<int64_t>(steps + goal.offset, goal.low, goal.high);
  });
  return goal;
}

AverageGoal nearest_goal(int64_t count, double gain, int32_t zero, int32_t offset, int32_t low,
                         int32_t high) {
  AverageGoal goal;
  goal.count = count;
  goal.gain = gain;
  goal.zero = zero;
  goal.offset = offset;
  goal.low = low;
  goal.high = high;
  set_thresholds(goal, [&](int64_t sum) {
    const double steps = std::round(static_cast<double>(sum - count * zero) * gain) + offset;
    return std::clamp(steps, static_cast<double>(low), static_cast<double>(high));
  });
  return goal;
}

std::optional<AverageParams> average_parameters(const AverageGoal& goal) {
  std::optional<AverageParams> best;
  const auto rank = [](const AverageParams& p) {
    return std::tuple(p.certificate.max, p.certificate.differing, !p.every_reading);
  };
  for (const auto& trials : {double_roundings(goal), single_roundings(goal)})
    for (const Trial& trial : trials) {
      AverageParams p{trial.weight, 0, trial.dpu, {}, false};
      if (!fit(goal, p) || (best && rank(p) >= rank(*best))) continue;
      best = p;
      if (p.certificate.differing == 0 && p.every_reading) return best;
    }
  return best;
}

OperatorCertificate certify_average(const AverageGoal& goal, const AverageParams& p) {
  OperatorCertificate out;
  for (const TieReading& reading : kElementReadings) {
    const Certificate found =
        compare_thresholds(goal.thresholds, sum_thresholds(goal, p, reading), goal.sum_min(), goal.sum_max());
    out.max_any_reading = std::max(out.max_any_reading, found.max);
    if (out.values == 0) {
      out.values = found.values;
      out.differing = found.differing;
      out.max = found.max;
      out.expected = static_cast<double>(found.differing) / static_cast<double>(found.values);
    } else if (found.differing != out.differing || found.max != out.max) {
      out.every_reading = false;
    }
  }
  return out;
}

OperatorCertificate ppu_average(const AverageGoal& goal, int64_t kernel_w, int64_t kernel_h) {
  constexpr int shift = 32;
  const int64_t factor = (65536 / kernel_w) * (65536 / kernel_h);
  OperatorCertificate worst;
  for (const bool up : {false, true}) {
    OperatorCertificate certificate;
    size_t passed = 0;  // thresholds at or below the sum
    for (int64_t sum = goal.sum_min(); sum <= goal.sum_max(); ++sum) {
      while (passed < goal.thresholds.size() && goal.thresholds[passed] <= sum) ++passed;
      const int64_t size = num::shift_ties_even(std::abs(sum) * factor, shift);
      const int64_t mean = up ? num::shift_ties_up(sum * factor, shift) : (sum < 0 ? -size : size);
      const auto apart = static_cast<int32_t>(
          std::abs(num::saturate_int8(mean) - (goal.low + static_cast<int32_t>(passed))));
      ++certificate.values;
      certificate.differing += apart != 0 ? 1 : 0;
      certificate.max = std::max(certificate.max, apart);
    }
    const auto rank = [](const OperatorCertificate& c) { return std::pair(c.max, c.differing); };
    const bool same = !up || rank(certificate) == rank(worst);
    if (rank(certificate) >= rank(worst)) worst = certificate;
    worst.every_reading = same;
  }
  worst.max_any_reading = worst.max;
  worst.expected = static_cast<double>(worst.differing) / static_cast<double>(worst.values);
  return worst;
}

}  // namespace peraxis::requant
