// A convolution taken apart into plain numbers: geometry, zero points, one multiplier an output channel.
// The reference and the fast loops share this preparation and the step from accumulator to stored value,
// and nothing else.
#pragma once

#include "kernels/context.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels {

// From a wrapped int32 accumulator to the stored value.
struct Requantize {
  std::vector<num::Multiplier> multipliers;  // one an output channel
  int32_t zero_point = 0;
  ir::StoredRange range;
  Reference reference = Reference::LitertRef;

  uint8_t operator()(int32_t accumulator, size_t channel) const {
    if (reference == Reference::SingleRounding) {
      return clamp_to_byte(num::multiply_one_rounding(accumulator, multipliers[channel]) + zero_point, range);
    }
    const int64_t scaled = num::multiply_two_roundings(accumulator, multipliers[channel]);
    return clamp_to_byte(num::wrap_int32(scaled + zero_point), range);
  }
};

struct ConvolutionShape {
  ir::Nhwc input, output;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t depth = 1;              // input channels behind one output channel
  int64_t outputs_per_group = 1;  // output channels that read the same input channels
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;
};

// For conv_2d (grouped too) and depthwise_conv_2d of any type.
Result<ConvolutionShape> prepare_convolution_shape(const Context& context);

// One multiplier an output channel, of the weights in input 1.
std::vector<num::Multiplier> convolution_multipliers(const Context& context, size_t channels, Quant input,
                                                     Quant output);

// int8 and uint8.
struct Convolution : ConvolutionShape {
  ir::DataType type = ir::DataType::Int8;  // of input, weights and output
  int32_t input_zero = 0, weight_zero = 0;
  const uint8_t* input_values = nullptr;   // NHWC
  const uint8_t* weight_values = nullptr;  // conv_2d: [out][kh][kw][depth]; depthwise: [kh][kw][out]
  uint8_t* output_values = nullptr;
  std::vector<int32_t> bias;  // one an output channel, 0 when the operator has none
  Requantize requantize;
};

// For conv_2d (grouped too) and depthwise_conv_2d of int8 and uint8.
Result<Convolution> prepare_convolution(const Context& context);

// Whether the operator is the int8 or uint8 one, which the fast loops are for.
inline bool takes_bytes(const Context& context) {
  return context.op().outputs.empty() || is_8bit(context.output().type);
}

struct FullyConnected {
  int64_t batches = 1, depth = 1, units = 1;
  ir::DataType type = ir::DataType::Int8;
  int32_t input_zero = 0, weight_zero = 0, output_zero = 0;
  const uint8_t* input_values = nullptr;   // [batches][depth]
  const uint8_t* weight_values = nullptr;  // [units][depth]
  uint8_t* output_values = nullptr;
  std::vector<int32_t> bias;
  std::vector<double> scales;  // input scale * weight scale / output scale of each unit
  Requantize requantize;       // used for SingleRounding only

  // LiteRT multiplies in double and rounds half away from zero: no integer multiplier at all.
  uint8_t store(int32_t accumulator, size_t unit) const;
};

Result<FullyConnected> prepare_fully_connected(const Context& context);

}  // namespace peraxis::kernels
