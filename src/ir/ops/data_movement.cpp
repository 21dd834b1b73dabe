// RESHAPE and its relatives, TRANSPOSE, the paddings, slices and splits: stored values of any type are
// copied. Quantization parameters are neither used nor compared, with two exceptions: PAD fills with the
// output's zero point (docs/arithmetic.md#pad), and PADV2 wants those of its constant equal to the output's.
// The rank limits above 4 are LiteRT's own.
#include <algorithm>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

Status verify_copy(const Operand& input, const Operand& output) {
  PERAXIS_TRY(expect_type(input, kAnyType));
  return expect_same_type(input, output);
}

Status expect_wide_shape(const Operand& operand, const std::vector<int64_t>& shape) {
  const std::vector<int64_t> actual(operand.tensor->shape.begin(), operand.tensor->shape.end());
  if (operand.shape_pending()) {
    std::vector<int32_t> narrow;
    for (const int64_t size : shape) narrow.push_back(static_cast<int32_t>(std::min(size, kMaxElements + 1)));
    return expect_shape(operand, narrow);
  }
  if (actual == shape) return {};
  return fail(ErrorCode::InvalidModel, "{} has shape {}; the operator gives {}", operand.text(),
              shape_text(actual), shape_text(shape));
}

// The whole rule of an operator that only changes the shape.
Status verify_renamed(const Operand& input, const Operand& output, const std::vector<int32_t>& shape) {
  PERAXIS_TRY(verify_copy(input, output));
  return expect_shape(output, shape);
}

Result<size_t> constant_axis(const OpView& view, size_t slot, size_t rank) {
  const auto values = PERAXIS_TRY(constant_integers(view.graph(), view.op().inputs[slot], "the axis input"));
  if (values.size() != 1)
    return fail(ErrorCode::InvalidModel, "the axis input has {} values, not 1", values.size());
  return static_cast<size_t>(PERAXIS_TRY(normalize_axis(values[0], static_cast<int64_t>(rank))));
}

}  // namespace

Status verify_reshape(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 2));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_copy(input, output));
  std::vector<int32_t> wanted = output.tensor->shape;  // with one input the new shape stands in the output
  // A shape that is computed at run time is compared with the output's when the operator runs.
  if (!view.has_input(1) || !view.input(1).tensor->is_constant) {
    PERAXIS_TRY(expect_stated_shape(output));
  } else {
    wanted = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[1], "the shape input"));
  }
  const auto shape = PERAXIS_TRY(reshape_shape(input.tensor->shape, wanted));
  return expect_shape(output, shape);
}

Status verify_transpose(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_copy(input, output));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const auto permutation = PERAXIS_TRY(transpose_permutation(view.graph(), view.op()));
  std::vector<int32_t> shape;
  for (const int64_t axis : permutation) shape.push_back(input.tensor->shape[static_cast<size_t>(axis)]);
  return expect_shape(output, shape);
}

Status verify_squeeze(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const auto attributes = PERAXIS_TRY(view.attributes<SqueezeAttributes>());
  const std::vector<int32_t>& in = view.input(0).tensor->shape;
  std::vector<bool> dropped(in.size(), false);
  for (const int32_t dimension : attributes.dims) {
    const auto axis =
        static_cast<size_t>(PERAXIS_TRY(normalize_axis(dimension, static_cast<int64_t>(in.size()))));
    if (in[axis] != 1) {
      return fail(ErrorCode::InvalidModel, "dimension {} of shape {} is to be dropped but is not 1", axis,
                  shape_text(in));
    }
    dropped[axis] = true;
  }
  std::vector<int32_t> shape;
  for (size_t i = 0; i < in.size(); ++i) {
    if (attributes.dims.empty() ? in[i] != 1 : !dropped[i]) shape.push_back(in[i]);
  }
  return verify_renamed(view.input(0), view.output(), shape);
}

Status verify_expand_dims(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  std::vector<int32_t> shape = view.input(0).tensor->shape;
  const size_t axis = PERAXIS_TRY(constant_axis(view, 1, shape.size() + 1));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return verify_renamed(view.input(0), view.output(), shape);
}

Status verify_pad(const OpView& view) {
  constexpr size_t kPadRank = 5;
  const bool has_value = view.op().kind == OpKind::PadV2;
  PERAXIS_TRY(view.expect_counts(has_value ? 3 : 2, has_value ? 3 : 2));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_copy(input, output));
  PERAXIS_TRY(expect_rank(input, 1, kPadRank));
  if (is_quantized_type(output.tensor->type)) PERAXIS_TRY(expect_quantization(output));
  const auto amounts = PERAXIS_TRY(pad_amounts(view.graph(), view.op()));
  std::vector<int64_t> shape;
  for (size_t i = 0; i < amounts.size(); ++i) {
    shape.push_back(input.tensor->shape[i] + amounts[i].before + amounts[i].after);
  }
  PERAXIS_TRY(expect_wide_shape(output, shape));
  if (!has_value) return {};
  const Operand value = view.input(2, "the fill value");
  PERAXIS_TRY(expect_same_type(value, output));
  if (value.tensor->elements() != 1) {
    return fail(ErrorCode::InvalidModel, "{} has {} values, not 1", value.text(), value.tensor->elements());
  }
  const QuantParams& quant = output.tensor->quant;
  if (is_quantized_type(output.tensor->type) &&
      (value.tensor->quant.scale != quant.scale || value.tensor->quant.zero_point != quant.zero_point)) {
    return fail(ErrorCode::InvalidModel,
                "{} and {} have different scales or zero points; LiteRT refuses that", value.text(),
                output.text());
  }
  return {};
}

