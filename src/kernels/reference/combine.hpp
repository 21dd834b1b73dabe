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

// Sums, differences and products of integers wrap.
template <class T>
T wrapping(T a, T b, char sign) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto x = static_cast<Unsigned>(a);
  const auto y = static_cast<Unsigned>(b);
  return static_cast<T>(sign == '+' ? x + y : sign == '-' ? x - y : x * y);
}

}  // namespace peraxis::kernels::reference
