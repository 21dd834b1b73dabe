// SOFTMAX along the last axis. float32: exponentials of the C library. int16: two tables. 8 bits, in fixed
// point: exponentials of the distance to the row's maximum, their sum in Q12.19, one reciprocal a row; the
// result is in units of 1/256 whatever the output's scale says.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/reference/fixed_point.hpp"
#include "kernels/reference/float_table.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

constexpr int kDifferenceIntegerBits = 5;    // of the exponential's argument, Q5.26
constexpr int kAccumulatorIntegerBits = 12;  // of the sum, Q12.19

struct Scaling {
  num::Multiplier multiplier;  // exponent > 0
  int32_t lowest = 0;          // differences below this give probability 0
};

Result<Scaling> make_scaling(const Context& context, float beta, float input_scale) {
  const double real = std::min(static_cast<double>(beta) * static_cast<double>(input_scale) *
                                   static_cast<double>(1 << (31 - kDifferenceIntegerBits)),
                               2147483647.0);
  if (!(real > 1.0)) {
    return fail(ErrorCode::Unsupported, "{}: beta {} times input scale {} is not above 2^-26",
                context.label(), beta, input_scale);
  }
  const num::Multiplier multiplier = num::quantize_multiplier(real);
  const double radius = static_cast<double>((1 << kDifferenceIntegerBits) - 1) *
                        static_cast<double>(1 << (31 - kDifferenceIntegerBits)) /
                        static_cast<double>(int64_t{1} << multiplier.exponent);
  return Scaling{multiplier, -static_cast<int32_t>(std::floor(radius))};
}

int32_t exponential(int32_t difference, const Scaling& scaling) {
  const int32_t shifted = num::wrap_int32(int64_t{difference} * (int64_t{1} << scaling.multiplier.exponent));
  return exp_of_negative(high_mul(shifted, scaling.multiplier.mantissa));
}

Status softmax_row(const Context& context, const uint8_t* in, uint8_t* out, int64_t depth,
                   const Scaling& scaling) {
  const ir::DataType type = context.input(0).type;
  const ir::StoredRange range = ir::type_range(type);
  int32_t largest = range.low;
  for (int64_t i = 0; i < depth; ++i) largest = std::max(largest, stored(in[i], type));
  int64_t sum = 0;
  for (int64_t i = 0; i < depth; ++i) {
    const int32_t difference = stored(in[i], type) - largest;
    if (difference < scaling.lowest) continue;
    sum += num::shift_ties_away(exponential(difference, scaling), kAccumulatorIntegerBits);
  }
  // 512 in Q12.19: beyond it the final shift would exceed 31, and LiteRT aborts.
  if (sum >= (int64_t{512} << 19)) {
    return fail(ErrorCode::Unsupported, "{}: a row of {} values is so even that its exponentials sum to 512",
                context.label(), depth);
  }
  const int headroom = std::countl_zero(static_cast<uint32_t>(sum));
  const auto fraction = static_cast<uint32_t>(sum) << headroom;
  const int32_t reciprocal = reciprocal_of_one_plus(static_cast<int32_t>(fraction - 0x80000000U));
  const int shift = kAccumulatorIntegerBits - headroom + 31 - 8;
  for (int64_t i = 0; i < depth; ++i) {
    const int32_t difference = stored(in[i], type) - largest;
    if (difference < scaling.lowest) {
      out[i] = static_cast<uint8_t>(range.low);
      continue;
    }
    const int32_t probability = high_mul(reciprocal, exponential(difference, scaling));
    out[i] = clamp_to_byte(num::shift_ties_away(probability, shift) + range.low, range);
  }
  return {};
}

void float_row(const Reader<float>& in, const Writer<float>& out, int64_t at, int64_t depth, float beta) {
  float largest = std::numeric_limits<float>::lowest();
  for (int64_t i = 0; i < depth; ++i) largest = std::max(largest, in[at + i]);
  std::vector<float> exponentials(static_cast<size_t>(depth));
  float sum = 0.0F;
  for (int64_t i = 0; i < depth; ++i) {
    const float value = std::exp((in[at + i] - largest) * beta);
    exponentials[static_cast<size_t>(i)] = value;
    sum += value;
  }
  for (int64_t i = 0; i < depth; ++i) out.set(at + i, exponentials[static_cast<size_t>(i)] / sum);
}

