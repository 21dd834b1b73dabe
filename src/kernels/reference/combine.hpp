// Operators of two tensors that spread over one output: a walk and a function of two values.
#pragma once

#include "kernels/elements.hpp"
#include "kernels/reference/broadcast.hpp"

namespace peraxis::kernels::reference {

// out[...] = function(a, b) for every element, a and b as T; what it returns becomes a T.
template <class T, class Function>
Status combine(const Context& context, Function function) {
  const Broadcast shapes = PERAXIS_TRY(broadcast(context));
  const Reader<T> a(context.inputs[0]);
  const Reader<T> b(context.inputs[1]);
  const Writer<T> out(context.outputs[0]);
  int64_t at = 0;
  walk(shapes.shape, shapes.first, shapes.second,
       [&](int64_t i, int64_t j) { out.set(at++, static_cast<T>(function(a[i], b[j]))); });
  return {};
}

// The same where some pairs have no result, which `valid(a, b)` tells.
template <class T, class Valid, class Function>
Status combine_checked(const Context& context, const char* why, Valid valid, Function function) {
  const Broadcast shapes = PERAXIS_TRY(broadcast(context));
  const Reader<T> a(context.inputs[0]);
  const Reader<T> b(context.inputs[1]);
  bool all = true;
  walk(shapes.shape, shapes.first, shapes.second,
       [&](int64_t i, int64_t j) { all = all && valid(a[i], b[j]); });
  if (!all) return fail(ErrorCode::InvalidArgument, "{}: {}", context.label(), why);
  return combine<T>(context, function);
}

// a + b, a - b or a * b; integers wrap.
template <class T>
T arithmetic(T a, T b, char sign) {
  if constexpr (std::is_floating_point_v<T>) {
    return sign == '+' ? a + b : sign == '-' ? a - b : a * b;
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    const auto x = static_cast<Unsigned>(a);
    const auto y = static_cast<Unsigned>(b);
    return static_cast<T>(sign == '+' ? x + y : sign == '-' ? x - y : x * y);
  }
}

// The operator of that sign: both inputs and the output of one type. Values without a scale are combined
// here, quantized ones by `quantized(std::type_identity<T>, attributes)`.
template <class Quantized>
Status arithmetic_operator(const Context& context, char sign, Quantized quantized) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  const auto* binary = PERAXIS_TRY(attributes<ir::BinaryAttributes>(context));
  const ir::DataType type = context.output().type;
  if (context.input(0).type != type || context.input(1).type != type) {
    return fail(ErrorCode::Unsupported, "{}: inputs and output must have one type", context.label());
  }
  return with_type<float, int32_t, int64_t, int8_t, uint8_t, int16_t>(
      context, context.output(), [&]<class T>(std::type_identity<T> as_type) -> Status {
        if constexpr (sizeof(T) >= 4) {
          const Bounds<T> bounds = activation_bounds<T>(binary->activation);
          return combine<T>(context, [&](T a, T b) { return bounds(arithmetic<T>(a, b, sign)); });
        } else {
          return quantized(as_type, *binary);
        }
      });
}

}  // namespace peraxis::kernels::reference
