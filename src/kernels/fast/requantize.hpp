// Accumulators of neighbouring channels to stored values, several at a time.
#pragma once

#include "kernels/convolution.hpp"

namespace peraxis::kernels::fast {

// out[i] = requantize(sums[i], first_channel + i) for i below count.
void requantize_row(const Requantize& requantize, const int32_t* sums, size_t first_channel, int64_t count,
                    uint8_t* out);

}  // namespace peraxis::kernels::fast
