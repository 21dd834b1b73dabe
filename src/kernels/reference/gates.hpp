// The logistic function and tanh of 16-bit fixed point, as gates of an LSTM have them: the algorithms of
// fixed_point.hpp in half the width. Q3.12 means a real value times 2^12; results are Q0.15.
#pragma once

#include <cstdint>

namespace peraxis::kernels::reference {

int16_t gate_logistic(int16_t x);                // of Q3.12
int16_t gate_tanh(int16_t x, int integer_bits);  // of 0 to 6 integer bits

}  // namespace peraxis::kernels::reference
