// What the two forms of UNIDIRECTIONAL_SEQUENCE_LSTM share: sizes, and the order of steps.
#pragma once

#include "ir/operands.hpp"
#include "kernels/elements.hpp"

namespace peraxis::kernels::reference {

struct LstmSizes {
  int64_t batch = 1, time = 1, input = 1, cells = 1, outputs = 1;
  bool time_major = false, coupled = false, peephole = false;

  // Which row of inputs and outputs a step of a sequence has.
  int64_t row(int64_t b, int64_t t) const { return time_major ? t * batch + b : b * time + t; }
};

LstmSizes lstm_sizes(const Context& context, const ir::LstmAttributes& attributes);

Status int8_lstm(const Context& context, const ir::LstmAttributes& attributes, const LstmSizes& sizes);

}  // namespace peraxis::kernels::reference
