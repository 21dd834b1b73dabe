// Small programs of the blocks beside the plain convolution, register by register: the DPU alone, look-up
// table, pooling, un-pooling, and convolutions with a tensor operand, packed pixels or inserted samples.
#pragma once

#include "program.hpp"

namespace peraxis::machine::test {

inline constexpr uint32_t kSecond = 0xC00000;  // a second tensor

// A tile of 3 rows of a map of 4 x 5 with 32 channels: (second + 2) * 3 >> 1 is added to the first tensor.
Program add_program();
// One row of 16 x 16 values, BN times 9, then the look-up table; `table` fills it.
Program table_program();
Program lookup_program();
// 2 surfaces of 6 x 5; windows of 3 x 2, stride 2 x 1. Average: the padding value counts.
Program max_pool_program();
Program average_pool_program();
// 4 x 5 atoms, each repeated 2 x 2.
Program unpool_program();

// Convolutions: a layer that loads what the program reads.
Layer add_layer();
Program conv_add_program();
// The same with surfaces of the tensor 40 atoms apart in place of 30.
Program conv_add_padded_program();
Layer packed_layer();
Program packed_program();
Layer deconv_layer();
Program deconv_program();

// Two tensors of random bytes at kFeatures and kSecond, room at kOutput.
void load_tensors(Bench& bench, uint32_t seed);

}  // namespace peraxis::machine::test
