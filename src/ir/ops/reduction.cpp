// MEAN, SUM, REDUCE_MAX, REDUCE_MIN, ARG_MAX, ARG_MIN and TOPK_V2. Their arithmetic is in
// docs/arithmetic.md#operators, each under its name.
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

constexpr Types kOrdered = {DataType::Float32, DataType::Int32, DataType::Int64,
                            DataType::Int8,    DataType::UInt8, DataType::Int16};
constexpr Types kSummable = {DataType::Float32, DataType::Int32, DataType::Int64,
                             DataType::Int8,    DataType::UInt8, DataType::Int16};

// Stored values are compared, so one quantization must hold for both.
Status expect_same_quantization(const Operand& a, const Operand& b) {
  const QuantParams& first = a.tensor->quant;
  const QuantParams& second = b.tensor->quant;
  if (first.scale == second.scale && first.zero_point == second.zero_point) return {};
  return fail(ErrorCode::InvalidModel, "{} and {} have different scales or zero points; LiteRT refuses that",
              a.text(), b.text());
}

}  // namespace

Status verify_reduction(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const auto attributes = PERAXIS_TRY(view.attributes<ReduceAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  const OpKind kind = view.op().kind;
  const bool extremum = kind == OpKind::ReduceMax || kind == OpKind::ReduceMin;
  const Types types = extremum ? kOrdered : kind == OpKind::Sum ? kSummable : kReal;
  PERAXIS_TRY(expect_numbers(input, types));
  PERAXIS_TRY(expect_numbers(output, types));
  PERAXIS_TRY(expect_same_type(input, output));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const auto axes = PERAXIS_TRY(reduce_axes(view.graph(), view.op()));
  if (axes.empty()) return fail(ErrorCode::Unsupported, "the axes input names no axis");
  PERAXIS_TRY(expect_shape(output, reduced_shape(input.tensor->shape, axes, attributes.keep_dims)));
  if (is_quantized_type(input.tensor->type) && extremum) return expect_same_quantization(input, output);
  return {};
}

Status verify_arg(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int8, DataType::UInt8, DataType::Int32};
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_type(input, kTypes));
  PERAXIS_TRY(expect_type(output, kIndex));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const auto values = PERAXIS_TRY(constant_integers(view.graph(), view.op().inputs[1], "the axis input"));
  if (values.size() != 1)
    return fail(ErrorCode::InvalidModel, "the axis input has {} values, not 1", values.size());
  const auto rank = static_cast<int64_t>(input.tensor->shape.size());
  const std::vector<int64_t> axes = {PERAXIS_TRY(normalize_axis(values[0], rank))};
  return expect_shape(output, reduced_shape(input.tensor->shape, axes, false));
}

Status verify_topk(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2, 2));
  const Operand input = view.input(0);
  const Operand values = view.output(0, "the values");
  const Operand indices = view.output(1, "the indices");
  PERAXIS_TRY(expect_type(input, kOrdered));
  PERAXIS_TRY(expect_same_type(input, values));
  PERAXIS_TRY(expect_type(indices, {DataType::Int32}));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const auto k = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[1], "the number k"));
  std::vector<int32_t> expected = input.tensor->shape;
  if (k.size() != 1 || k[0] < 1 || k[0] > expected.back()) {
    return fail(ErrorCode::InvalidModel, "k has {} values ({}); one from 1 to {} is needed", k.size(),
                k.empty() ? 0 : k[0], expected.back());
  }
  expected.back() = k[0];
  PERAXIS_TRY(expect_shape(values, expected));
  return expect_shape(indices, expected);
}

}  // namespace peraxis::ir::rules
