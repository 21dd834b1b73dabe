// DEPTHWISE_CONV_2D along the channels: the image is widened once into a zero-padded int16 copy with one
// channel an output channel (a depth multiplier repeats them). Each tap adds one vector product, or two taps
// together where the CPU can.
#include "kernels/fast/depthwise_pairs.hpp"
#include "kernels/fast/requantize.hpp"
#include "kernels/fast/widen.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::fast {
namespace {

constexpr int64_t kChannels = 64;  // channels of a block; its accumulators stay in the first cache

// sums[c] += a[c] * b[c], modulo 2^32.
[[gnu::always_inline]] inline void multiply_add(const int16_t* a, const int16_t* b, int32_t* sums,
                                                int64_t count) {
  for (int64_t c = 0; c < count; ++c) {
    sums[c] = static_cast<int32_t>(static_cast<uint32_t>(sums[c]) +
                                   static_cast<uint32_t>(int32_t{a[c]} * int32_t{b[c]}));
  }
}

void multiply_add_plain(const int16_t* a, const int16_t* b, int32_t* sums, int64_t count) {
  multiply_add(a, b, sums, count);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void multiply_add_avx2(const int16_t* a, const int16_t* b, int32_t* sums,
                                               int64_t count) {
  multiply_add(a, b, sums, count);
}
#endif

using MultiplyAdd = void (*)(const int16_t*, const int16_t*, int32_t*, int64_t);

MultiplyAdd best_multiply_add() {
#if defined(__x86_64__)
  if (has_avx2()) return multiply_add_avx2;
#endif
  return multiply_add_plain;
}

Padded widen(const Convolution& conv, int64_t n, int64_t rows, int64_t cols, int64_t channels) {
  Padded padded{rows, cols, channels, {}};
  padded.values.assign(static_cast<size_t>(rows * cols * padded.channels), 0);
  const int64_t last_row = std::min(conv.input.h, rows - conv.pad_top);
  const int64_t last_col = std::min(conv.input.w, cols - conv.pad_left);
  for (int64_t y = 0; y < last_row; ++y) {
    for (int64_t x = 0; x < last_col; ++x) {
      const uint8_t* from = conv.input_values + ((n * conv.input.h + y) * conv.input.w + x) * conv.input.c;
      int16_t* to = padded.values.data() + ((y + conv.pad_top) * cols + x + conv.pad_left) * padded.channels;
      if (conv.outputs_per_group == 1) {
        widen_run(from, conv.input.c, conv.type, conv.input_zero, to);
        continue;
      }
      for (int64_t d = 0; d < conv.input.c; ++d) {
        const auto value = static_cast<int16_t>(stored(from[d], conv.type) - conv.input_zero);
        for (int64_t copy = 0; copy < conv.outputs_per_group; ++copy) *to++ = value;
      }
    }
  }
  return padded;
}

std::vector<int16_t> widen_weights(const Convolution& conv) {
  std::vector<int16_t> weights(static_cast<size_t>(conv.kernel_h * conv.kernel_w * conv.output.c));
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<int16_t>(stored(conv.weight_values[i], conv.type) - conv.weight_zero);
  }
  return weights;
}

void run_depthwise_rows(const Convolution& conv, const Padded& image, const std::vector<int16_t>& weights,
                        int64_t n, int64_t first_row, int64_t last_row) {
  const MultiplyAdd multiply_add_best = best_multiply_add();
  const int64_t channels = conv.output.c;
  for (int64_t y = first_row; y < last_row; ++y) {
    for (int64_t x = 0; x < conv.output.w; ++x) {
      uint8_t* out = conv.output_values + ((n * conv.output.h + y) * conv.output.w + x) * channels;
      for (int64_t block = 0; block < channels; block += kChannels) {
        const int64_t count = std::min(kChannels, channels - block);
        int32_t sums[kChannels];
        std::copy_n(conv.bias.data() + block, count, sums);
        for (int64_t ky = 0; ky < conv.kernel_h; ++ky) {
          const int64_t row = y * conv.stride_h + ky * conv.dilation_h;
          for (int64_t kx = 0; kx < conv.kernel_w; ++kx) {
            const int64_t col = x * conv.stride_w + kx * conv.dilation_w;
            multiply_add_best(image.values.data() + (row * image.cols + col) * channels + block,
                              weights.data() + (ky * conv.kernel_w + kx) * channels + block, sums, count);
          }
        }
        requantize_row(conv.requantize, sums, static_cast<size_t>(block), count, out + block);
      }
    }
  }
}

void run_paired_rows(const Convolution& conv, const Padded& image, const PairedTaps& taps, int64_t n,
                     int64_t first_row, int64_t last_row) {
  for (int64_t y = first_row; y < last_row; ++y) {
    for (int64_t x = 0; x < conv.output.w; ++x) {
      const int16_t* pixel =
          image.values.data() + (y * conv.stride_h * image.cols + x * conv.stride_w) * image.channels;
      uint8_t* out = conv.output_values + ((n * conv.output.h + y) * conv.output.w + x) * conv.output.c;
      for (int64_t first = 0; first < conv.output.c; first += kPairedChannels) {
        const int64_t count = std::min(kPairedChannels, conv.output.c - first);
        int32_t sums[kPairedChannels];
        taps.accumulate(pixel, first / kPairedChannels, sums);
        for (int64_t c = 0; c < count; ++c)
          sums[c] = num::wrap_int32(int64_t{sums[c]} + conv.bias[static_cast<size_t>(first + c)]);
        requantize_row(conv.requantize, sums, static_cast<size_t>(first), count, out + first);
      }
    }
  }
}

}  // namespace

Status depthwise_conv_2d(const Context& context) {
  if (!takes_bytes(context)) return reference::depthwise_conv_2d(context);
  const Convolution conv = PERAXIS_TRY(prepare_convolution(context));
  if (conv.output.elements() == 0) return {};
  const int64_t rows = touched(conv.output.h, conv.stride_h, conv.kernel_h, conv.dilation_h);
  const int64_t cols = touched(conv.output.w, conv.stride_w, conv.kernel_w, conv.dilation_w);
  if (!worth_padding(conv, rows, cols)) return reference::depthwise_conv_2d(context);
  Rows pool(context.options.pool, conv.output.h);
  if (has_avx2()) {
    const int64_t channels = (conv.output.c + kPairedChannels - 1) / kPairedChannels * kPairedChannels;
    const PairedTaps taps(conv, cols * channels, channels);
    for (int64_t n = 0; n < conv.output.n; ++n) {
      const Padded image = widen(conv, n, rows, cols, channels);
      pool.run([&](int64_t first, int64_t last) { run_paired_rows(conv, image, taps, n, first, last); });
    }
    return {};
  }
  const std::vector<int16_t> weights = widen_weights(conv);
  for (int64_t n = 0; n < conv.output.n; ++n) {
    const Padded image = widen(conv, n, rows, cols, conv.output.c);
    pool.run([&](int64_t first, int64_t last) { run_depthwise_rows(conv, image, weights, n, first, last); });
  }
  return {};
}

}  // namespace peraxis::kernels::fast