// The exponential from -10 to 0, and 1 / (1 + x) for x from 0 to 1, as LiteRT tabulates them for int16.
struct Int16Tables {
  std::array<int16_t, 513> exponential, reciprocal;
  num::Multiplier step;
};

Int16Tables int16_tables(const Context& context, float beta) {
  constexpr LinearRange kTwo{2.0 / 65535.0, 0};
  constexpr double kStep = 10.0 / 65535.0;
  const float scale = context.input(0).quant.scale[0] * beta;
  return {make_int16_table<double>({kStep, 32767}, kTwo, [](double x) { return std::exp(x); }),
          make_int16_table<double>({1.0 / 65535.0, -32768}, kTwo, [](double x) { return 1.0 / (1.0 + x); }),
          num::quantize_multiplier(static_cast<double>(scale) / kStep)};
}

void int16_row(const Reader<int16_t>& in, const Writer<int16_t>& out, int64_t at, int64_t depth,
               const Int16Tables& tables) {
  int32_t largest = -32768;
  for (int64_t i = 0; i < depth; ++i) largest = std::max<int32_t>(largest, in[at + i]);
  std::vector<int32_t> exponentials(static_cast<size_t>(depth));
  int64_t sum = 0;
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t steps = int64_t{num::multiply_two_roundings(in[at + i] - largest, tables.step)} + 32767;
    const int32_t value =
        look_up(tables.exponential, static_cast<int32_t>(num::saturate(steps, -32768, 32767)));
    exponentials[static_cast<size_t>(i)] = value;
    sum += value;
  }
  const auto total = static_cast<uint32_t>(sum);
  const int zeros = std::countl_zero(total);
  const auto scaled = static_cast<int32_t>(((total << (zeros - 1)) + (1U << 13)) >>
                                           14);  // 16 bits and more, the first of them set
  const int32_t inverse =
      look_up(tables.reciprocal, static_cast<int32_t>(num::saturate(int64_t{scaled} - 98304, -32768, 32767)));
  const int shift = 31 - zeros;
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t product = int64_t{exponentials[static_cast<size_t>(i)]} * inverse;
    out.set(at + i, static_cast<int16_t>(num::saturate(num::shift_ties_up(product, shift), 0, 32767)));
  }
}

Status softmax_16_bit(const Context& context, float beta, int64_t depth) {
  // A row's exponentials are at most 32767 each.
  if (depth > 65536) {
    return fail(ErrorCode::Unsupported, "{}: rows of {} values; int16 takes at most 65536", context.label(),
                depth);
  }
  const Int16Tables tables = int16_tables(context, beta);
  const Reader<int16_t> in(context.inputs[0]);
  const Writer<int16_t> out(context.outputs[0]);
  for (int64_t at = 0; at < context.output().elements(); at += depth) int16_row(in, out, at, depth, tables);
  return {};
}

}  // namespace

Status softmax(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 1));
  const auto* attributes_of_op = PERAXIS_TRY(attributes<ir::SoftmaxAttributes>(context));
  PERAXIS_TRY(check_rule(context));
  const float beta = attributes_of_op->beta;
  const int64_t depth = context.input(0).shape.back();
  if (context.output().type == ir::DataType::Int16) return softmax_16_bit(context, beta, depth);
  if (context.output().type == ir::DataType::Float32) {
    const Reader<float> in(context.inputs[0]);
    const Writer<float> out(context.outputs[0]);
    for (int64_t at = 0; at < context.output().elements(); at += depth) float_row(in, out, at, depth, beta);
    return {};
  }
  const Scaling scaling = PERAXIS_TRY(make_scaling(context, beta, context.input(0).quant.scale[0]));
  const auto total = static_cast<int64_t>(context.inputs[0].size());
  for (int64_t at = 0; at < total; at += depth) {
    PERAXIS_TRY(
        softmax_row(context, context.inputs[0].data() + at, context.outputs[0].data() + at, depth, scaling));
  }
  return {};
}

}  // namespace peraxis::kernels::reference
