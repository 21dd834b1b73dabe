// Inner loops of the fast MAC path, one implementation an instruction set, chosen at run time. All of them
// compute the same exact integer sums.
#pragma once

#include <cstdint>

namespace peraxis::machine {

// The inputs of a row of output pixels: of each, so many bytes at tile + pixel * step + offsets[i].
template <class T>
struct PixelRow {
  const T* tile;
  int64_t step;    // values from one pixel to the next
  int64_t pixels;  // outputs
  const int64_t* offsets;
  int64_t places;  // offsets: blocks, or taps of a depthwise convolution

  PixelRow from(int64_t pixel) const { return {tile + pixel * step, step, pixels - pixel, offsets, places}; }
};

// Direct convolution works in blocks of 32 input channels x 32 kernels at one tap. Inputs are stored as
// byte + 128, so that instructions for unsigned x signed products can be used.
struct MacKernels {
  const char* name;
  int64_t block_bytes;
  // weights: [32 kernels][32 channels] -> the order `row` wants.
  void (*pack)(const int8_t* weights, uint8_t* to);
  // acc[pixel][32] = start[32] + the sum over blocks b of block b's weights times the 32 bytes at place b.
  void (*row)(const PixelRow<uint8_t>& inputs, const uint8_t* packed, const int32_t* start, int32_t* acc);
  // One kernel alone. acc[pixel] = start + the sum over blocks b of the 32 weights[b] times the 32 bytes at
  // place b.
  void (*dot_row)(const PixelRow<uint8_t>& inputs, const int16_t* weights, int32_t start, int32_t* acc);
  // acc[pixel][64] = sum over taps t of weights[t][64] times the 64 signed bytes at place t.
  void (*depthwise_row)(const PixelRow<int8_t>& inputs, const int16_t* weights, int32_t* acc);
};

const MacKernels& portable_mac();
const MacKernels* avx2_mac();  // null when the processor or the build has none
const MacKernels* avx512_mac();
const MacKernels& best_mac();

}  // namespace peraxis::machine
