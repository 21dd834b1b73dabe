// Depthwise sums with two taps at a time, for CPUs that multiply and add pairs of int16 (AVX2).
#pragma once

#include "kernels/convolution.hpp"

namespace peraxis::kernels::fast {

inline constexpr int64_t kPairedChannels = 16;  // channels of a block

// Weights of a depthwise convolution as [block of 16 channels][pair of taps][32]; an odd last tap is paired
// with zeros, channels beyond the last are zero.
class PairedTaps {
 public:
  // `row` and `channels`: elements of the padded image from one row, and one column, to the next.
  PairedTaps(const Convolution& conv, int64_t row, int64_t channels);

  // sums[c] = the sum over all taps of channels `block` * 16 + c; `pixel` is the first tap's place in the
  // image. The image's channels are a multiple of 16. Only where has_avx2().
  void accumulate(const int16_t* pixel, int64_t block, int32_t (&sums)[kPairedChannels]) const;

 private:
  std::vector<int64_t> offsets_;  // of the taps in the image, an even number
  std::vector<int16_t> weights_;
};

}  // namespace peraxis::kernels::fast
