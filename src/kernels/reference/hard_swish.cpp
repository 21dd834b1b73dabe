// HARD_SWISH in 16-bit fixed point: the input times 128, once brought to steps of 3/2^15 for the gate (which
// saturates at -1 and 1) and once to 128 times the output's steps; the product is truncated.
#include <algorithm>

#include "kernels/reference/unary.hpp"
#include "kernels/registry.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

int32_t saturated32(int64_t x) {
  return static_cast<int32_t>(num::saturate(x, -32768, 32767));
}

// a * b / 2^15, ties towards plus infinity.
int32_t high_mul_16(int32_t a, int32_t b) {
  if (a == -32768 && b == -32768) return 32767;
  const int32_t product = a * b;
  return (product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15);
}

// A 16-bit value / 2^n, ties away from zero; LiteRT's mask of 16 bits is full from n = 16 on.
int32_t shift_16_bits(int32_t value, int n) {
  if (n < 16) return static_cast<int32_t>(num::shift_ties_away(value, n));
  return value < 0 ? -1 : 1;
}

int32_t to_16_bits(int32_t mantissa) {
  return mantissa >= 0x7FFFFFFF - (1 << 15) ? 32767 : (mantissa + (1 << 15)) >> 16;
}

int32_t gate(int32_t value, num::Multiplier multiplier) {
  const int left = multiplier.exponent;
  int32_t r = value;
  if (left > 0) r = saturated32(int64_t{r} << (left - 1));
  r = high_mul_16(r, to_16_bits(multiplier.mantissa));
  if (left > 0) r = saturated32(int64_t{r} * 2);
  if (left < 0) r = shift_16_bits(r, -left);
  return (r + 32768) >> 1;
}

Status quantized_hard_swish(const Context& context) {
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const float fine = x.scale / 128.0F;
  const float output_ratio = fine / y.scale;
  constexpr float kGateStep = 3.0F / 32768.0F;
  const float gate_ratio = fine / kGateStep;
  const num::Multiplier of_output = num::quantize_multiplier(static_cast<double>(output_ratio));
  const num::Multiplier of_gate = num::quantize_multiplier(static_cast<double>(gate_ratio));
  const ir::StoredRange range = ir::type_range(context.output().type);
  if (of_output.exponent > 0) {
    return fail(ErrorCode::Unsupported, "{}: the output scale {} is not above the input's {} / 128",
                context.label(), y.scale, x.scale);
  }
  return apply_table(context, [&](int32_t q) {
    const int32_t value = (q - x.zero_point) * 128;
    const int32_t scaled = high_mul_16(value, to_16_bits(of_output.mantissa));
    const int32_t product = gate(value, of_gate) * scaled / 32768;
    return clamp_to_byte(int64_t{shift_16_bits(product, -of_output.exponent)} + y.zero_point, range);
  });
}

}  // namespace

Status hard_swish(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  if (context.output().type != ir::DataType::Float32) return quantized_hard_swish(context);
  return map_elements<float>(context,
                             [](float x) { return x * std::min(6.0F, std::max(0.0F, x + 3.0F)) / 6.0F; });
}

}  // namespace peraxis::kernels::reference
