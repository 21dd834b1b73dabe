// Data movement: the output is a strided view of the input, written out densely.
#pragma once

#include "kernels/context.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {

// Offsets and shape count elements of the input's type; the caller has checked that they stay inside.
inline void copy_view(const Context& context, size_t input, size_t output, const std::vector<int64_t>& shape,
                      const Offsets& view) {
  const int64_t size = ir::data_type_bytes(context.input(input).type);
  const uint8_t* from = context.inputs[input].data();
  uint8_t* to = context.outputs[output].data();
  const Offsets unused{0, std::vector<int64_t>(shape.size(), 0)};
  // A last dimension in one piece is one copy.
  std::vector<int64_t> pieces = shape;
  int64_t run = size;
  if (!shape.empty() && view.strides.back() == 1) {
    run *= shape.back();
    pieces.back() = shape.back() == 0 ? 0 : 1;
  }
  if (run == 1) {
    walk(pieces, view, unused, [&](int64_t i, int64_t) { *to++ = from[i]; });
    return;
  }
  walk(pieces, view, unused, [&](int64_t i, int64_t) {
    std::memcpy(to, from + i * size, static_cast<size_t>(run));
    to += run;
  });
}

// The whole input, in its order.
inline Status copy_all(const Context& context, size_t input = 0) {
  if (!context.inputs[input].empty())
    std::memcpy(context.outputs[0].data(), context.inputs[input].data(), context.inputs[input].size());
  return {};
}

// A tensor around one of its axes: `outer` slices of `size` entries of `inner` bytes.
struct Around {
  int64_t outer = 1, size = 1, inner = 1;
};
inline Around around(const ir::Tensor& tensor, size_t axis) {
  Around a{1, tensor.shape[axis], ir::data_type_bytes(tensor.type)};
  for (size_t d = 0; d < axis; ++d) a.outer *= tensor.shape[d];
  for (size_t d = axis + 1; d < tensor.shape.size(); ++d) a.inner *= tensor.shape[d];
  return a;
}

}  // namespace peraxis::kernels::reference
