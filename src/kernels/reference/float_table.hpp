// Functions that LiteRT computes in float32 and tabulates: 256 entries for 8-bit tensors, 513 with
// interpolation for int16 ones (docs/arithmetic.md#tables-of-a-float-function).
#pragma once

#include <cmath>

#include "kernels/reference/unary.hpp"
#include "num/rounding.hpp"

namespace peraxis::kernels::reference {

template <class Function>
Status tabulate_8_bit(const Context& context, Function function) {
  const Quant x = quant_of(context.input(0));
  const Quant y = quant_of(context.output());
  const ir::StoredRange range = ir::type_range(context.output().type);
  const float inverse = 1.0F / y.scale;
  return apply_table(context, [&](int32_t q) {
    const float value = function(x.scale * static_cast<float>(q - x.zero_point));
    const float shifted = std::round(value * inverse) + static_cast<float>(y.zero_point);
    // LiteRT's uint8 tables become int32 before they are clamped: what is beyond it ends at 0.
    if (context.output().type == ir::DataType::UInt8)
      return clamp_to_byte(float_to_int32(static_cast<double>(shifted)), range);
    const float clamped =
        std::fmin(std::fmax(shifted, static_cast<float>(range.low)), static_cast<float>(range.high));
    return static_cast<uint8_t>(static_cast<int32_t>(clamped));
  });
}

struct LinearRange {  // real = scale * (stored - zero_point)
  double scale = 1.0;
  int32_t zero_point = 0;
};

// All arithmetic in Float, which LiteRT takes as float or double by operator.
template <class Float, class Function>
std::array<int16_t, 513> make_int16_table(LinearRange in, LinearRange out, Function function) {
  const auto s_in = static_cast<Float>(in.scale);
  const auto s_out = static_cast<Float>(out.scale);
  const Float low = s_in * static_cast<Float>(-32768 - in.zero_point);
  const Float high = s_in * static_cast<Float>(32767 - in.zero_point);
  const Float out_low = s_out * static_cast<Float>(-32768 - out.zero_point);
  const Float out_high = s_out * static_cast<Float>(32767 - out.zero_point);
  const Float step = (high - low) / Float{512};
  const Float half_step = step / Float{2};
  const Float inverse = Float{65536} / (out_high - out_low);
  const auto saturated = [](Float value) {
    return static_cast<int16_t>(std::fmin(std::fmax(value, Float{-32768}), Float{32767}));
  };
  std::array<int16_t, 513> table{};
  for (int i = 0; i < 512; ++i) {
    const Float at = low + static_cast<Float>(i) * step;
    const Float value = function(at);
    const Float middle = function(at + half_step);
    const Float next = function(low + static_cast<Float>(i + 1) * step);
    const Float sample = std::round(value * inverse);
    const Float interpolated = std::round((next * inverse + sample) / Float{2});
    const Float bias = std::round((interpolated - std::round(middle * inverse)) / Float{2});
    table[static_cast<size_t>(i)] = saturated(sample - bias);
  }
  table[512] = saturated(std::round(function(high) * inverse));
  return table;
}

inline int32_t look_up(const std::array<int16_t, 513>& table, int32_t q) {
  const auto index = static_cast<size_t>(256 + (q >> 7));
  const int32_t slope = table[index + 1] - table[index];
  return table[index] + ((slope * (q & 127) + 64) >> 7);
}

// An int8 or int16 operator (uint8 too, where its rule allows it).
template <class Function>
Status tabulate(const Context& context, Function function) {
  if (context.output().type != ir::DataType::Int16) return tabulate_8_bit(context, function);
  const auto range = [](const ir::Tensor& tensor) {
    return LinearRange{static_cast<double>(tensor.quant.scale[0]),
                       static_cast<int32_t>(tensor.quant.zero_point[0])};
  };
  const auto table = make_int16_table<float>(range(context.input(0)), range(context.output()), function);
  return map_elements<int16_t>(context, [&](int16_t q) { return look_up(table, q); });
}

}  // namespace peraxis::kernels::reference
