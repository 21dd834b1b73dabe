// Operators of one tensor. An 8-bit one is a function of 256 stored values: computed once each, then looked
// up.
#pragma once

#include <array>

#include "kernels/elements.hpp"

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

// out[i] = function(in[i]) for elements of type In and Out; the rule of the operator has been checked.
template <class In, class Out = In, class Function>
Status map_elements(const Context& context, Function function) {
  const Reader<In> in(context.inputs[0]);
  const Writer<Out> out(context.outputs[0]);
  const int64_t count = context.output().elements();
  for (int64_t i = 0; i < count; ++i) out.set(i, static_cast<Out>(function(in[i])));
  return {};
}

// `function` maps a stored value of an int8, uint8 or int16 tensor to one that fits the output's type.
template <class Function>
Status map_stored(const Context& context, Function function) {
  if (context.input(0).type == ir::DataType::Int16) return map_elements<int16_t>(context, function);
  return apply_table(context, [&](int32_t q) { return static_cast<uint8_t>(function(q)); });
}

}  // namespace peraxis::kernels::reference
