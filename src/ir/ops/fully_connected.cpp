// FULLY_CONNECTED (docs/arithmetic.md#fully_connected): weights [units, columns]; the input is read as rows
// of `columns`.
// The weights may be computed at run time; the arithmetic is the same.
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

Status verify_rows_quantization(const Operand& weights) {
  const QuantParams& quant = weights.tensor->quant;
  if (!quant.per_axis()) return {};
  if (quant.quantized_dimension != 0) {
    return fail(ErrorCode::InvalidModel, "{} have quantized_dimension {}; it must be 0", weights.text(),
                quant.quantized_dimension);
  }
  for (const int64_t zero_point : quant.zero_point) {
    if (zero_point != 0) {
      return fail(ErrorCode::InvalidModel,
                  "per-axis {} have the zero point {}; LiteRT ignores it, it must be 0", weights.text(),
                  zero_point);
    }
  }
  return {};
}

}  // namespace

Status verify_fully_connected(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 3));
  const auto attributes = PERAXIS_TRY(view.attributes<FullyConnectedAttributes>());
  const Operand input = view.input(0);
  const Operand weights = view.input(1, "the weights");
  const Operand output = view.output();
  PERAXIS_TRY(verify_weighted_types(input, weights, output));
  PERAXIS_TRY(expect_rank(weights, 2, 2));
  PERAXIS_TRY(expect_rank(input, 1, 4));
  PERAXIS_TRY(verify_rows_quantization(weights));
  const int32_t units = weights.tensor->shape[0];
  const int32_t columns = weights.tensor->shape[1];
  std::vector<int32_t> expected;
  if (attributes.keep_num_dims) {
    if (input.tensor->shape.back() != columns) {
      return fail(ErrorCode::InvalidModel, "the last dimension of {} is {}, {} have {} columns", input.text(),
                  input.tensor->shape.back(), weights.text(), columns);
    }
    expected = input.tensor->shape;
    expected.back() = units;
  } else {
    if (input.tensor->elements() % columns != 0) {
      return fail(ErrorCode::InvalidModel, "{} has {} elements, no multiple of the {} columns of {}",
                  input.text(), input.tensor->elements(), columns, weights.text());
    }
    expected = {static_cast<int32_t>(input.tensor->elements() / columns), units};
  }
  PERAXIS_TRY(expect_shape(output, expected));
  if (!view.has_input(2)) return {};
  return verify_bias(view, 2, {input, weights, output, units, attributes.int32_bias});
}

}  // namespace peraxis::ir::rules
