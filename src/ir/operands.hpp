// Which inputs of a convolution-like operator are what: TRANSPOSE_CONV has the output's shape before them.
// And those of UNIDIRECTIONAL_SEQUENCE_LSTM.
#pragma once

#include "ir/graph.hpp"

namespace peraxis::ir {

struct ConvOperands {
  int32_t input = kAbsent, weights = kAbsent, bias = kAbsent;
};

// The operator must be convolution-like and verified.
inline ConvOperands conv_operands(const Op& op) {
  const bool transposed = op.kind == OpKind::TransposeConv;
  const size_t bias = transposed ? 3 : 2;
  return {op.inputs[transposed ? 2 : 0], op.inputs[1], op.inputs.size() > bias ? op.inputs[bias] : kAbsent};
}

// Gates of an LSTM, in the order of its weights. The first input slot of each list has the input gate's.
inline constexpr size_t kInputGate = 0, kForgetGate = 1, kCellGate = 2, kOutputGate = 3;
inline constexpr size_t kLstmInputWeights = 1, kLstmRecurrentWeights = 5, kLstmPeephole = 9, kLstmBias = 12;
inline constexpr size_t kLstmProjection = 16, kLstmProjectionBias = 17;
inline constexpr size_t kLstmOutputState = 18, kLstmCellState = 19, kLstmNormalization = 20;

// The cell gate has no peephole weights.
inline constexpr size_t lstm_peephole(size_t gate) {
  return kLstmPeephole + (gate == kOutputGate ? 2 : gate);
}

}  // namespace peraxis::ir
