// NON_MAX_SUPPRESSION_V4 and V5: boxes [n, 4] and scores [n] in float32, the most boxes to keep as a constant
// (it is the outputs' size), two thresholds and for V5 the sigma of the soft form.
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

Status expect_scalar(const Operand& operand, DataType type) {
  PERAXIS_TRY(expect_type(operand, {type}));
  PERAXIS_TRY(expect_rank(operand, 0, 0));
  return expect_shape(operand, {});
}

}  // namespace

Status verify_non_max_suppression(const OpView& view) {
  const bool soft = view.op().kind == OpKind::NonMaxSuppressionV5;
  const size_t inputs = soft ? 6 : 5;
  PERAXIS_TRY(view.expect_counts(inputs, inputs, soft ? 3 : 2));
  const Operand boxes = view.input(0, "the boxes");
  const Operand scores = view.input(1, "the scores");
  PERAXIS_TRY(expect_type(boxes, {DataType::Float32}));
  PERAXIS_TRY(expect_type(scores, {DataType::Float32}));
  PERAXIS_TRY(expect_rank(boxes, 2, 2));
  const int32_t count = boxes.tensor->shape[0];
  PERAXIS_TRY(expect_shape(boxes, std::vector<int32_t>{count, 4}));
  PERAXIS_TRY(expect_rank(scores, 1, 1));
  PERAXIS_TRY(expect_shape(scores, std::vector<int32_t>{count}));
  PERAXIS_TRY(expect_scalar(view.input(2, "the most boxes"), DataType::Int32));
  PERAXIS_TRY(expect_scalar(view.input(3, "the overlap threshold"), DataType::Float32));
  PERAXIS_TRY(expect_scalar(view.input(4, "the score threshold"), DataType::Float32));
  if (soft) PERAXIS_TRY(expect_scalar(view.input(5, "sigma"), DataType::Float32));
  const auto most = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[2], "the most boxes"));
  if (most[0] < 1)
    return fail(ErrorCode::InvalidModel, "the most boxes to keep are {}; it must be 1 or more", most[0]);
  const Operand indices = view.output(0, "the indices");
  PERAXIS_TRY(expect_type(indices, {DataType::Int32}));
  PERAXIS_TRY(expect_rank(indices, 1, 1));
  PERAXIS_TRY(expect_shape(indices, most));
  if (soft) {
    const Operand kept = view.output(1, "the kept scores");
    PERAXIS_TRY(expect_type(kept, {DataType::Float32}));
    PERAXIS_TRY(expect_rank(kept, 1, 1));
    PERAXIS_TRY(expect_shape(kept, most));
  }
  return expect_scalar(view.output(soft ? 2 : 1, "the number"), DataType::Int32);
}

}  // namespace peraxis::ir::rules
