// LOG_SOFTMAX along the last dimension. 8 bits, in fixed point: the sum of exponentials as in SOFTMAX, its
// logarithm, and the differences to the row's maximum less that logarithm, in units of 1/16.
#include <bit>

#include "kernels/elements.hpp"
#include "kernels/reference/exponentials.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

constexpr int kLogIntegerBits = kDifferenceIntegerBits;  // of the logarithm, Q5.26
constexpr int kPowerIntegerBits = kLogIntegerBits + 1;   // of the power of two before it, Q6.25
constexpr int kOutputShift = 31 - kLogIntegerBits - 4;   // the output's scale is 2^-4

int32_t half_sum(int32_t a, int32_t b) {
  const int64_t sum = int64_t{a} + b;
  return static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
}
int32_t saturated_sum(int64_t v) {
  return static_cast<int32_t>(
      num::saturate(v, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

// log(v) in Q5.26 of v >= 1 in Q12.19: v is 2^n times a value near sqrt(1/2), taken with and without a factor
// sqrt(1/2), of which the smaller value and the larger power win; the rest is a quotient of polynomials.
int32_t log_of(int32_t v) {
  constexpr int32_t kLog2 = 1488522236, kRootHalf = 1518500250, kFourthRootHalf = 1805811301;
  constexpr int32_t kN = 117049297, kD = 127690142, kI = 1057819769, kF = 638450708;
  constexpr int32_t kQuarter = 1 << 23;  // Q6.25
  const auto power = [](int bits) {
    return saturating_left_shift(kAccumulatorIntegerBits - bits, 31 - kPowerIntegerBits);
  };
  const int zeros = std::countl_zero(static_cast<uint32_t>(v));
  const int32_t first = saturating_left_shift(high_mul(saturating_left_shift(v, zeros - 1), kRootHalf), 1);
  const int32_t first_power = saturated_sum(int64_t{power(zeros)} + kQuarter);
  const int free = std::countl_zero(static_cast<uint32_t>(high_mul(v, kRootHalf))) - 1;
  const int32_t second = saturating_left_shift(v, free);
  const int32_t second_power = saturated_sum(int64_t{power(free)} - kQuarter);
  const int32_t rest = std::min(first, second);
  const int32_t p = half_sum(rest, kFourthRootHalf);
  const int32_t difference = wrapping_subtract(rest, kFourthRootHalf);
  const int32_t q = wrapping_add(difference, difference);
  const int32_t square = high_mul(q, q);
  const int32_t numerator = wrapping_add(high_mul(q, rest), high_mul(high_mul(q, square), kN));
  const int32_t denominator =
      wrapping_add(high_mul(p, wrapping_add(wrapping_add(kI, q), high_mul(kD, square))), high_mul(kF, q));
  const auto scaled = static_cast<int32_t>(num::shift_ties_away(numerator, kPowerIntegerBits));
  const int32_t sum = wrapping_add(high_mul(std::max(first_power, second_power), kLog2),
                                   high_mul(scaled, reciprocal_of_one_plus(denominator)));
  return saturating_left_shift(sum, kPowerIntegerBits - kLogIntegerBits);
}

struct LogScaling {
  Scaling forward;
  num::Multiplier back;  // from Q5.26 to steps of the input

  int32_t operator()(int32_t difference) const {
    return num::multiply_two_roundings(difference, forward.multiplier);
  }
};

Status byte_log_row(const Context& context, Values in, std::span<uint8_t> out, const LogScaling& scaling) {
  const ir::DataType type = context.input(0).type;
  const ir::StoredRange range = ir::type_range(type);
  const int32_t largest = largest_of(in, type);
  const int32_t sum = PERAXIS_TRY(
      sum_of_exponentials(context, in, largest, scaling.forward.lowest, int64_t{1} << 31,
                          [&](int32_t difference) { return exp_of_negative(scaling(difference)); }));
  const int32_t log_sum = log_of(sum);
  const int32_t shifted = wrapping_add(log_sum, std::numeric_limits<int32_t>::min());
  const int32_t lowest =
      std::max(scaling.forward.lowest - 1, num::multiply_two_roundings(shifted, scaling.back));
  for (size_t i = 0; i < in.size(); ++i) {
    const int32_t difference = stored(in[i], type) - largest;
    int64_t value = range.low;
    if (difference > lowest)
      value =
          num::shift_ties_away(wrapping_subtract(scaling(difference), log_sum), kOutputShift) + range.high;
    out[i] = clamp_to_byte(value, range);
  }
  return {};
}

void float_log_row(const Reader<float>& in, const Writer<float>& out, int64_t at, int64_t depth) {
  float largest = std::numeric_limits<float>::lowest();
  for (int64_t i = 0; i < depth; ++i) largest = std::max(largest, in[at + i]);
  float sum = 0.0F;
  for (int64_t i = 0; i < depth; ++i) sum += std::exp(in[at + i] - largest);
  const float log_sum = std::log(sum);
  for (int64_t i = 0; i < depth; ++i) out.set(at + i, in[at + i] - largest - log_sum);
}

}  // namespace

Status log_softmax(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const int64_t depth = context.input(0).shape.back();
  const int64_t total = context.input(0).elements();
  if (context.input(0).type == ir::DataType::Float32) {
    const Reader<float> in(context.inputs[0]);
    const Writer<float> out(context.outputs[0]);
    for (int64_t at = 0; at < total; at += depth) float_log_row(in, out, at, depth);
    return {};
  }
  LogScaling scaling;
  scaling.forward = PERAXIS_TRY(make_scaling(context, 1.0F, context.input(0).quant.scale[0]));
  scaling.back = num::quantize_multiplier(std::ldexp(1.0, 31 - scaling.forward.multiplier.exponent) /
                                          static_cast<double>(scaling.forward.multiplier.mantissa));
  for (int64_t at = 0; at < total; at += depth) {
    const auto first = static_cast<size_t>(at);
    const auto count = static_cast<size_t>(depth);
    PERAXIS_TRY(byte_log_row(context, context.inputs[0].subspan(first, count),
                             context.outputs[0].subspan(first, count), scaling));
  }
  return {};
}

}  // namespace peraxis::kernels::reference
