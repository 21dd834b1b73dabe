// What PAD, PADV2 and SPACE_TO_BATCH_ND share: an output filled with one value, and the input copied into it.
#pragma once

#include "kernels/elements.hpp"

namespace peraxis::kernels::reference {

// Bytes of one element that means 0: the zero point of a quantized tensor.
std::vector<uint8_t> zero_of(const ir::Tensor& tensor);

// Every element of output 0 becomes `value`.
void fill_with(const Context& context, const std::vector<uint8_t>& value);

// Fills and copies; the paddings are input 1.
Status pad_with(const Context& context, const std::vector<uint8_t>& value);

}  // namespace peraxis::kernels::reference
