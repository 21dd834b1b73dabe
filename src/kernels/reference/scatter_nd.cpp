// SCATTER_ND: an output of zeros, to which every update is added at the place its row of indices names.
// Updates of one place add up; integers wrap, and for bool one true is enough.
#include <algorithm>

#include "kernels/reference/combine.hpp"
#include "kernels/registry.hpp"

namespace peraxis::kernels::reference {
namespace {

// Where the slice of each row of indices begins, in elements.
Result<std::vector<int64_t>> places(const Context& context) {
  const std::vector<int32_t>& shape = context.output().shape;
  const auto depth = static_cast<size_t>(context.input(0).shape.back());
  const std::vector<int64_t> strides = dense_strides(shape);
  const std::vector<int64_t> indices = integers(context, 0);
  std::vector<int64_t> out;
  for (size_t row = 0; row + depth <= indices.size(); row += depth) {
    int64_t at = 0;
    for (size_t d = 0; d < depth; ++d) {
      const int64_t index = indices[row + d];
      if (index < 0 || index >= shape[d]) {
        return fail(ErrorCode::InvalidArgument, "{}: index {} is outside dimension {} of size {}",
                    context.label(), index, d, shape[d]);
      }
      at += index * strides[d];
    }
    out.push_back(at);
  }
  return out;
}

}  // namespace

Status scatter_nd(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const std::vector<int64_t> wanted = integers(context, 2);
  const std::vector<int32_t>& shape = context.output().shape;
  if (!std::equal(wanted.begin(), wanted.end(), shape.begin(), shape.end())) {
    return fail(ErrorCode::Unsupported, "{}: the shape computed at run time is {}, the model's output is {}",
                context.label(), shape_text(wanted), shape_text(shape));
  }
  const std::vector<int64_t> starts = PERAXIS_TRY(places(context));
  std::ranges::fill(context.outputs[0], uint8_t{0});
  const int64_t slice = context.input(1).elements() / static_cast<int64_t>(starts.size());
  if (context.output().type == ir::DataType::Bool) {
    for (size_t row = 0; row < starts.size(); ++row)
      for (int64_t i = 0; i < slice; ++i) {
        uint8_t& to = context.outputs[0][static_cast<size_t>(starts[row] + i)];
        to = to != 0 || context.inputs[1][row * static_cast<size_t>(slice) + static_cast<size_t>(i)] != 0 ? 1
                                                                                                          : 0;
      }
    return {};
  }
  return with_type<float, int8_t, uint8_t, int32_t, int64_t>(
      context, context.output(), [&]<class T>(std::type_identity<T>) -> Status {
        const Reader<T> updates(context.inputs[1]);
        const Reader<T> so_far(context.outputs[0]);
        const Writer<T> out(context.outputs[0]);
        for (size_t row = 0; row < starts.size(); ++row)
          for (int64_t i = 0; i < slice; ++i) {
            const int64_t at = starts[row] + i;
            out.set(at, arithmetic<T>(so_far[at], updates[static_cast<int64_t>(row) * slice + i], '+'));
          }
        return {};
      });
}

}  // namespace peraxis::kernels::reference
