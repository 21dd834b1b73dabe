// Elements of any type in bytes of any alignment, and the choice of a type by what a tensor states.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/context.hpp"

namespace peraxis::kernels {

template <class T>
class Reader {
 public:
  explicit Reader(Values bytes) : bytes_(bytes.data()) {}
  T operator[](int64_t i) const {
    T value;
    std::memcpy(&value, bytes_ + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }

 private:
  const uint8_t* bytes_;
};

template <class T>
class Writer {
 public:
  explicit Writer(std::span<uint8_t> bytes) : bytes_(bytes.data()) {}
  void set(int64_t i, T value) const {
    std::memcpy(bytes_ + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }

 private:
  uint8_t* bytes_;
};

template <class T>
constexpr ir::DataType data_type_of() {
  if constexpr (std::is_same_v<T, float>) return ir::DataType::Float32;
  if constexpr (std::is_same_v<T, int32_t>) return ir::DataType::Int32;
  if constexpr (std::is_same_v<T, uint8_t>) return ir::DataType::UInt8;
  if constexpr (std::is_same_v<T, int64_t>) return ir::DataType::Int64;
  if constexpr (std::is_same_v<T, int8_t>) return ir::DataType::Int8;
  if constexpr (std::is_same_v<T, int16_t>) return ir::DataType::Int16;
  return ir::DataType::Bool;
}

// Calls body(std::type_identity<T>{}) with the one of `Types` that the tensor has.
template <class... Types, class Body>
Status with_type(const Context& context, const ir::Tensor& tensor, Body&& body) {
  Status status = fail(ErrorCode::Unsupported, "{}: tensor '{}' is {}, which this kernel does not take",
                       context.label(), tensor.name, ir::data_type_name(tensor.type));
  (void)((tensor.type == data_type_of<Types>() ? (status = body(std::type_identity<Types>{}), true)
                                               : false) ||
         ...);
  return status;
}

// The rule of the operator (types, shapes, quantization) as the verifier knows it: after it a kernel may
// follow shapes and constants without asking.
inline Status check_rule(const Context& context) {
  return ir::verify_op(context.graph, context.op_index);
}

// Scale and zero point of a tensor whose rule asks for them.
inline Quant quant_of(const ir::Tensor& tensor) {
  return {tensor.quant.scale[0], static_cast<int32_t>(tensor.quant.zero_point[0])};
}

// Values of an int32 or int64 operand.
inline std::vector<int64_t> integers(const Context& context, size_t input) {
  const int64_t count = context.input(input).elements();
  std::vector<int64_t> out(static_cast<size_t>(count));
  const bool wide = context.input(input).type == ir::DataType::Int64;
  for (int64_t i = 0; i < count; ++i) {
    out[static_cast<size_t>(i)] =
        wide ? Reader<int64_t>(context.inputs[input])[i] : int64_t{Reader<int32_t>(context.inputs[input])[i]};
  }
  return out;
}

template <class T>
T clamp_to(int64_t value, ir::StoredRange range) {
  if (value < range.low) value = range.low;
  if (value > range.high) value = range.high;
  return static_cast<T>(value);
}

// What a fused activation leaves of numbers that are not quantized. Without one LiteRT still clamps to the
// finite numbers.
template <class T>
struct Bounds {
  T low, high;
  T operator()(T value) const {  // NaN passes
    const T raised = value < low ? low : value;
    return high < raised ? high : raised;
  }
};
template <class T>
Bounds<T> activation_bounds(ir::Activation activation) {
  Bounds<T> bounds{std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  if (activation == ir::Activation::Relu || activation == ir::Activation::Relu6) bounds.low = T{0};
  if (activation == ir::Activation::Relu6) bounds.high = T{6};
  if (activation == ir::Activation::ReluN1To1) bounds = {static_cast<T>(-1), T{1}};
  return bounds;
}

}  // namespace peraxis::kernels
