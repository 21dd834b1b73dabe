// SOFTMAX along the last axis in fixed point: exponentials of the distance to the row's maximum, their sum
// in Q12.19, one reciprocal a row. The result is always in units of 1/256.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/reference/fixed_point.hpp"
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

}  // namespace

Status softmax(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 1));
  const auto* attributes_of_op = PERAXIS_TRY(attributes<ir::SoftmaxAttributes>(context));
  const ir::Tensor& input = context.input(0);
  const ir::Tensor& output = context.output();
  const Quant x = PERAXIS_TRY(activation_quant(context, input));
  const Quant y = PERAXIS_TRY(activation_quant(context, output));
  if (input.type != output.type || input.shape != output.shape || input.shape.empty()) {
    return fail(ErrorCode::Unsupported,
                "{}: input and output must have one type and one shape of rank 1 or more", context.label());
  }
  if (output.type == ir::DataType::Int8 &&
      (y.zero_point != -128 || std::fabs(y.scale - 1.0F / 256.0F) > 0.001F / 256.0F)) {
    return fail(ErrorCode::Unsupported,
                "{}: output scale {} and zero point {}, only 1/256 and -128 are supported", context.label(),
                y.scale, y.zero_point);
  }
  const Scaling scaling = PERAXIS_TRY(make_scaling(context, attributes_of_op->beta, x.scale));
  const int64_t depth = input.shape.back();
  const auto total = static_cast<int64_t>(context.inputs[0].size());
  for (int64_t at = 0; at < total; at += depth) {
    PERAXIS_TRY(
        softmax_row(context, context.inputs[0].data() + at, context.outputs[0].data() + at, depth, scaling));
  }
  return {};
}

}  // namespace peraxis::kernels::reference
