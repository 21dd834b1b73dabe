// The direct inner loop with AVX-512 VNNI: one instruction multiplies 64 bytes and adds them by fours into
// 16 sums. Two registers hold the 32 kernels of a block, eight pixels share them.
#include "machine/mac_kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#define PERAXIS_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]

namespace peraxis::machine {
namespace {

constexpr int kBlock = 32;
constexpr int kWide = 64;

void pack_quads(const int8_t* weights, uint8_t* to) {  // [8 channel quads][32 kernels][4 channels]
  for (int q = 0; q < kBlock / 4; ++q)
    for (int oc = 0; oc < kBlock; ++oc)
      std::memcpy(to + (q * kBlock + oc) * 4, weights + oc * kBlock + q * 4, 4);
}

template <int Pixels>
PERAXIS_AVX512 inline void pixels_quads(const PixelRow<uint8_t>& in, const uint8_t* packed,
                                        const int32_t* start, int32_t* acc) {
  __m512i low[Pixels], high[Pixels];
  for (int p = 0; p < Pixels; ++p) {
    low[p] = _mm512_loadu_si512(start);
    high[p] = _mm512_loadu_si512(start + 16);
  }
  for (int64_t b = 0; b < in.places; ++b) {
    const uint8_t* x = in.tile + in.offsets[b];
    const uint8_t* w = packed + b * kBlock * kBlock;
    for (int q = 0; q < kBlock / 4; ++q) {
      const __m512i w0 = _mm512_loadu_si512(w + q * 128);
      const __m512i w1 = _mm512_loadu_si512(w + q * 128 + 64);
      for (int p = 0; p < Pixels; ++p) {
        int32_t quad;
        std::memcpy(&quad, x + p * in.step + q * 4, 4);
        const __m512i value = _mm512_set1_epi32(quad);
        low[p] = _mm512_dpbusd_epi32(low[p], value, w0);
        high[p] = _mm512_dpbusd_epi32(high[p], value, w1);
      }
    }
  }
  for (int p = 0; p < Pixels; ++p) {
    _mm512_storeu_si512(acc + p * kBlock, low[p]);
    _mm512_storeu_si512(acc + p * kBlock + 16, high[p]);
  }
}

PERAXIS_AVX512 void row_quads(const PixelRow<uint8_t>& in, const uint8_t* packed, const int32_t* start,
                              int32_t* acc) {
  int64_t p = 0;
  for (; p + 8 <= in.pixels; p += 8) pixels_quads<8>(in.from(p), packed, start, acc + p * kBlock);
  for (; p < in.pixels; ++p) pixels_quads<1>(in.from(p), packed, start, acc + p * kBlock);
}

// The eight sums of each of eight registers, as one register.
PERAXIS_AVX512 inline __m256i sums_of_eight(const __m256i* v) {
  const __m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
  const __m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]), _mm256_hadd_epi32(v[6], v[7]));
  // Both hold four sums twice, of the lower and of the upper lanes.
  return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

template <int Pixels>
PERAXIS_AVX512 inline void pixels_dot(const PixelRow<uint8_t>& in, const int16_t* weights, int32_t start,
                                      int32_t* acc) {
  __m256i sum[8];
  for (__m256i& s : sum) s = _mm256_setzero_si256();
  for (int64_t b = 0; b < in.places; ++b) {
    const uint8_t* x = in.tile + in.offsets[b];
    const __m256i w = _mm512_maskz_cvtepi16_epi8(~0U, _mm512_loadu_si512(weights + b * kBlock));
    for (int p = 0; p < Pixels; ++p)
      sum[p] = _mm256_dpbusd_epi32(sum[p],
                                   _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + p * in.step)), w);
  }
  int32_t out[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_add_epi32(sums_of_eight(sum), _mm256_set1_epi32(start)));
  std::memcpy(acc, out, Pixels * sizeof(int32_t));
}

PERAXIS_AVX512 void dot_row_quads(const PixelRow<uint8_t>& in, const int16_t* weights, int32_t start,
                                  int32_t* acc) {
  int64_t p = 0;
  for (; p + 8 <= in.pixels; p += 8) pixels_dot<8>(in.from(p), weights, start, acc + p);
  for (; p < in.pixels; ++p) pixels_dot<1>(in.from(p), weights, start, acc + p);
}

PERAXIS_AVX512 void depthwise_wide(const PixelRow<int8_t>& in, const int16_t* weights, int32_t* acc) {
  for (int64_t p = 0; p < in.pixels; ++p) {
    int32_t sum[kWide] = {};
    for (int64_t t = 0; t < in.places; ++t) {
      const int8_t* x = in.tile + p * in.step + in.offsets[t];
      for (int c = 0; c < kWide; ++c) sum[c] += x[c] * weights[t * kWide + c];
    }
    std::memcpy(acc + p * kWide, sum, sizeof sum);
  }
}

}  // namespace

const MacKernels* avx512_mac() {
  static const MacKernels kernels{"avx512vnni", kBlock * kBlock, pack_quads,
                                  row_quads,    dot_row_quads,   depthwise_wide};
  static const bool there = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  return there ? &kernels : nullptr;
}

}  // namespace peraxis::machine

#else

namespace peraxis::machine {
const MacKernels* avx512_mac() {
  return nullptr;
}
}  // namespace peraxis::machine

#endif
