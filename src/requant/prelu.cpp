#include "requant/prelu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "num/multiplier.hpp"
#include "requant/element_output.hpp"

namespace peraxis::requant {
namespace {

constexpr int32_t kLargestFactor = 32767;
constexpr int kTries = 24;
constexpr int64_t kReach = 255;  // a value or a slope less its zero point

int32_t domain_of(const ir::Tensor& t) {
  return t.type == ir::DataType::UInt8 ? 128 : 0;
}

// All in the int8 domain.
struct Problem {
  int32_t z_in = 0, z_slope = 0, z_out = 0;
  std::vector<int32_t> slopes;  // that occur
  float above = 0, below = 0;   // output steps a unit of the input, and of input times slope
  double slope_scale = 0;
};

Problem problem(const ir::Tensor& x, const ir::Tensor& slope, const ir::Tensor& y) {
  const auto zero = [](const ir::Tensor& t) {
    return static_cast<int32_t>(t.quant.zero_point[0]) - domain_of(t);
  };
  Problem p{zero(x), zero(slope), zero(y), {}, 0, 0, static_cast<double>(slope.quant.scale[0])};
  p.above = x.quant.scale[0] / y.quant.scale[0];
  const float product = x.quant.scale[0] * slope.quant.scale[0];
  p.below = product / y.quant.scale[0];
  std::array<bool, 256> seen{};
  for (const uint8_t byte : slope.data)
    seen[static_cast<uint8_t>(domain_of(slope) != 0 ? byte : byte ^ 0x80)] = true;
  for (int32_t v = 0; v < 256; ++v)
    if (seen[static_cast<size_t>(v)]) p.slopes.push_back(v - 128);
  return p;
}

// What the tasks make of a value and its slope.
int32_t tasks_output(const std::vector<ElementParams>& tasks, int32_t q, int32_t slope,
                     const TieReading& ties = {}) {
  const int32_t first = element_output(tasks.front(), q, slope, ties);
  return tasks.size() == 1 ? first : element_output(tasks.back(), q, first, ties);
}

// Calls take(value, slope, the reference's output) for every value with every slope that occurs.
template <class Take>
void each_input(const Problem& p, const Take& take) {
  const num::Multiplier above = num::quantize_multiplier(static_cast<double>(p.above));
  const num::Multiplier below = num::quantize_multiplier(static_cast<double>(p.below));
  for (int32_t q = -128; q < 128; ++q)
    for (const int32_t slope : p.slopes) {
      const int32_t v = q - p.z_in;
      const int32_t steps = v >= 0 ? num::multiply_two_roundings(v, above)
                                   : num::multiply_two_roundings(v * (slope - p.z_slope), below);
      take(q, slope, static_cast<int32_t>(std::clamp<int64_t>(int64_t{steps} + p.z_out, -128, 127)));
    }
}

void count(const Problem& p, PreluParams& out) {
  each_input(p, [&](int32_t q, int32_t slope, int32_t want) {
    const int32_t got = tasks_output(out.tasks, q, slope);
    ++out.inputs;
    out.differing += got != want ? 1 : 0;
    out.max = std::max(out.max, std::abs(got - want));
  });
}

// False when OUT_CVT cannot have the gain.
bool set_gain(const Problem& p, double gain, ElementParams& e) {
  if (!(gain > 0) || gain > kLargestFactor) return false;
  const OutCvt out = nearest_out_cvt(gain);
  e.addend = -p.z_in;
  e.scale = out.scale;
  e.shift = out.shift;
  e.offset = p.z_out;
  return e.shift >= 1 && e.shift <= 62;
}

bool one_task(const Problem& p, int32_t f, std::vector<ElementParams>& tasks) {
  ElementParams e;
  if (!set_gain(p, static_cast<double>(p.above) / f, e)) return false;
  e.factor = f;
  const double slope = (p.slopes[0] - p.z_slope) * p.slope_scale;
  if (!set_slope(slope, e)) return false;
  tasks = {e};
  return true;
}

bool two_tasks(const Problem& p, int32_t f, std::vector<ElementParams>& tasks) {
  ElementParams below, above;
  const auto factor = static_cast<int32_t>(std::min<int64_t>(f, INT32_MAX / (kReach * kReach)));
  if (!set_gain(p, static_cast<double>(p.below) / factor, below)) return false;
  below.factor = -factor;  // max(z - x, 0) * -slope
  below.relu_first = true;
  below.combine = ElementParams::Combine::Multiply;
  below.operand_offset = -p.z_slope;
  below.operand_factor = -1;
  const double largest = std::max(static_cast<double>(p.above), 1.0);
  if (!set_gain(p, largest / f, above)) return false;
  above.factor = static_cast<int32_t>(std::lround(static_cast<double>(p.above) / largest * f));
  above.relu_first = true;
  above.operand_offset = -p.z_out;
  above.operand_factor = static_cast<int32_t>(std::lround(f / largest));
  tasks = {below, above};
  return above.operand_factor != 0;
}

}  // namespace

Result<OperatorCertificate> certify_prelu(const ir::Graph& graph, size_t op,
                                          const std::vector<ElementParams>& tasks, SeenOperands seen) {
  const ir::Op& node = graph.ops[op];
  const Problem p =
      problem(graph.tensor(node.inputs[0]), graph.tensor(node.inputs[1]), graph.tensor(node.outputs[0]));
  return count_combinations(
      [&](const TieReading& ties, const auto& take) {
        each_input(p, [&](int32_t q, int32_t slope, int32_t want) {
          take(Combination{seen_index(q), crowding(q, p.z_in), tasks_output(tasks, q, slope, ties), want});
        });
      },
      seen);
}

Result<PreluParams> prelu_parameters(const ir::Graph& graph, size_t op) {
  const ir::Op& node = graph.ops[op];
  const Problem p =
      problem(graph.tensor(node.inputs[0]), graph.tensor(node.inputs[1]), graph.tensor(node.outputs[0]));
  std::optional<PreluParams> best;
  for (int i = 0; i < kTries; ++i) {
    const int32_t f = kLargestFactor - i * (kLargestFactor / 2 / kTries);
    for (const bool one : {true, false}) {
      PreluParams now;
      if (one && p.slopes.size() > 1) continue;
      if (!(one ? one_task(p, f, now.tasks) : two_tasks(p, f, now.tasks))) continue;
      count(p, now);
      if (!best || std::pair(now.max, now.differing) < std::pair(best->max, best->differing)) best = now;
    }
    if (best && best->differing == 0) break;
  }
  if (!best)
    return fail(ErrorCode::Unsupported, "{}: the ratio of the scales leaves OUT_CVT's shift of 1 to 62",
                graph.op_label(op));
  return *best;
}

}  // namespace peraxis::requant
