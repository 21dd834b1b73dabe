// Inner loops of the fast MAC path, one implementation an instruction set, chosen at run time. All of them
// compute the same exact integer sums.
#pragma once

#include <cstdint>

namespace peraxis::machine {

// Direct convolution works in blocks of 32 input channels x 32 kernels at one tap. Inputs are stored as
// byte + 128, so that instructions for unsigned x signed products can be used.
struct MacKernels {
  const char* name;
  int64_t block_bytes;
  // weights: [32 kernels][32 channels] -> the order `row` wants.
  void (*pack)(const int8_t* weights, uint8_t* to);
  // acc[pixel][32] = start[32] + the sum over blocks b of block b's weights times the 32 bytes at
  // tile + pixel * step + offsets[b].
  void (*row)(const uint8_t* tile, int64_t step, int64_t pixels, const int64_t* offsets,
              const uint8_t* packed, int64_t blocks, const int32_t* start, int32_t* acc);
  // One kernel alone. acc[pixel] = start + the sum over blocks b of the 32 weights[b] times the 32 bytes at
  // tile + pixel * step + offsets[b].
  void (*dot_row)(const uint8_t* tile, int64_t step, int64_t pixels, const int64_t* offsets,
                  const int16_t* weights, int64_t blocks, int32_t start, int32_t* acc);
  // acc[pixel][64] = sum over taps t of weights[t][64] times the 64 signed bytes at the same place.
  void (*depthwise_row)(const int8_t* tile, int64_t step, int64_t pixels, const int64_t* offsets,
                        const int16_t* weights, int64_t taps, int32_t* acc);
};

const MacKernels& portable_mac();
const MacKernels* avx2_mac();  // null when the processor or the build has none
const MacKernels* avx512_mac();
const MacKernels& best_mac();

}  // namespace peraxis::machine
