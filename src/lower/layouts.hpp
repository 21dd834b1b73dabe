// How the chip wants weights (docs/hardware/weights.md) and per-channel operands
// (docs/hardware/dpu_rdma.md#operand-records) in memory.
// The machine model has its own reading of the same layouts, on purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "requant/parameters.hpp"

namespace peraxis::lower {

// Weight of output slot `out`, tap (ky, kx), input slot `in`, as stored (int8 domain).
template <class Weight>
std::vector<uint8_t> pack_direct_weights(int64_t out_channels, int64_t in_channels, int64_t kernel_h,
                                         int64_t kernel_w, Weight&& weight) {
  // [out/32][in/32][kh][kw][32 out][32 in]; the last input block is 16 wide when 16 channels are left.
  std::vector<uint8_t> packed(static_cast<size_t>(out_channels * in_channels * kernel_h * kernel_w));
  size_t at = 0;
  for (int64_t o0 = 0; o0 < out_channels; o0 += 32)
    for (int64_t i0 = 0; i0 < in_channels; i0 += 32) {
      const int64_t width = in_channels - i0 < 32 ? in_channels - i0 : 32;
      for (int64_t ky = 0; ky < kernel_h; ++ky)
        for (int64_t kx = 0; kx < kernel_w; ++kx)
          for (int64_t o = o0; o < o0 + 32; ++o)
            for (int64_t i = i0; i < i0 + width; ++i)
              packed[at++] = static_cast<uint8_t>(weight(o, ky, kx, i));
    }
  return packed;
}

template <class Weight>
std::vector<uint8_t> pack_depthwise_weights(int64_t channels, int64_t kernel_h, int64_t kernel_w,
                                            Weight&& weight) {
  // [c/64][kh][kw][64]; the last block is as wide as the channels that are left (a multiple of 16).
  std::vector<uint8_t> packed(static_cast<size_t>(channels * kernel_h * kernel_w));
  size_t at = 0;
  for (int64_t c0 = 0; c0 < channels; c0 += 64) {
    const int64_t width = channels - c0 < 64 ? channels - c0 : 64;
    for (int64_t ky = 0; ky < kernel_h; ++ky)
      for (int64_t kx = 0; kx < kernel_w; ++kx)
        for (int64_t c = c0; c < c0 + width; ++c) packed[at++] = static_cast<uint8_t>(weight(c, ky, kx));
  }
  return packed;
}

// BRDMA operands of `slots` channels. slot_params[s] is null for a dummy channel.
// With `records`: 64 bytes a 8 channels {A int32 x8, B int16 x8, C int16 x8}, B = -weight zero point.
// Without: dense int32 A.
std::vector<uint8_t> pack_operands(const std::vector<const requant::ChannelParams*>& slot_params,
                                   bool records, int32_t weight_zero_point);

}  // namespace peraxis::lower
