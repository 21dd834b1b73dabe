// L2_NORMALIZATION along the last dimension. 8 bits: an inverse square root in fixed point of the centred
// values' square sum.
#include <cmath>

#include "kernels/elements.hpp"
#include "kernels/reference/fixed_point.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

constexpr int kOutputBits = 7;  // the output's scale is 2^-7

void float_unit_row(const Reader<float>& in, const Writer<float>& out, int64_t at, int64_t depth) {
  constexpr float kLeast = 1e-6F;
  float sum = 0.0F;
  for (int64_t i = 0; i < depth; ++i) {
    const float square = in[at + i] * in[at + i];
    sum += square;
  }
  const float norm = std::max(std::sqrt(sum), kLeast);
  for (int64_t i = 0; i < depth; ++i) out.set(at + i, in[at + i] / norm);
}

template <class T>
void byte_unit_row(const Reader<T>& in, const Writer<T>& out, int64_t at, int64_t depth, int32_t zero_point) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < depth; ++i) {
    const int32_t v = in[at + i] - zero_point;
    sum += static_cast<uint32_t>(v * v);
  }
  const num::Multiplier inverse = inverse_square_root(static_cast<int32_t>(sum));
  for (int64_t i = 0; i < depth; ++i) {
    const int32_t v = in[at + i] - zero_point;
    if constexpr (std::is_same_v<T, int8_t>) {
      const int32_t scaled =
          num::multiply_two_roundings(v, {inverse.mantissa, inverse.exponent + kOutputBits});
      out.set(at + i, clamp_to<T>(scaled, {-128, 127}));
    } else {
      const int32_t high = high_mul(v * (1 << kOutputBits), inverse.mantissa);
      out.set(at + i, clamp_to<T>(num::shift_ties_away(high, -inverse.exponent) + 128, {0, 255}));
    }
  }
}

}  // namespace

Status l2_normalization(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const ir::Tensor& input = context.input(0);
  const int64_t depth = input.shape.back();
  return with_type<float, int8_t, uint8_t>(context, input, [&]<class T>(std::type_identity<T>) -> Status {
    const Reader<T> in(context.inputs[0]);
    const Writer<T> out(context.outputs[0]);
    for (int64_t at = 0; at < input.elements(); at += depth) {
      if constexpr (std::is_same_v<T, float>)
        float_unit_row(in, out, at, depth);
      else
        byte_unit_row<T>(in, out, at, depth, quant_of(input).zero_point);
    }
    return {};
  });
}

}  // namespace peraxis::kernels::reference
