// RESHAPE, TRANSPOSE, PAD, STRIDED_SLICE and SPLIT (litert-arithmetic.md 7): stored values are copied,
// quantization parameters are neither used nor compared, except that PAD fills with the output's zero point.
// The rank limits above 4 are LiteRT's own.
#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

Status verify_copy(const Operand& input, const Operand& output) {
  PERAXIS_TRY(expect_8_bit(input));
  return expect_same_type(input, output);
}

}  // namespace

Status verify_reshape(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 2));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_copy(input, output));
  std::vector<int32_t> wanted = output.tensor->shape;  // with one input the new shape stands in the output
  if (view.has_input(1)) {
    wanted = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[1], "the shape input"));
  }
  const auto shape = PERAXIS_TRY(reshape_shape(input.tensor->shape, wanted));
  return expect_shape(output, shape);
}

Status verify_transpose(const OpView& view) {
  constexpr size_t kTransposeRank = 6;
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_copy(input, output));
  PERAXIS_TRY(expect_rank(input, 1, kTransposeRank));
  const auto permutation = PERAXIS_TRY(transpose_permutation(view.graph(), view.op()));
  std::vector<int32_t> shape;
  for (const int64_t axis : permutation) shape.push_back(input.tensor->shape[static_cast<size_t>(axis)]);
  return expect_shape(output, shape);
}

Status verify_pad(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_copy(input, output));
  PERAXIS_TRY(expect_rank(input, 1, 4));
  PERAXIS_TRY(expect_quantized(output));
  const auto amounts = PERAXIS_TRY(pad_amounts(view.graph(), view.op()));
  std::vector<int64_t> shape;
  for (size_t i = 0; i < amounts.size(); ++i) {
    shape.push_back(input.tensor->shape[i] + amounts[i].before + amounts[i].after);
  }
  const std::vector<int64_t> actual(output.tensor->shape.begin(), output.tensor->shape.end());
  if (actual == shape) return {};
  return fail(ErrorCode::InvalidModel, "{} has shape {}; the operator gives {}", output.text(),
              shape_text(actual), shape_text(shape));
}

Status verify_strided_slice(const OpView& view) {
  constexpr size_t kSliceRank = 5;
  PERAXIS_TRY(view.expect_counts(4, 4));
  PERAXIS_TRY(view.attributes<StridedSliceAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_copy(input, output));
  PERAXIS_TRY(expect_rank(input, 1, kSliceRank));
  const ResolvedSlice slice = PERAXIS_TRY(resolve_strided_slice(view.graph(), view.op()));
  return expect_shape(output, slice.output_shape);
}

Status verify_split(const OpView& view) {
  const auto attributes = PERAXIS_TRY(view.attributes<SplitAttributes>());
  PERAXIS_TRY(view.expect_counts(2, 2, view.outputs()));
  if (attributes.num_splits < 1 || static_cast<size_t>(attributes.num_splits) != view.outputs()) {
    return fail(ErrorCode::InvalidModel, "num_splits is {}, it has {} outputs", attributes.num_splits,
                view.outputs());
  }
  const Operand input = view.input(1);
  PERAXIS_TRY(expect_8_bit(input));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const size_t axis = static_cast<size_t>(PERAXIS_TRY(split_axis(view.graph(), view.op())));
  std::vector<int32_t> shape = input.tensor->shape;
  if (shape[axis] % attributes.num_splits != 0) {
    return fail(ErrorCode::InvalidModel, "dimension {} of {} is {}, which does not divide into {} parts",
                axis, input.text(), shape[axis], attributes.num_splits);
  }
  shape[axis] /= attributes.num_splits;
  for (size_t i = 0; i < view.outputs(); ++i) {
    const std::string role = fmt::format("output {}", i);
    const Operand output = view.output(i, role.c_str());
    PERAXIS_TRY(expect_same_type(input, output));
    PERAXIS_TRY(expect_shape(output, shape));
  }
  return {};
}

}  // namespace peraxis::ir::rules
