// MEAN: the division by the number of elements is folded into the multiplier, whose mantissa is truncated,
// not rounded.
#include <algorithm>
#include <bit>

#include "kernels/registry.hpp"
#include "kernels/walk.hpp"
#include "num/multiplier.hpp"

namespace peraxis::kernels::reference {
namespace {

struct Reduction {
  std::vector<bool> reduced;  // by input dimension
  int64_t count = 1;          // elements behind one output value
  Offsets output;             // where an input element's sum lives
};

Result<Reduction> make_reduction(const Context& context, bool keep_dims) {
  const ir::Tensor& in = context.input(0);
  const size_t rank = in.shape.size();
  Reduction reduction{std::vector<bool>(rank, false), 1, {}};
  const std::vector<int32_t> values = PERAXIS_TRY(integer_operand(context, 1));
  const std::vector<int64_t> axes =
      PERAXIS_TRY_NOTE(ir::reduce_axes(values, static_cast<int64_t>(rank)), "in {}", context.label());
  for (const int64_t axis : axes) reduction.reduced[static_cast<size_t>(axis)] = true;
  std::vector<int32_t> kept, expected;
  for (size_t d = 0; d < rank; ++d) {
    if (reduction.reduced[d]) {
      reduction.count *= in.shape[d];
      if (keep_dims) expected.push_back(1);
    } else {
      kept.push_back(in.shape[d]);
      expected.push_back(in.shape[d]);
    }
  }
  if (context.output().shape != expected || reduction.count < 1) {
    return fail(ErrorCode::InvalidModel, "{}: reducing {} gives {}, the output is {}", context.label(),
                shape_text(in.shape), shape_text(expected), shape_text(context.output().shape));
  }
  const std::vector<int64_t> strides = dense_strides(kept);
  for (size_t d = 0, next = 0; d < rank; ++d) {
    reduction.output.strides.push_back(reduction.reduced[d] ? 0 : strides[next++]);
  }
  return reduction;
}

num::Multiplier fold_count(num::Multiplier multiplier, int64_t count) {
  const int log2_count = 63 - std::countl_zero(static_cast<uint64_t>(count));
  const int shift = std::min({log2_count, 32, 31 + multiplier.exponent});
  const int64_t mantissa = (int64_t{multiplier.mantissa} << shift) / count;
  return {static_cast<int32_t>(mantissa), multiplier.exponent - shift};
}

}  // namespace

Status mean(const Context& context) {
  PERAXIS_TRY(check_arity(context, 2, 2));
  const auto* a = PERAXIS_TRY(attributes<ir::ReduceAttributes>(context));
  const Quant x = PERAXIS_TRY(activation_quant(context, context.input(0)));
  const Quant y = PERAXIS_TRY(activation_quant(context, context.output()));
  const ir::DataType type = context.input(0).type;
  if (type != context.output().type) {
    return fail(ErrorCode::Unsupported, "{}: input and output types differ", context.label());
  }
  const Reduction reduction = PERAXIS_TRY(make_reduction(context, a->keep_dims));
  const num::Multiplier multiplier = fold_count(
      num::quantize_multiplier(static_cast<double>(x.scale) / static_cast<double>(y.scale)), reduction.count);
  const std::vector<int32_t>& shape = context.input(0).shape;
  std::vector<int64_t> sums(context.outputs[0].size(), 0);
  const Offsets dense{0, dense_strides(shape)};
  const uint8_t* in = context.inputs[0].data();
  walk({shape.begin(), shape.end()}, dense, reduction.output,
       [&](int64_t i, int64_t o) { sums[static_cast<size_t>(o)] += stored(in[i], type); });
  const ir::StoredRange range = ir::type_range(type);
  for (size_t i = 0; i < sums.size(); ++i) {
    const int32_t centred = num::wrap_int32(num::wrap_int32(sums[i]) - x.zero_point * reduction.count);
    const int32_t scaled = num::multiply_two_roundings(centred, multiplier);
    context.outputs[0][i] = clamp_to_byte(num::wrap_int32(int64_t{scaled} + y.zero_point), range);
  }
  return {};
}

}  // namespace peraxis::kernels::reference
