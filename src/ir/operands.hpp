// Which inputs of a convolution-like operator are what: TRANSPOSE_CONV has the output's shape before them.
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

}  // namespace peraxis::ir
