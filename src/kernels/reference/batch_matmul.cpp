// BATCH_MATMUL: one matrix product for each index of the leading dimensions, which broadcast.
#include "kernels/reference/accumulator.hpp"
#include "kernels/registry.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {
namespace {

// Elements from one index to the next: leading dimensions (0 where one matrix serves all), rows, columns of
// the operand as the product reads it.
struct Matrices {
  Offsets batches;
  int64_t row = 1, column = 1;
};

Matrices matrices(const ir::Tensor& tensor, size_t batch_rank, bool swapped) {
  const std::vector<int32_t>& shape = tensor.shape;
  const std::vector<int64_t> strides = dense_strides(shape);
  const size_t own = shape.size() - 2;
  Matrices out{{0, std::vector<int64_t>(batch_rank, 0)}, strides[own], strides[own + 1]};
  if (swapped) std::swap(out.row, out.column);
  for (size_t d = 0; d < own; ++d) {
    if (shape[d] != 1) out.batches.strides[batch_rank - own + d] = strides[d];
  }
  return out;
}

template <class T, class Sum, class Store>
Status multiply_matrices(const Context& context, const ir::BatchMatmulAttributes& attributes_of_op,
                         int32_t zero_a, int32_t zero_b, Store store) {
  const std::vector<int32_t>& shape = context.output().shape;
  const size_t batch_rank = shape.size() - 2;
  const Matrices a = matrices(context.input(0), batch_rank, attributes_of_op.adj_x);
  const Matrices b = matrices(context.input(1), batch_rank, attributes_of_op.adj_y);
  const std::vector<int32_t>& first = context.input(0).shape;
  const int64_t depth = first[first.size() - (attributes_of_op.adj_x ? 2 : 1)];
  const Reader<T> left(context.inputs[0]);
  const Reader<T> right(context.inputs[1]);
  const Writer<T> out(context.outputs[0]);
  int64_t at = 0;
  walk({shape.begin(), shape.end() - 2}, a.batches, b.batches, [&](int64_t of_a, int64_t of_b) {
    for (int64_t row = 0; row < shape[batch_rank]; ++row) {
      for (int64_t column = 0; column < shape[batch_rank + 1]; ++column) {
        Sum sum{0};
        for (int64_t d = 0; d < depth; ++d) {
          const T p = left[of_a + row * a.row + d * a.column];
          const T q = right[of_b + d * b.row + column * b.column];
          if constexpr (std::is_same_v<T, float>) {
            sum = accumulate(sum, p, q);
          } else {
            sum = accumulate(sum, p - zero_a, q - zero_b);
          }
        }
        out.set(at++, store(sum));
      }
    }
  });
  return {};
}

}  // namespace

Status batch_matmul(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const auto* a = PERAXIS_TRY(attributes<ir::BatchMatmulAttributes>(context));
  if (context.output().type == ir::DataType::Float32)
    return multiply_matrices<float, float>(context, *a, 0, 0, [](float sum) { return sum; });
  const Quant left = quant_of(context.input(0));
  const Quant right = quant_of(context.input(1));
  const Quant out = quant_of(context.output());
  const float product = left.scale * right.scale;
  const num::Multiplier multiplier =
      num::quantize_multiplier(static_cast<double>(product) / static_cast<double>(out.scale));
  const ir::StoredRange range = ir::type_range(context.output().type);
  if (context.output().type == ir::DataType::Int16) {
    return multiply_matrices<int16_t, int64_t>(context, *a, 0, 0, [&](int64_t sum) {
      return clamp_to<int16_t>(num::multiply_15_bits(sum, multiplier), range);
    });
  }
  return multiply_matrices<int8_t, int32_t>(context, *a, left.zero_point, right.zero_point, [&](int32_t sum) {
    return clamp_to<int8_t>(int64_t{num::multiply_two_roundings(sum, multiplier)} + out.zero_point, range);
  });
}

}  // namespace peraxis::kernels::reference
