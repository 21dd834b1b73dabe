// CONV_2D as its definition: for every output value, the sum over the kernel's taps inside the image.
// Accumulators wrap modulo 2^32. A weight depth below the input's makes groups.
#include "kernels/convolution.hpp"
#include "kernels/reference/wide_convolution.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

int32_t accumulate_window(const Convolution& conv, int64_t n, int64_t y, int64_t x, int64_t channel) {
  auto sum = static_cast<uint32_t>(conv.bias[static_cast<size_t>(channel)]);
  const int64_t first_input = channel / conv.outputs_per_group * conv.depth;
  for (int64_t ky = 0; ky < conv.kernel_h; ++ky) {
    const int64_t row = y * conv.stride_h - conv.pad_top + ky * conv.dilation_h;
    if (row < 0 || row >= conv.input.h) continue;
    for (int64_t kx = 0; kx < conv.kernel_w; ++kx) {
      const int64_t col = x * conv.stride_w - conv.pad_left + kx * conv.dilation_w;
      if (col < 0 || col >= conv.input.w) continue;
      const uint8_t* in =
          conv.input_values + ((n * conv.input.h + row) * conv.input.w + col) * conv.input.c + first_input;
      const uint8_t* weights =
          conv.weight_values + ((channel * conv.kernel_h + ky) * conv.kernel_w + kx) * conv.depth;
      for (int64_t d = 0; d < conv.depth; ++d) {
        sum += static_cast<uint32_t>((stored(in[d], conv.type) - conv.input_zero) *
                                     (stored(weights[d], conv.type) - conv.weight_zero));
      }
    }
  }
  return static_cast<int32_t>(sum);
}

}  // namespace

Status conv_2d(const Context& context) {
  if (!takes_bytes(context)) return wide_convolution(context);
  const Convolution conv = PERAXIS_TRY(prepare_convolution(context));
  uint8_t* out = conv.output_values;
  for (int64_t n = 0; n < conv.output.n; ++n) {
    for (int64_t y = 0; y < conv.output.h; ++y) {
      for (int64_t x = 0; x < conv.output.w; ++x) {
        for (int64_t c = 0; c < conv.output.c; ++c) {
          *out++ = conv.requantize(accumulate_window(conv, n, y, x, c), static_cast<size_t>(c));
        }
      }
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference
