// See fixed_point.hpp for what the steps are; here all products are doubling high multiplications of 16 bits,
// and constants are those of 32 bits rounded to 16.
#include "kernels/reference/gates.hpp"

#include "num/rounding.hpp"

namespace peraxis::kernels::reference {
namespace {

int16_t wrap(int32_t v) {
  return static_cast<int16_t>(static_cast<uint16_t>(static_cast<uint32_t>(v)));
}
int16_t saturate(int64_t v) {
  return static_cast<int16_t>(num::saturate(v, -32768, 32767));
}
int16_t high_mul16(int16_t a, int16_t b) {
  if (a == -32768 && b == a) return 32767;
  const int32_t product = int32_t{a} * b;
  return wrap((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}
int16_t halved(int16_t v, int n) {
  return static_cast<int16_t>(num::shift_ties_away(v, n));
}
int16_t narrow16(int32_t constant) {
  return static_cast<int16_t>(num::shift_ties_away(constant, 16));
}
int16_t half_sum_with_one(int16_t a) {
  const int32_t sum = int32_t{a} + 32767;
  return wrap((sum + (sum >= 0 ? 1 : -1)) / 2);
}

// exp(x) in Q0.15 of x in [-1/4, 0) in Q0.15.
int16_t exp_of_quarter(int16_t x) {
  const int16_t from_eighth = wrap(x + (1 << 12));
  const int16_t x2 = high_mul16(from_eighth, from_eighth);
  const int16_t x3 = high_mul16(x2, from_eighth);
  const int16_t x4 = high_mul16(x2, x2);
  const int16_t cubic = high_mul16(wrap(halved(x4, 2) + x3), narrow16(715827883));  // a third
  const int16_t tail = halved(wrap(cubic + x2), 1);
  const int16_t at_eighth = narrow16(1895147668);  // exp(-1/8)
  return saturate(int32_t{at_eighth} + high_mul16(at_eighth, wrap(from_eighth + tail)));
}

// exp(a) in Q0.15 of a <= 0 with `integer_bits`.
int16_t exp16_of_negative(int16_t a, int integer_bits) {
  // exp(-1/4), exp(-1/2), exp(-1), exp(-2), exp(-4), exp(-8), exp(-16).
  constexpr int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  if (a == 0) return 32767;
  const int fraction_bits = 15 - integer_bits;
  if (integer_bits > 5 && a < -(1 << (fraction_bits + 5))) return 0;
  const int32_t quarter = 1 << (fraction_bits - 2);
  const int32_t reduced = (a & (quarter - 1)) - quarter;
  int16_t result = exp_of_quarter(saturate(int64_t{reduced} * (1 << integer_bits)));
  const int32_t quarters = wrap(reduced - a);
  for (int bit = 0; bit < 7; ++bit) {
    if (integer_bits <= bit - 2) break;
    if ((quarters & (quarter << bit)) != 0) result = high_mul16(result, narrow16(kFactors[bit]));
  }
  return result;
}

// Newton steps to 1 / half_denominator in Q2.13, of which both quotients below are made.
int16_t newton(int16_t half_denominator) {
  const int16_t forty_eight_seventeenths = narrow16(1515870810);
  const int16_t minus_thirty_two_seventeenths = narrow16(-1010580540);
  int16_t w = wrap(forty_eight_seventeenths + high_mul16(half_denominator, minus_thirty_two_seventeenths));
  for (int step = 0; step < 3; ++step) {
    const int16_t error = wrap((1 << 13) - high_mul16(half_denominator, w));
    w = wrap(w + saturate(int64_t{high_mul16(w, error)} * 4));
  }
  return w;
}

// 1 / (1 + x) and (1 - x) / (1 + x) in Q0.15 of x in [0, 1) in Q0.15.
int16_t reciprocal16_of_one_plus(int16_t x) {
  return saturate(int64_t{newton(half_sum_with_one(x))} * 2);
}
int16_t one_minus_over_one_plus(int16_t x) {
  return saturate(int64_t{wrap(newton(half_sum_with_one(x)) - (1 << 13))} * 4);
}

}  // namespace

int16_t gate_logistic(int16_t x) {
  if (x == 0) return 1 << 14;
  const int16_t positive = reciprocal16_of_one_plus(exp16_of_negative(x > 0 ? wrap(-x) : x, 3));
  return x > 0 ? positive : wrap(32767 - positive);
}

int16_t gate_tanh(int16_t x, int integer_bits) {
  if (x == 0) return 0;
  // Twice the value: the same bits, one integer bit more.
  const int16_t magnitude =
      one_minus_over_one_plus(exp16_of_negative(x < 0 ? x : wrap(-x), integer_bits + 1));
  return x < 0 ? wrap(-magnitude) : magnitude;
}

}  // namespace peraxis::kernels::reference
