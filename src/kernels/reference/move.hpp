// Data movement: the output is a strided view of the input, written out densely.
#pragma once

#include "kernels/context.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {

// Offsets and shape count elements of the input's type; the caller has checked that they stay inside.
inline void copy_view(const Context& context, size_t input, size_t output, const std::vector<int64_t>& shape,
                      const Offsets& view) {
  const auto size = static_cast<size_t>(ir::data_type_bytes(context.input(input).type));
  const uint8_t* from = context.inputs[input].data();
  uint8_t* to = context.outputs[output].data();
  const Offsets unused{0, std::vector<int64_t>(shape.size(), 0)};
  if (size == 1) {
    walk(shape, view, unused, [&](int64_t i, int64_t) { *to++ = from[i]; });
    return;
  }
  walk(shape, view, unused, [&](int64_t i, int64_t) {
    std::memcpy(to, from + i * static_cast<int64_t>(size), size);
    to += size;
  });
}

}  // namespace peraxis::kernels::reference