Status verify_mirror_pad(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const auto attributes = PERAXIS_TRY(view.attributes<MirrorPadAttributes>());
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(verify_copy(input, output));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const auto amounts = PERAXIS_TRY(pad_amounts(view.graph(), view.op()));
  std::vector<int64_t> shape;
  for (size_t i = 0; i < amounts.size(); ++i) {
    const int64_t size = input.tensor->shape[i];
    const int64_t most = attributes.symmetric ? size : size - 1;
    if (amounts[i].before > most || amounts[i].after > most) {
      return fail(ErrorCode::InvalidModel,
                  "the padding [{},{}] of dimension {} exceeds {}, what it can mirror", amounts[i].before,
                  amounts[i].after, i, most);
    }
    shape.push_back(size + amounts[i].before + amounts[i].after);
  }
  return expect_wide_shape(output, shape);
}

Status verify_slice(const OpView& view) {
  constexpr size_t kPlainSliceRank = 5;
  PERAXIS_TRY(view.expect_counts(3, 3));
  const Operand input = view.input(0);
  PERAXIS_TRY(expect_rank(input, 1, kPlainSliceRank));
  const std::vector<int32_t>& in = input.tensor->shape;
  const auto begin = PERAXIS_TRY(constant_integers(view.graph(), view.op().inputs[1], "the begin input"));
  const auto size = PERAXIS_TRY(constant_integers(view.graph(), view.op().inputs[2], "the size input"));
  if (begin.size() != in.size() || size.size() != in.size()) {
    return fail(ErrorCode::InvalidModel, "begin and size have {} and {} entries for a tensor of rank {}",
                begin.size(), size.size(), in.size());
  }
  std::vector<int32_t> shape;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool starts = begin[i] >= 0 && begin[i] < in[i];
    const int64_t taken = starts && size[i] == -1 ? in[i] - begin[i] : size[i];
    if (!starts || taken < 1 || taken > in[i] - begin[i]) {
      return fail(ErrorCode::InvalidModel, "begin {} and size {} do not fit dimension {} of size {}",
                  begin[i], size[i], i, in[i]);
    }
    shape.push_back(static_cast<int32_t>(taken));
  }
  return verify_renamed(input, view.output(), shape);
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
  PERAXIS_TRY(expect_type(input, kAnyType));
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

// One of the sizes may be -1: what the others leave.
Status verify_split_v(const OpView& view) {
  const auto attributes = PERAXIS_TRY(view.attributes<SplitAttributes>());
  PERAXIS_TRY(view.expect_counts(3, 3, view.outputs()));
  const Operand input = view.input(0);
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  std::vector<int32_t> shape = input.tensor->shape;
  const size_t axis = PERAXIS_TRY(constant_axis(view, 2, shape.size()));
  auto sizes = PERAXIS_TRY(constant_integers(view.graph(), view.op().inputs[1], "the sizes input"));
  if (sizes.empty() || sizes.size() != view.outputs() || attributes.num_splits < 0 ||
      static_cast<size_t>(attributes.num_splits) != view.outputs()) {
    return fail(ErrorCode::InvalidModel, "num_splits is {}, it has {} sizes and {} outputs",
                attributes.num_splits, sizes.size(), view.outputs());
  }
  int64_t known = 0;
  int64_t* open = nullptr;
  for (int64_t& size : sizes) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else if (size < 1 || size > shape[axis]) {
      return fail(ErrorCode::InvalidModel, "the part size {} of dimension {} with {}", size, axis,
                  shape[axis]);
    } else {
      known += size;
    }
  }
  if (open != nullptr) {
    *open = shape[axis] - known;
    known += *open;
  }
  if (known != shape[axis] || (open != nullptr && *open < 1)) {
    return fail(ErrorCode::InvalidModel, "parts of {} entries in all of dimension {} with {}", known, axis,
                shape[axis]);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string role = fmt::format("output {}", i);
    shape[axis] = static_cast<int32_t>(sizes[i]);
    PERAXIS_TRY(verify_renamed(input, view.output(i, role.c_str()), shape));
  }
  return {};
}

}  // namespace peraxis::ir::rules
