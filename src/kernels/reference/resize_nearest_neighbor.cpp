// RESIZE_NEAREST_NEIGHBOR: positions are computed in float32, then values are copied.
#include <cstring>

#include "kernels/registry.hpp"
#include "num/nearest.hpp"

namespace peraxis::kernels::reference {
namespace {

// The source index of each output index along one axis.
std::vector<int64_t> source_indices(int64_t in, int64_t out, const ir::ResizeAttributes& a) {
  std::vector<int64_t> indices(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i)
    indices[static_cast<size_t>(i)] = num::nearest_index(i, in, out, a.align_corners, a.half_pixel_centers);
  return indices;
}

}  // namespace

Status resize_nearest_neighbor(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  const auto* a = PERAXIS_TRY(attributes<ir::ResizeAttributes>(context));
  const ir::Tensor& in = context.input(0);
  const ir::Tensor& out = context.output();
  const std::vector<int32_t> size = PERAXIS_TRY(integer_operand(context, 1));
  const bool maps = in.shape.size() == 4 && out.shape.size() == 4 && in.type == out.type && size.size() == 2;
  if (!maps || out.shape[0] != in.shape[0] || out.shape[3] != in.shape[3] || out.shape[1] != size[0] ||
      out.shape[2] != size[1] || in.shape[1] < 1 || in.shape[2] < 1) {
    return fail(ErrorCode::InvalidModel, "{}: {} cannot be resized to {}", context.label(),
                shape_text(in.shape), shape_text(out.shape));
  }
  const ir::Nhwc from = ir::nhwc(in);
  const ir::Nhwc to = ir::nhwc(out);
  const std::vector<int64_t> rows = source_indices(from.h, to.h, *a);
  const std::vector<int64_t> cols = source_indices(from.w, to.w, *a);
  const int64_t pixel_bytes = from.c * ir::data_type_bytes(in.type);
  if (pixel_bytes == 0) return {};
  uint8_t* destination = context.outputs[0].data();
  for (int64_t n = 0; n < to.n; ++n) {
    for (const int64_t row : rows) {
      for (const int64_t col : cols) {
        const int64_t pixel = (n * from.h + row) * from.w + col;
        std::memcpy(destination, context.inputs[0].data() + pixel * pixel_bytes,
                    static_cast<size_t>(pixel_bytes));
        destination += pixel_bytes;
      }
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference
