// Operators that pick, stack, spread or make values: GATHER, GATHER_ND, PACK, UNPACK, the block
// rearrangements, BROADCAST_TO, SHAPE, FILL and RANGE. Any type; quantization plays no part, except that
// SPACE_TO_BATCH_ND fills with the output's zero point (docs/arithmetic.md#space_to_batch_nd).
#include <algorithm>

#include "ir/ops/rules.hpp"

namespace peraxis::ir::rules {

namespace {

Result<size_t> attribute_axis(int32_t axis, size_t rank) {
  return static_cast<size_t>(PERAXIS_TRY(normalize_axis(axis, static_cast<int64_t>(rank))));
}

Status verify_moved(const Operand& input, const Operand& output, const std::vector<int32_t>& shape) {
  PERAXIS_TRY(expect_type(input, kAnyType));
  PERAXIS_TRY(expect_same_type(input, output));
  return expect_shape(output, shape);
}

using Extents = std::vector<int32_t>;

void append(Extents& to, std::span<const int32_t> from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Status verify_gather(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const auto attributes = PERAXIS_TRY(view.attributes<GatherAttributes>());
  const Operand input = view.input(0);
  const Operand indices = view.input(1, "the indices");
  PERAXIS_TRY(expect_type(indices, kIndex));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  const std::span<const int32_t> in = input.tensor->shape;
  const std::span<const int32_t> picked = indices.tensor->shape;
  const size_t axis = PERAXIS_TRY(attribute_axis(attributes.axis, in.size()));
  const int64_t batch = attributes.batch_dims < 0
                            ? attributes.batch_dims + static_cast<int64_t>(picked.size())
                            : attributes.batch_dims;
  const auto batch_dims = static_cast<size_t>(batch);
  if (batch < 0 || batch_dims > picked.size() || batch_dims > axis) {
    return fail(ErrorCode::InvalidModel, "batch_dims {} with indices of rank {} and axis {}",
                attributes.batch_dims, picked.size(), axis);
  }
  for (size_t i = 0; i < batch_dims; ++i) {
    if (in[i] != picked[i]) {
      return fail(ErrorCode::InvalidModel, "batch dimension {} is {} in {} and {} in the indices", i, in[i],
                  input.text(), picked[i]);
    }
  }
  Extents shape(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(axis));
  append(shape, picked.subspan(batch_dims));
  append(shape, in.subspan(axis + 1));
  return verify_moved(input, view.output(), shape);
}

Status verify_gather_nd(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  const Operand indices = view.input(1, "the indices");
  PERAXIS_TRY(expect_type(indices, kIndex));
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  PERAXIS_TRY(expect_rank(indices, 1, kMaxRank));
  const std::span<const int32_t> in = input.tensor->shape;
  const std::span<const int32_t> picked = indices.tensor->shape;
  const auto depth = static_cast<size_t>(picked.back());
  if (depth > in.size()) {
    return fail(ErrorCode::InvalidModel, "{} name {} dimensions of {} of shape {}", indices.text(), depth,
                input.text(), shape_text(in));
  }
  Extents shape(picked.begin(), picked.end() - 1);
  append(shape, in.subspan(depth));
  return verify_moved(input, view.output(), shape);
}

Status verify_pack(const OpView& view) {
  const auto attributes = PERAXIS_TRY(view.attributes<PackAttributes>());
  const size_t count = view.inputs();
  PERAXIS_TRY(view.expect_counts(std::max<size_t>(count, 1), std::max<size_t>(count, 1)));
  if (attributes.count < 0 || static_cast<size_t>(attributes.count) != count) {
    return fail(ErrorCode::InvalidModel, "values_count is {}, it has {} inputs", attributes.count, count);
  }
  Extents shape = view.input(0).tensor->shape;
  const size_t axis = PERAXIS_TRY(attribute_axis(attributes.axis, shape.size() + 1));
  for (size_t i = 0; i < count; ++i) {
    const std::string role = fmt::format("input {}", i);
    PERAXIS_TRY(expect_shape(view.input(i, role.c_str()), shape));
    PERAXIS_TRY(expect_same_type(view.input(i, role.c_str()), view.output()));
  }
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<int32_t>(count));
  return verify_moved(view.input(0), view.output(), shape);
}

Status verify_unpack(const OpView& view) {
  const auto attributes = PERAXIS_TRY(view.attributes<PackAttributes>());
  PERAXIS_TRY(view.expect_counts(1, 1, view.outputs()));
  const Operand input = view.input(0);
  PERAXIS_TRY(expect_rank(input, 1, kMaxRank));
  Extents shape = input.tensor->shape;
  const size_t axis = PERAXIS_TRY(attribute_axis(attributes.axis, shape.size()));
  if (attributes.count != shape[axis] || static_cast<size_t>(shape[axis]) != view.outputs()) {
    return fail(ErrorCode::InvalidModel, "num is {}, dimension {} is {}, it has {} outputs", attributes.count,
                axis, shape[axis], view.outputs());
  }
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  for (size_t i = 0; i < view.outputs(); ++i) {
    const std::string role = fmt::format("output {}", i);
    PERAXIS_TRY(verify_moved(input, view.output(i, role.c_str()), shape));
  }
  return {};
}

Status verify_block(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  const auto attributes = PERAXIS_TRY(view.attributes<BlockAttributes>());
  const Operand input = view.input(0);
  PERAXIS_TRY(expect_rank(input, 4, 4));
  const Extents& in = input.tensor->shape;
  const int64_t size = attributes.block_size;
  const bool to_depth = view.op().kind == OpKind::SpaceToDepth;
  const bool fits = size >= 1 && size <= (1 << 15) &&
                    (to_depth ? in[1] % size == 0 && in[2] % size == 0 : in[3] % (size * size) == 0);
  if (!fits) {
    return fail(ErrorCode::InvalidModel, "the block size {} does not divide {} of shape {}", size,
                input.text(), shape_text(in));
  }
  const auto spread = [&](int32_t n, bool up) { return static_cast<int32_t>(up ? n * size : n / size); };
  const auto depth = static_cast<int32_t>(to_depth ? in[3] * size * size : in[3] / (size * size));
  return verify_moved(input, view.output(),
                      {in[0], spread(in[1], !to_depth), spread(in[2], !to_depth), depth});
}

// [batch, one or two spatial dimensions, depth]; one block size and one pair of crops or paddings a spatial
// one.
Status verify_batch_block(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(3, 3));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_rank(input, 3, 4));
  const bool to_batch = view.op().kind == OpKind::SpaceToBatch;
  if (to_batch && is_quantized_type(output.tensor->type)) PERAXIS_TRY(expect_quantization(output));
  const Extents& in = input.tensor->shape;
  const size_t spatial = in.size() - 2;
  const auto block = PERAXIS_TRY(constant_int32(view.graph(), view.op().inputs[1], "the block shape"));
  const auto amounts = PERAXIS_TRY(
      constant_int32(view.graph(), view.op().inputs[2], to_batch ? "the paddings input" : "the crops input"));
  if (block.size() != spatial || amounts.size() != 2 * spatial) {
    return fail(ErrorCode::InvalidModel, "{} block sizes and {} amounts for {} spatial dimensions",
                block.size(), amounts.size(), spatial);
  }
  std::vector<int64_t> shape(in.begin(), in.end());
  for (size_t i = 0; i < spatial; ++i) {
    if (block[i] < 1 || amounts[2 * i] < 0 || amounts[2 * i + 1] < 0) {
      return fail(ErrorCode::InvalidModel, "block size {} and amounts [{},{}] of dimension {}", block[i],
                  amounts[2 * i], amounts[2 * i + 1], i + 1);
    }
    const int64_t both = int64_t{amounts[2 * i]} + amounts[2 * i + 1];
    int64_t& size = shape[i + 1];
    const int64_t whole = to_batch ? size + both : shape[0];
    if (whole % block[i] != 0) {
      return fail(ErrorCode::InvalidModel, "the block size {} does not divide {} (dimension {})", block[i],
                  whole, to_batch ? i + 1 : 0);
    }
    shape[0] = to_batch ? shape[0] * block[i] : shape[0] / block[i];
    size = to_batch ? whole / block[i] : size * block[i] - both;
    if (size < 1 || size > kMaxElements || shape[0] > kMaxElements) {
      return fail(ErrorCode::InvalidModel, "dimension {} of {} becomes {}", i + 1, input.text(), size);
    }
  }
  return verify_moved(input, output, Extents(shape.begin(), shape.end()));
}

