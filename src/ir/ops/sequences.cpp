// Operators that repeat, turn round, choose, add up or spread whole tensors: TILE, REVERSE_V2, SELECT_V2,
// CUMSUM and SCATTER_ND. Stored values count; quantization plays no part.
#include <algorithm>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

Status verify_stored(const Operand& input, const Operand& output, Types types = kAnyType) {
  PERAXIS_TRY(expect_type(input, types));
  return expect_same_type(input, output);
}

}  // namespace

// Multipliers that are computed are compared with the output's shape when the operator runs.
Status verify_tile(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  const Operand multipliers = view.input(1, "the multipliers");
  const Operand output = view.output();
  PERAXIS_TRY(verify_stored(input, output));
  PERAXIS_TRY(expect_type(multipliers, kIndex));
  const std::vector<int32_t>& in = input.tensor->shape;
  if (multipliers.tensor->elements() != static_cast<int64_t>(in.size())) {
    return fail(ErrorCode::InvalidModel, "{} has {} values for {} of rank {}", multipliers.text(),
                multipliers.tensor->elements(), input.text(), in.size());
  }
  PERAXIS_TRY(expect_rank(output, in.size(), in.size()));
  if (!multipliers.tensor->is_constant) return expect_stated_shape(output);
  const auto counts = PERAXIS_TRY(constant_integers(view.graph(), view.op().inputs[1], "the multipliers"));
  std::vector<int32_t> shape = in;
  for (size_t i = 0; i < in.size(); ++i) {
    if (counts[i] < 1 || counts[i] > kMaxElements / in[i]) {
      return fail(ErrorCode::Unsupported,
                  "dimension {} of {} of shape {} is repeated {} times; 1 to {} is possible", i, input.text(),
                  shape_text(in), counts[i], kMaxElements / in[i]);
    }
    shape[i] = static_cast<int32_t>(in[i] * counts[i]);
  }
  return expect_shape(output, shape);
}

// LiteRT turns neighbouring dimensions round only, in any order of the list.
Status verify_reverse(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  PERAXIS_TRY(verify_stored(input, view.output()));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  PERAXIS_TRY(expect_rank(view.input(1, "the axes"), 1, 1));
  PERAXIS_TRY(reverse_axes(view.graph(), view.op()));
  return expect_same_shape(input, view.output());
}

Status verify_select(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(3, 3));
  const Operand condition = view.input(0, "the condition");
  const Operand yes = view.input(1, "the first choice");
  const Operand no = view.input(2, "the second choice");
  const Operand output = view.output();
  PERAXIS_TRY(expect_type(condition, {DataType::Bool}));
  PERAXIS_TRY(verify_stored(yes, output));
  PERAXIS_TRY(expect_same_type(yes, no));
  const auto both = PERAXIS_TRY(broadcast_shape(yes.tensor->shape, no.tensor->shape));
  return expect_shape(output, PERAXIS_TRY(broadcast_shape(condition.tensor->shape, both)));
}

Status verify_cumsum(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int32, DataType::Int64};
  PERAXIS_TRY(view.expect_counts(2, 2));
  PERAXIS_TRY(view.attributes<CumSumAttributes>());
  const Operand input = view.input(0);
  PERAXIS_TRY(verify_stored(input, view.output(), kTypes));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const auto axis = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[1], "the axis input"));
  if (axis.size() != 1)
    return fail(ErrorCode::InvalidModel, "the axis input has {} values, not 1", axis.size());
  PERAXIS_TRY(normalize_axis(axis[0], static_cast<int64_t>(input.tensor->shape.size())));
  return expect_same_shape(input, view.output());
}

// Indices [rows..., depth], updates [rows..., what lies behind depth dimensions of the output].
Status verify_scatter_nd(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Bool,  DataType::Int8,
                        DataType::UInt8,   DataType::Int32, DataType::Int64};
  PERAXIS_TRY(view.expect_counts(3, 3));
  const Operand indices = view.input(0, "the indices");
  const Operand updates = view.input(1, "the updates");
  const Operand shape = view.input(2, "the shape input");
  const Operand output = view.output();
  PERAXIS_TRY(expect_type(indices, {DataType::Int32}));
  PERAXIS_TRY(expect_type(shape, {DataType::Int32}));
  PERAXIS_TRY(verify_stored(updates, output, kTypes));
  PERAXIS_TRY(expect_rank(indices, 1, kMaxRank));
  PERAXIS_TRY(expect_rank(updates, 1, kMaxRank));
  if (shape.tensor->is_constant) {
    const auto stated = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[2], "the shape input"));
    PERAXIS_TRY(expect_shape(output, stated));
  } else {
    PERAXIS_TRY(expect_stated_shape(output));
  }
  const std::vector<int32_t>& rows = indices.tensor->shape;
  const std::vector<int32_t>& out = output.tensor->shape;
  const auto depth = static_cast<size_t>(rows.back());
  if (depth > out.size()) {
    return fail(ErrorCode::InvalidModel, "{} name {} dimensions of {} of shape {}", indices.text(), depth,
                output.text(), shape_text(out));
  }
  std::vector<int32_t> expected(rows.begin(), rows.end() - 1);
  expected.insert(expected.end(), out.begin() + static_cast<std::ptrdiff_t>(depth), out.end());
  if (expected != updates.tensor->shape) {
    return fail(ErrorCode::InvalidModel, "{} have shape {}; the indices and the output make it {}",
                updates.text(), shape_text(updates.tensor->shape), shape_text(expected));
  }
  return {};
}

}  // namespace peraxis::ir::rules
