// One instruction multiplies 16 pairs of int16 and adds each pair. Interleaving the values of two taps makes
// a pair of what one channel adds up; the interleaving works within halves of a register, so the low result
// holds channels 0-3 and 8-11 and the high one 4-7 and 12-15. Values lie in -255..255: a pair is far below
// 2^31.
#include "kernels/fast/depthwise_pairs.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace peraxis::kernels::fast {
namespace {

constexpr int64_t kPairWeights = 2 * kPairedChannels;

// Where channel c of a block lies among the 32 weights of a pair; its second tap follows it.
int64_t place(int64_t c) {
  const int64_t half = c / 8;
  const int64_t quarter = c % 8 / 4;
  return quarter * kPairedChannels + half * 8 + c % 4 * 2;
}

}  // namespace

PairedTaps::PairedTaps(const Convolution& conv, int64_t row, int64_t channels) {
  for (int64_t ky = 0; ky < conv.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < conv.kernel_w; ++kx)
      offsets_.push_back(ky * conv.dilation_h * row + kx * conv.dilation_w * channels);
  }
  const auto taps = static_cast<int64_t>(offsets_.size());
  if (taps % 2 != 0) offsets_.push_back(offsets_.back());
  const auto pairs = static_cast<int64_t>(offsets_.size()) / 2;
  weights_.assign(static_cast<size_t>(channels / kPairedChannels * pairs * kPairWeights), 0);
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < conv.output.c; ++c) {
      const int64_t pair = c / kPairedChannels * pairs + tap / 2;
      weights_[static_cast<size_t>(pair * kPairWeights + place(c % kPairedChannels) + tap % 2)] =
          static_cast<int16_t>(stored(conv.weight_values[tap * conv.output.c + c], conv.type) -
                               conv.weight_zero);
    }
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void PairedTaps::accumulate(const int16_t* pixel, int64_t block,
                                                    int32_t (&sums)[kPairedChannels]) const {
  const size_t pairs = offsets_.size() / 2;
  const int16_t* weights = weights_.data() + block * static_cast<int64_t>(pairs) * kPairWeights;
  const int16_t* values = pixel + block * kPairedChannels;
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  for (size_t pair = 0; pair < pairs; ++pair) {
    const auto* first = reinterpret_cast<const __m256i*>(values + offsets_[2 * pair]);
    const auto* second = reinterpret_cast<const __m256i*>(values + offsets_[2 * pair + 1]);
    const auto* w = reinterpret_cast<const __m256i*>(weights);
    const __m256i a = _mm256_loadu_si256(first);
    const __m256i b = _mm256_loadu_si256(second);
    const __m256i mixed_low = _mm256_unpacklo_epi16(a, b);
    const __m256i mixed_high = _mm256_unpackhi_epi16(a, b);
    low = _mm256_add_epi32(low, _mm256_madd_epi16(mixed_low, _mm256_loadu_si256(w)));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(mixed_high, _mm256_loadu_si256(w + 1)));
    weights += kPairWeights;
  }
  auto* out = reinterpret_cast<__m256i*>(sums);
  _mm256_storeu_si256(out, _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(low, high, 0x31));
}
#else
void PairedTaps::accumulate(const int16_t* pixel, int64_t block, int32_t (&sums)[kPairedChannels]) const {
  const size_t pairs = offsets_.size() / 2;
  const int16_t* weights = weights_.data() + block * static_cast<int64_t>(pairs) * kPairWeights;
  for (int64_t c = 0; c < kPairedChannels; ++c) {
    uint32_t sum = 0;
    for (size_t tap = 0; tap < offsets_.size(); ++tap) {
      const auto pair = static_cast<int64_t>(tap / 2);
      const auto of_pair = static_cast<int64_t>(tap % 2);
      const int32_t value = pixel[offsets_[tap] + block * kPairedChannels + c];
      sum += static_cast<uint32_t>(value * weights[pair * kPairWeights + place(c) + of_pair]);
    }
    sums[c] = static_cast<int32_t>(sum);
  }
}
#endif

}  // namespace peraxis::kernels::fast