Status verify_broadcast_to(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand input = view.input(0);
  const Operand output = view.output();
  PERAXIS_TRY(expect_type(view.input(1, "the shape input"), kIndex));
  Extents shape = output.tensor->shape;
  if (!view.input(1).tensor->is_constant) {
    PERAXIS_TRY(expect_stated_shape(output));
  } else {
    const auto wanted = PERAXIS_TRY(constant_integers(view.graph(), view.op().inputs[1], "the shape input"));
    shape.clear();
    for (const int64_t size : wanted)
      shape.push_back(static_cast<int32_t>(std::clamp<int64_t>(size, 0, kMaxElements)));
  }
  const Extents both = PERAXIS_TRY(broadcast_shape(input.tensor->shape, shape));
  if (both != shape) {
    return fail(ErrorCode::InvalidModel, "{} of shape {} does not spread over {}", input.text(),
                shape_text(input.tensor->shape), shape_text(shape));
  }
  return verify_moved(input, output, shape);
}

Status verify_shape(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(1, 1));
  PERAXIS_TRY(expect_type(view.output(), kIndex));
  return expect_shape(view.output(), Extents{static_cast<int32_t>(view.input(0).tensor->shape.size())});
}

Status verify_fill(const OpView& view) {
  PERAXIS_TRY(view.expect_counts(2, 2));
  const Operand dims = view.input(0, "the shape input");
  const Operand value = view.input(1, "the value");
  const Operand output = view.output();
  PERAXIS_TRY(expect_type(dims, kIndex));
  PERAXIS_TRY(expect_type(value, kAnyType));
  PERAXIS_TRY(expect_same_type(value, output));
  if (value.tensor->elements() != 1) {
    return fail(ErrorCode::InvalidModel, "{} has {} values, not 1", value.text(), value.tensor->elements());
  }
  if (!dims.tensor->is_constant) return expect_stated_shape(output);
  const auto wanted = PERAXIS_TRY(constant_integers(view.graph(), view.op().inputs[0], "the shape input"));
  Extents shape;
  for (const int64_t size : wanted)
    shape.push_back(static_cast<int32_t>(std::clamp<int64_t>(size, -1, kMaxElements)));
  return expect_shape(output, shape);
}

// Start, limit and step; their values decide the length, which the kernel compares when it runs.
Status verify_range(const OpView& view) {
  const Types kTypes = {DataType::Float32, DataType::Int32, DataType::Int64};
  PERAXIS_TRY(view.expect_counts(3, 3));
  const Operand output = view.output();
  PERAXIS_TRY(expect_rank(output, 1, 1));
  PERAXIS_TRY(expect_type(output, kTypes));
  for (size_t i = 0; i < 3; ++i) {
    const Operand input = view.input(i);
    PERAXIS_TRY(expect_same_type(input, output));
    if (input.tensor->elements() != 1) {
      return fail(ErrorCode::InvalidModel, "input {} has {} values, not 1", i, input.tensor->elements());
    }
  }
  if (!output.shape_pending()) return {};
  for (size_t i = 0; i < 3; ++i)
    if (!view.input(i).tensor->is_constant) return expect_stated_shape(output);
  const double count = PERAXIS_TRY(range_length(view.graph(), view.op()));
  return expect_shape(output, Extents{static_cast<int32_t>(std::clamp<double>(count, 0, kMaxElements))});
}

}  // namespace peraxis::ir::rules
