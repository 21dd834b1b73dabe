#include "kernels/reference/broadcast.hpp"

#include <algorithm>

namespace peraxis::kernels::reference {
namespace {

// Dimension `d` counted from the end, 1 when the shape is shorter.
int32_t from_end(const std::vector<int32_t>& shape, size_t d) {
  return d < shape.size() ? shape[shape.size() - 1 - d] : 1;
}

}  // namespace

Offsets spread(const std::vector<int32_t>& shape, size_t rank) {
  const std::vector<int64_t> dense = dense_strides(shape);
  Offsets offsets{0, std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) offsets.strides[rank - shape.size() + i] = dense[i];
  }
  return offsets;
}

Result<Broadcast> broadcast(const Context& context) {
  const auto& a = context.input(0).shape;
  const auto& b = context.input(1).shape;
  const auto& out = context.output().shape;
  bool fits = out.size() == std::max(a.size(), b.size());
  for (size_t d = 0; fits && d < out.size(); ++d) {
    const int32_t x = from_end(a, d);
    const int32_t y = from_end(b, d);
    fits = (x == y || x == 1 || y == 1) && from_end(out, d) == (x == 1 ? y : x);
  }
  if (!fits) {
    return fail(ErrorCode::InvalidModel, "{}: shapes {} and {} do not broadcast to {}", context.label(),
                shape_text(a), shape_text(b), shape_text(out));
  }
  return Broadcast{{out.begin(), out.end()}, spread(a, out.size()), spread(b, out.size())};
}

}  // namespace peraxis::kernels::reference
