// The inner loops in plain C++ that compilers turn into vector code, compiled twice on x86: for the
// baseline and for AVX2.
#include <algorithm>

#include "machine/mac_kernels.hpp"

namespace peraxis::machine {
namespace {

constexpr int kBlock = 32;
constexpr int kWide = 64;

void pack_words(const int8_t* weights, uint8_t* to) {
  int16_t* out = reinterpret_cast<int16_t*>(to);  // [32 channels][32 kernels]
  for (int ic = 0; ic < kBlock; ++ic)
    for (int oc = 0; oc < kBlock; ++oc) out[ic * kBlock + oc] = weights[oc * kBlock + ic];
}

template <int Pixels>
[[gnu::always_inline]] inline void pixels_body(const PixelRow<uint8_t>& in, const uint8_t* packed,
                                               const int32_t* start, int32_t* acc) {
  int32_t sum[Pixels][kBlock];
  for (int p = 0; p < Pixels; ++p)
    for (int oc = 0; oc < kBlock; ++oc) sum[p][oc] = start[oc];
  for (int64_t b = 0; b < in.places; ++b) {
    const int16_t* w = reinterpret_cast<const int16_t*>(packed) + b * kBlock * kBlock;
    const uint8_t* x = in.tile + in.offsets[b];
    for (int ic = 0; ic < kBlock; ++ic)
      for (int p = 0; p < Pixels; ++p) {
        const int16_t value = x[p * in.step + ic];
        for (int oc = 0; oc < kBlock; ++oc) sum[p][oc] += value * w[ic * kBlock + oc];
      }
  }
  for (int p = 0; p < Pixels; ++p)
    for (int oc = 0; oc < kBlock; ++oc) acc[p * kBlock + oc] = sum[p][oc];
}

[[gnu::always_inline]] inline void row_body(const PixelRow<uint8_t>& in, const uint8_t* packed,
                                            const int32_t* start, int32_t* acc) {
  int64_t p = 0;
  for (; p + 2 <= in.pixels; p += 2) pixels_body<2>(in.from(p), packed, start, acc + p * kBlock);
  if (p < in.pixels) pixels_body<1>(in.from(p), packed, start, acc + p * kBlock);
}

[[gnu::always_inline]] inline void dot_body(const PixelRow<uint8_t>& in, const int16_t* weights,
                                            int32_t start, int32_t* acc) {
  for (int64_t p = 0; p < in.pixels; ++p) {
    acc[p] = start;
    for (int64_t b = 0; b < in.places; ++b) {
      const uint8_t* x = in.tile + p * in.step + in.offsets[b];
      const int16_t* w = weights + b * kBlock;
      int32_t sum = 0;
      for (int i = 0; i < kBlock; ++i) sum += static_cast<int16_t>(x[i]) * w[i];
      acc[p] += sum;
    }
  }
}

[[gnu::always_inline]] inline void depthwise_body(const PixelRow<int8_t>& in, const int16_t* weights,
                                                  int32_t* acc) {
  for (int64_t p = 0; p < in.pixels; ++p) {
    int32_t sum[kWide] = {};
    for (int64_t t = 0; t < in.places; ++t) {
      const int8_t* x = in.tile + p * in.step + in.offsets[t];
      for (int c = 0; c < kWide; ++c) sum[c] += x[c] * weights[t * kWide + c];
    }
    std::copy(sum, sum + kWide, acc + p * kWide);
  }
}

void row_portable(const PixelRow<uint8_t>& in, const uint8_t* packed, const int32_t* start, int32_t* acc) {
  row_body(in, packed, start, acc);
}
void dot_portable(const PixelRow<uint8_t>& in, const int16_t* weights, int32_t start, int32_t* acc) {
  dot_body(in, weights, start, acc);
}
void depthwise_portable(const PixelRow<int8_t>& in, const int16_t* weights, int32_t* acc) {
  depthwise_body(in, weights, acc);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void row_avx2(const PixelRow<uint8_t>& in, const uint8_t* packed,
                                      const int32_t* start, int32_t* acc) {
  row_body(in, packed, start, acc);
}
[[gnu::target("avx2")]] void dot_avx2(const PixelRow<uint8_t>& in, const int16_t* weights, int32_t start,
                                      int32_t* acc) {
  dot_body(in, weights, start, acc);
}
[[gnu::target("avx2")]] void depthwise_avx2(const PixelRow<int8_t>& in, const int16_t* weights,
                                            int32_t* acc) {
  depthwise_body(in, weights, acc);
}
#endif

}  // namespace

const MacKernels& portable_mac() {
  static const MacKernels kernels{"portable",   2 * kBlock * kBlock, pack_words,
                                  row_portable, dot_portable,        depthwise_portable};
  return kernels;
}

const MacKernels* avx2_mac() {
#if defined(__x86_64__)
  static const MacKernels kernels{"avx2",   2 * kBlock * kBlock, pack_words, row_avx2,
                                  dot_avx2, depthwise_avx2};
  static const bool there = __builtin_cpu_supports("avx2") != 0;
  return there ? &kernels : nullptr;
#else
  return nullptr;
#endif
}

const MacKernels& best_mac() {
  if (const MacKernels* k = avx512_mac()) return *k;
  if (const MacKernels* k = avx2_mac()) return *k;
  return portable_mac();
}

}  // namespace peraxis::machine
