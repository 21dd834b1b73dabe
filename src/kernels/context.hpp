// What a kernel receives, and the questions every kernel asks about its operands. run_op has already
// checked that each span has the size its tensor states; a kernel checks how the shapes fit together.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "ir/shape.hpp"
#include "kernels/kernels.hpp"

namespace peraxis::kernels {

using ir::shape_text;

struct Context {
  const ir::Graph& graph;
  size_t op_index;
  std::span<const Values> inputs;
  std::span<const std::span<uint8_t>> outputs;
  const Options& options;

  const ir::Op& op() const { return graph.ops[op_index]; }
  std::string label() const { return graph.op_label(op_index); }
  // Input `i` was given (optional inputs may be missing at the end of the list or marked absent).
  bool has_input(size_t i) const { return i < op().inputs.size() && op().inputs[i] != ir::kAbsent; }
  const ir::Tensor& input(size_t i) const { return graph.tensor(op().inputs[i]); }
  const ir::Tensor& output(size_t i = 0) const { return graph.tensor(op().outputs[i]); }
};

// The operator's attributes, or an error when they are of another operator.
template <class Attributes>
Result<const Attributes*> attributes(const Context& context) {
  if (const auto* found = std::get_if<Attributes>(&context.op().attributes)) return found;
  return fail(ErrorCode::InvalidModel, "{}: the attributes belong to another kind of operator",
              context.label());
}

// The first `required` inputs are there, no more than `limit` are listed, and `outputs` outputs.
Status check_arity(const Context& context, size_t required, size_t limit, size_t outputs = 1);

bool is_8bit(ir::DataType type);

// A byte of an int8 or uint8 tensor as a number. Storing is a cast to uint8_t for both types.
inline int32_t stored(uint8_t byte, ir::DataType type) {
  return type == ir::DataType::Int8 ? static_cast<int32_t>(static_cast<int8_t>(byte))
                                    : static_cast<int32_t>(byte);
}

struct Quant {
  float scale = 0.0F;
  int32_t zero_point = 0;
};

// Scale and zero point of an int8, uint8 or int16 activation: exactly one, the scale positive and finite, the
// zero point a value of the type.
Result<Quant> activation_quant(const Context& context, const ir::Tensor& tensor);
// The same of an int8 or uint8 one only.
Result<Quant> byte_quant(const Context& context, const ir::Tensor& tensor);

// An int32 operand such as axes, paddings or a size.
Result<std::vector<int32_t>> integer_operand(const Context& context, size_t input);

// `axis` counted from the front; negative ones count from the end.
Result<size_t> normalized_axis(const Context& context, int64_t axis, size_t rank);

inline uint8_t clamp_to_byte(int64_t value, ir::StoredRange range) {
  if (value < range.low) value = range.low;
  if (value > range.high) value = range.high;
  return static_cast<uint8_t>(value);
}

// Conversion of a rounded float to int32 as x86 does it: what does not fit, and NaN, becomes -2^31.
inline int32_t float_to_int32(double rounded) {
  const bool fits = rounded >= -2147483648.0 && rounded <= 2147483647.0;
  return fits ? static_cast<int32_t>(rounded) : INT32_MIN;
}

}  // namespace peraxis::kernels
