// SOFTMAX along the last axis. float32: exponentials of the C library. int16: two tables. 8 bits, in fixed
// point: exponentials of the distance to the row's maximum, their sum in Q12.19, one reciprocal a row; the
// result is in units of 1/256 whatever the output's scale says, or of 1/65536 from -32768 on when the output
// is int16.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/reference/exponentials.hpp"
#include "kernels/reference/float_table.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

int32_t exponential(int32_t difference, const Scaling& scaling) {
  const int32_t shifted = num::wrap_int32(int64_t{difference} * (int64_t{1} << scaling.multiplier.exponent));
  return exp_of_negative(high_mul(shifted, scaling.multiplier.mantissa));
}

// Out is int8, uint8 or, from either of them, int16.
template <class Out>
Status softmax_row(const Context& context, std::span<const uint8_t> in, const Writer<Out>& out, int64_t at,
                   const Scaling& scaling) {
  constexpr int kBits = 8 * sizeof(Out);
  // 512 for 8 bits: beyond it the final shift would exceed 31, and LiteRT aborts. 16 bits fill the sum
  // before.
  constexpr int64_t kLimit = int64_t{1} << (sizeof(Out) == 1 ? 28 : 31);
  const ir::DataType type = context.input(0).type;
  const ir::StoredRange range = ir::type_range(context.output().type);
  const int32_t largest = largest_of(in, type);
  const auto of = [&](int32_t difference) { return exponential(difference, scaling); };
  const int32_t sum = PERAXIS_TRY(sum_of_exponentials(context, in, largest, scaling.lowest, kLimit, of));
  const int headroom = std::countl_zero(static_cast<uint32_t>(sum));
  const auto fraction = static_cast<uint32_t>(sum) << headroom;
  const int32_t reciprocal = reciprocal_of_one_plus(static_cast<int32_t>(fraction - 0x80000000U));
  const int shift = kAccumulatorIntegerBits - headroom + 31 - kBits;
  for (const uint8_t byte : in) {
    const int32_t difference = stored(byte, type) - largest;
    int64_t value = range.low;
    if (difference >= scaling.lowest)
      value += num::shift_ties_away(high_mul(reciprocal, of(difference)), shift);
    out.set(at++, clamp_to<Out>(value, range));
  }
  return {};
}

void float_softmax_row(const Reader<float>& in, const Writer<float>& out, int64_t at, int64_t depth,
                       float beta) {
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
  if (context.input(0).type == ir::DataType::Int16) return softmax_16_bit(context, beta, depth);
  if (context.output().type == ir::DataType::Float32) {
    const Reader<float> in(context.inputs[0]);
    const Writer<float> out(context.outputs[0]);
    for (int64_t at = 0; at < context.output().elements(); at += depth)
      float_softmax_row(in, out, at, depth, beta);
    return {};
  }
  const Scaling scaling = PERAXIS_TRY(make_scaling(context, beta, context.input(0).quant.scale[0]));
  return with_type<int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class Out>(std::type_identity<Out>) -> Status {
        const Writer<Out> out(context.outputs[0]);
        for (int64_t at = 0; at < context.output().elements(); at += depth) {
          const Values row = context.inputs[0].subspan(static_cast<size_t>(at), static_cast<size_t>(depth));
          PERAXIS_TRY(softmax_row(context, row, out, at, scaling));
        }
        return {};
      });
}

}  // namespace peraxis::kernels::reference
