// CONV_2D without im2col. The image is widened once into a zero-padded int16 copy whose channel count is
// even; weights are packed as [block of 16 outputs][ky][kx][channel pair][output][2]. The innermost step
// multiplies one pair of input channels with 16 pairs of weights (one multiply-add instruction for each 8
// outputs on AVX2) for 4 neighbouring output columns, so accumulators stay in registers along a kernel row.
//
// Sums are the same modulo 2^32 in any order, so this equals the reference to the bit.
#include "kernels/fast/requantize.hpp"
#include "kernels/fast/widen.hpp"
#include "kernels/registry.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace peraxis::kernels::fast {
namespace {

constexpr int64_t kOutputs = 16;  // output channels of a block
constexpr int64_t kColumns = 4;   // output columns of a block

using Accumulators = int32_t[kColumns][kOutputs];

// accumulators[x][o] += sum over pairs of input[x * step + 2p + i] * weights[p][o][i].
using Accumulate = void (*)(const int16_t* input, int64_t step, const int16_t* weights, int64_t pairs,
                            Accumulators& accumulators);

void accumulate_plain(const int16_t* input, int64_t step, const int16_t* weights, int64_t pairs,
                      Accumulators& accumulators) {
  for (int64_t x = 0; x < kColumns; ++x) {
    uint32_t sums[kOutputs];
    for (int64_t o = 0; o < kOutputs; ++o) sums[o] = static_cast<uint32_t>(accumulators[x][o]);
    for (int64_t p = 0; p < pairs; ++p) {
      const int32_t first = input[x * step + 2 * p];
      const int32_t second = input[x * step + 2 * p + 1];
      const int16_t* w = weights + p * kOutputs * 2;
      for (int64_t o = 0; o < kOutputs; ++o) {
        sums[o] += static_cast<uint32_t>(first * w[2 * o] + second * w[2 * o + 1]);
      }
    }
    for (int64_t o = 0; o < kOutputs; ++o) accumulators[x][o] = static_cast<int32_t>(sums[o]);
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] inline __m256i broadcast_pair(const int16_t* pair) {
  int32_t both = 0;
  std::memcpy(&both, pair, sizeof(both));
  return _mm256_set1_epi32(both);
}

[[gnu::target("avx2")]] void accumulate_avx2(const int16_t* input, int64_t step, const int16_t* weights,
                                             int64_t pairs, Accumulators& accumulators) {
  __m256i low[kColumns];
  __m256i high[kColumns];
  for (int64_t x = 0; x < kColumns; ++x) {
    low[x] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&accumulators[x][0]));
    high[x] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&accumulators[x][8]));
  }
  for (int64_t p = 0; p < pairs; ++p) {
    const auto* w = reinterpret_cast<const __m256i*>(weights + p * kOutputs * 2);
    const __m256i w_low = _mm256_loadu_si256(w);
    const __m256i w_high = _mm256_loadu_si256(w + 1);
    for (int64_t x = 0; x < kColumns; ++x) {
      const __m256i pair = broadcast_pair(input + x * step + 2 * p);
      low[x] = _mm256_add_epi32(low[x], _mm256_madd_epi16(pair, w_low));
      high[x] = _mm256_add_epi32(high[x], _mm256_madd_epi16(pair, w_high));
    }
  }
  for (int64_t x = 0; x < kColumns; ++x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&accumulators[x][0]), low[x]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(&accumulators[x][8]), high[x]);
  }
}
#endif

Accumulate best_accumulate() {
#if defined(__x86_64__)
  if (has_avx2()) return accumulate_avx2;
#endif
  return accumulate_plain;
}

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// One group's input channels, padded with zeros in space and to an even channel count.
Padded widen_group(const Convolution& conv, int64_t n, int64_t group, int64_t rows, int64_t cols) {
  Padded padded{rows, cols, round_up(conv.depth, 2), {}};
  padded.values.assign(static_cast<size_t>(rows * cols * padded.channels), 0);
  const int64_t last_row = std::min(conv.input.h, rows - conv.pad_top);
  const int64_t last_col = std::min(conv.input.w, cols - conv.pad_left);
  for (int64_t y = 0; y < last_row; ++y) {
    for (int64_t x = 0; x < last_col; ++x) {
      const uint8_t* from =
          conv.input_values + ((n * conv.input.h + y) * conv.input.w + x) * conv.input.c + group * conv.depth;
      int16_t* to = padded.values.data() + ((y + conv.pad_top) * cols + x + conv.pad_left) * padded.channels;
      widen_run(from, conv.depth, conv.type, conv.input_zero, to);
    }
  }
  return padded;
}

