// CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED of float32 and of int16 activations with int8 weights.
#pragma once

#include "kernels/context.hpp"

namespace peraxis::kernels::reference {

Status wide_convolution(const Context& context);  // conv_2d and depthwise_conv_2d
Status wide_fully_connected(const Context& context);

}  // namespace peraxis::kernels::reference
