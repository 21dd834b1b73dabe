// The vector forms of num::multiply_two_roundings. The doubling high product is (p + 2^30) >> 31 for a 64-bit
// p, as ties go towards plus infinity; AArch64 has an instruction for it. The right shift, ties away from
// zero, is the arithmetic shift plus one when the bits that fell off exceed half (for a negative value: half
// and more).
#include "kernels/fast/requantize.hpp"

#include <cstddef>

#include "kernels/fast/widen.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace peraxis::kernels::fast {
namespace {

// The vector loops read mantissas and exponents as pairs of int32.
static_assert(sizeof(num::Multiplier) == 8 && offsetof(num::Multiplier, exponent) == 4);

struct Output {
  int32_t zero_point, low, high;
};

#if defined(__x86_64__)
[[gnu::target("avx2")]] int64_t run_avx2(const int32_t* sums, const num::Multiplier* multipliers,
                                         int64_t count, const Output& output, uint8_t* out) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i zero = _mm256_setzero_si256();
  const __m256i half = _mm256_set1_epi64x(int64_t{1} << 30);
  const __m256i zero_point = _mm256_set1_epi32(output.zero_point);
  const __m256i low = _mm256_set1_epi32(output.low);
  const __m256i high = _mm256_set1_epi32(output.high);
  const __m256i first_bytes = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0,
                                               4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const auto* pairs = reinterpret_cast<const float*>(multipliers + i);
    const __m256 a = _mm256_loadu_ps(pairs);
    const __m256 b = _mm256_loadu_ps(pairs + 8);
    const __m256i mantissa =
        _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)), 0xD8);
    const __m256i exponent =
        _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD)), 0xD8);
    const __m256i left = _mm256_and_si256(_mm256_max_epi32(exponent, zero), _mm256_set1_epi32(31));
    const __m256i right = _mm256_max_epi32(_mm256_sub_epi32(zero, exponent), zero);
    const __m256i sum = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i));
    const __m256i x = _mm256_sllv_epi32(sum, left);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(x, mantissa), half);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(x, 32), _mm256_srli_epi64(mantissa, 32)), half);
    const __m256i product = _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
    const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(one, right), one);
    const __m256i fallen = _mm256_and_si256(product, mask);
    const __m256i negative = _mm256_srli_epi32(product, 31);
    const __m256i threshold = _mm256_add_epi32(_mm256_srli_epi32(mask, 1), negative);
    const __m256i up = _mm256_cmpgt_epi32(fallen, threshold);  // -1 where one is added
    const __m256i scaled = _mm256_sub_epi32(_mm256_srav_epi32(product, right), up);
    const __m256i shifted = _mm256_add_epi32(scaled, zero_point);
    const __m256i clamped = _mm256_min_epi32(_mm256_max_epi32(shifted, low), high);
    const __m256i bytes = _mm256_shuffle_epi8(clamped, first_bytes);
    const int32_t lower = _mm256_extract_epi32(bytes, 0);
    const int32_t upper = _mm256_extract_epi32(bytes, 4);
    std::memcpy(out + i, &lower, 4);
    std::memcpy(out + i + 4, &upper, 4);
  }
  return i;
}
#elif defined(__aarch64__)
int64_t run_neon(const int32_t* sums, const num::Multiplier* multipliers, int64_t count, const Output& output,
                 uint8_t* out) {
  const int32x4_t one = vdupq_n_s32(1);
  const int32x4_t zero = vdupq_n_s32(0);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const int32x4x2_t pairs = vld2q_s32(reinterpret_cast<const int32_t*>(multipliers + i));
    const int32x4_t left = vandq_s32(vmaxq_s32(pairs.val[1], zero), vdupq_n_s32(31));
    const int32x4_t right = vmaxq_s32(vnegq_s32(pairs.val[1]), zero);
    const int32x4_t product = vqrdmulhq_s32(vshlq_s32(vld1q_s32(sums + i), left), pairs.val[0]);
    const int32x4_t mask = vsubq_s32(vshlq_s32(one, right), one);
    const int32x4_t fallen = vandq_s32(product, mask);
    const int32x4_t negative = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(product), 31));
    const int32x4_t threshold = vaddq_s32(vshrq_n_s32(mask, 1), negative);
    const int32x4_t up = vreinterpretq_s32_u32(vcgtq_s32(fallen, threshold));
    const int32x4_t scaled = vsubq_s32(vshlq_s32(product, vnegq_s32(right)), up);
    const int32x4_t shifted = vaddq_s32(scaled, vdupq_n_s32(output.zero_point));
    const int32x4_t clamped =
        vminq_s32(vmaxq_s32(shifted, vdupq_n_s32(output.low)), vdupq_n_s32(output.high));
    int32_t values[4];
    vst1q_s32(values, clamped);
    for (int k = 0; k < 4; ++k) out[i + k] = static_cast<uint8_t>(values[k]);
  }
  return i;
}
#endif

}  // namespace

void requantize_row(const Requantize& requantize, const int32_t* sums, size_t first_channel, int64_t count,
                    uint8_t* out) {
  int64_t done = 0;
  if (requantize.reference == Reference::LitertRef) {
    [[maybe_unused]] const Output output{requantize.zero_point, requantize.range.low, requantize.range.high};
    [[maybe_unused]] const num::Multiplier* multipliers = requantize.multipliers.data() + first_channel;
#if defined(__x86_64__)
    if (has_avx2()) done = run_avx2(sums, multipliers, count, output, out);
#elif defined(__aarch64__)
    done = run_neon(sums, multipliers, count, output, out);
#endif
  }
  for (; done < count; ++done) out[done] = requantize(sums[done], first_channel + static_cast<size_t>(done));
}

}  // namespace peraxis::kernels::fast