// Weights of one group; outputs beyond the last and the channel that evens out the depth are zero.
std::vector<int16_t> pack_group(const Convolution& conv, int64_t group) {
  const int64_t pairs = round_up(conv.depth, 2) / 2;
  const int64_t taps = conv.kernel_h * conv.kernel_w;
  const int64_t blocks = round_up(conv.outputs_per_group, kOutputs) / kOutputs;
  std::vector<int16_t> packed(static_cast<size_t>(blocks * taps * pairs * kOutputs * 2), 0);
  for (int64_t output = 0; output < conv.outputs_per_group; ++output) {
    const int64_t channel = group * conv.outputs_per_group + output;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const uint8_t* from = conv.weight_values + (channel * taps + tap) * conv.depth;
      int16_t* to =
          packed.data() + ((output / kOutputs) * taps + tap) * pairs * kOutputs * 2 + output % kOutputs * 2;
      for (int64_t d = 0; d < conv.depth; ++d) {
        to[(d / 2) * kOutputs * 2 + d % 2] =
            static_cast<int16_t>(stored(from[d], conv.type) - conv.weight_zero);
      }
    }
  }
  return packed;
}

struct Job {
  const Convolution& conv;
  const Padded& image;
  const std::vector<int16_t>& weights;
  Accumulate accumulate;
  int64_t n, group;
};

// 4 columns by 16 outputs from (y, x) on, before requantization.
void run_block(const Job& job, int64_t block, int64_t y, int64_t x, Accumulators& accumulators) {
  const Convolution& conv = job.conv;
  const int64_t depth = job.image.channels;
  const int64_t pairs = depth / 2;
  const int64_t step = conv.stride_w * depth;
  // Without dilation a kernel row is one contiguous run of channels.
  const bool whole_rows = conv.dilation_w == 1;
  const int64_t run_pairs = whole_rows ? conv.kernel_w * pairs : pairs;
  const int64_t runs = whole_rows ? 1 : conv.kernel_w;
  const int16_t* weights = job.weights.data() + block * conv.kernel_h * conv.kernel_w * pairs * kOutputs * 2;
  for (int64_t ky = 0; ky < conv.kernel_h; ++ky) {
    const int64_t row = y * conv.stride_h + ky * conv.dilation_h;
    for (int64_t run = 0; run < runs; ++run) {
      const int64_t col = x * conv.stride_w + run * conv.dilation_w;
      job.accumulate(job.image.values.data() + (row * job.image.cols + col) * depth, step, weights, run_pairs,
                     accumulators);
      weights += run_pairs * kOutputs * 2;
    }
  }
}

void run_conv_rows(const Job& job, int64_t first_row, int64_t last_row) {
  const Convolution& conv = job.conv;
  const int64_t blocks = round_up(conv.outputs_per_group, kOutputs) / kOutputs;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = job.group * conv.outputs_per_group + block * kOutputs;
    const int64_t count = std::min(kOutputs, conv.outputs_per_group - block * kOutputs);
    for (int64_t y = first_row; y < last_row; ++y) {
      for (int64_t x = 0; x < conv.output.w; x += kColumns) {
        Accumulators accumulators = {};
        run_block(job, block, y, x, accumulators);
        const int64_t columns = std::min(kColumns, conv.output.w - x);
        for (int64_t column = 0; column < columns; ++column) {
          uint8_t* out = conv.output_values +
                         ((job.n * conv.output.h + y) * conv.output.w + x + column) * conv.output.c + first;
          int32_t sums[kOutputs];
          for (int64_t o = 0; o < count; ++o) {
            sums[o] =
                num::wrap_int32(int64_t{accumulators[column][o]} + conv.bias[static_cast<size_t>(first + o)]);
          }
          requantize_row(conv.requantize, sums, static_cast<size_t>(first), count, out);
        }
      }
    }
  }
}

}  // namespace

Status conv_2d(const Context& context) {
  if (!takes_bytes(context)) return reference::conv_2d(context);
  const Convolution conv = PERAXIS_TRY(prepare_convolution(context));
  if (conv.output.elements() == 0) return {};
  const int64_t rows = touched(conv.output.h, conv.stride_h, conv.kernel_h, conv.dilation_h);
  const int64_t cols =
      touched(round_up(conv.output.w, kColumns), conv.stride_w, conv.kernel_w, conv.dilation_w);
  if (!worth_padding(conv, rows, cols)) return reference::conv_2d(context);
  Rows pool(context.options.pool, conv.output.h);
  const int64_t groups = conv.input.c / conv.depth;
  for (int64_t group = 0; group < groups; ++group) {
    const std::vector<int16_t> weights = pack_group(conv, group);
    for (int64_t n = 0; n < conv.output.n; ++n) {
      const Padded image = widen_group(conv, n, group, rows, cols);
      const Job job{conv, image, weights, best_accumulate(), n, group};
      pool.run([&](int64_t first, int64_t last) { run_conv_rows(job, first, last); });
    }
  }
  return {};
}

}  // namespace peraxis::kernels::fast
