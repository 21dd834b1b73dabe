// An 8-bit operator of one operand is a function of 256 stored values: computed once each, then looked up.
#pragma once

#include <array>

#include "kernels/context.hpp"

namespace peraxis::kernels::reference {

// Shapes must be equal. `function` maps a stored input value to the byte that is written.
template <class Function>
Status apply_table(const Context& context, Function function) {
  if (context.input(0).shape != context.output().shape) {
    return fail(ErrorCode::InvalidModel, "{}: input shape {} and output shape {} differ", context.label(),
                shape_text(context.input(0).shape), shape_text(context.output().shape));
  }
  std::array<uint8_t, 256> table{};
  for (size_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = function(stored(static_cast<uint8_t>(byte), context.input(0).type));
  }
  const Values in = context.inputs[0];
  const std::span<uint8_t> out = context.outputs[0];
  for (size_t i = 0; i < out.size(); ++i) out[i] = table[in[i]];
  return {};
}

}  // namespace peraxis::kernels::reference
