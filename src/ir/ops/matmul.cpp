// BATCH_MATMUL (docs/arithmetic.md#batch_matmul): the last two dimensions are matrices, the ones before
// broadcast.
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

Status verify_batch_matmul(const OpView& view) {
  constexpr size_t kMatmulRank = 5;
  const Types kTypes = {DataType::Float32, DataType::Int8, DataType::Int16};
  PERAXIS_TRY(view.expect_counts(2, 2));
  const auto attributes = PERAXIS_TRY(view.attributes<BatchMatmulAttributes>());
  const Operand a = view.input(0, "the first input");
  const Operand b = view.input(1, "the second input");
  const Operand output = view.output();
  for (const Operand& operand : {a, b, output}) {
    PERAXIS_TRY(expect_numbers(operand, kTypes));
    PERAXIS_TRY(expect_rank(operand, 2, kMatmulRank));
  }
  PERAXIS_TRY(expect_same_type(a, b));
  PERAXIS_TRY(expect_same_type(a, output));
  const std::vector<int32_t>& first = a.tensor->shape;
  const std::vector<int32_t>& second = b.tensor->shape;
  const size_t ra = first.size();
  const size_t rb = second.size();
  const int32_t rows = first[ra - (attributes.adj_x ? 1 : 2)];
  const int32_t depth = first[ra - (attributes.adj_x ? 2 : 1)];
  const int32_t depth_b = second[rb - (attributes.adj_y ? 1 : 2)];
  const int32_t columns = second[rb - (attributes.adj_y ? 2 : 1)];
  if (depth != depth_b) {
    return fail(ErrorCode::InvalidModel, "{} of shape {} and {} of shape {}: {} columns against {} rows",
                a.text(), shape_text(first), b.text(), shape_text(second), depth, depth_b);
  }
  std::vector<int32_t> expected =
      PERAXIS_TRY(broadcast_shape(std::span(first).first(ra - 2), std::span(second).first(rb - 2)));
  expected.push_back(rows);
  expected.push_back(columns);
  PERAXIS_TRY(expect_shape(output, expected));
  if (!is_quantized_type(a.tensor->type)) return {};
  const float product = a.tensor->quant.scale[0] * b.tensor->quant.scale[0];
  const double multiplier = static_cast<double>(product) / static_cast<double>(output.tensor->quant.scale[0]);
  constexpr const char* kFormula = "the product of the input scales / output scale";
  return a.tensor->type == DataType::Int16 ? expect_int16_multiplier(multiplier, kFormula) : Status{};
}

}  // namespace peraxis::ir::rules
