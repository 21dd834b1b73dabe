// From an accumulator to a stored value in the operators of multiplied sums that are not 8 bits wide:
// float32, and int16 with an int64 or, when the model names it, an int32 accumulator.
#pragma once

#include "kernels/convolution.hpp"
#include "kernels/elements.hpp"

namespace peraxis::kernels::reference {

struct FloatSum {
  using Input = float;
  using Weight = float;
  using Bias = float;
  using Sum = float;
  Bounds<float> bounds;

  float store(float sum, size_t) const { return bounds(sum); }
};

// LiteRT adds products in int64 and multiplies by 15 bits.
struct Int64Sum {
  using Input = int16_t;
  using Weight = int8_t;
  using Bias = int64_t;
  using Sum = int64_t;
  std::vector<num::Multiplier> multipliers;
  ir::StoredRange range;

  int16_t store(int64_t sum, size_t channel) const {
    return clamp_to<int16_t>(num::multiply_15_bits(sum, multipliers[channel]), range);
  }
};

struct Int32Sum {
  using Input = int16_t;
  using Weight = int8_t;
  using Bias = int32_t;
  using Sum = int32_t;
  std::vector<num::Multiplier> multipliers;
  ir::StoredRange range;

  int16_t store(int32_t sum, size_t channel) const {
    return clamp_to<int16_t>(num::multiply_two_roundings(sum, multipliers[channel]), range);
  }
};

// sum + a * b; integers wrap.
template <class Sum, class A, class B>
Sum accumulate(Sum sum, A a, B b) {
  if constexpr (std::is_same_v<Sum, float>) {
    const float product = a * b;
    return sum + product;
  } else {
    using Unsigned = std::make_unsigned_t<Sum>;
    return static_cast<Sum>(static_cast<Unsigned>(sum) +
                            static_cast<Unsigned>(static_cast<int64_t>(a) * static_cast<int64_t>(b)));
  }
}
template <class Sum>
Sum add_bias(Sum sum, Sum bias) {
  return accumulate(sum, bias, Sum{1});
}

// The bias in input `slot`, zeros without one.
template <class T>
std::vector<T> bias_values(const Context& context, size_t slot, int64_t channels) {
  std::vector<T> bias(static_cast<size_t>(channels), T{0});
  if (context.has_input(slot)) {
    const Reader<T> values(context.inputs[slot]);
    for (int64_t c = 0; c < channels; ++c) bias[static_cast<size_t>(c)] = values[c];
  }
  return bias;
}

// Calls run(rule) with the rule of the operator's types. `input` is the slot of the map.
template <class Run>
Status with_sum(const Context& context, size_t input, ir::Activation activation, bool int32_bias,
                int64_t channels, Run run) {
  if (context.output().type == ir::DataType::Float32)
    return run(FloatSum{activation_bounds<float>(activation)});
  const auto multipliers = convolution_multipliers(
      context, static_cast<size_t>(channels), quant_of(context.input(input)), quant_of(context.output()));
  const ir::StoredRange range = ir::activation_range(context.output(), activation);
  if (int32_bias) return run(Int32Sum{multipliers, range});
  return run(Int64Sum{multipliers, range});
}

}  // namespace peraxis::kernels::reference
