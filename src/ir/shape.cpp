// Shape rules in LiteRT's meaning. All arithmetic is in int64 on int32 inputs, so nothing overflows
// before the limits are checked.
#include "ir/shape.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace peraxis::ir {

namespace {

template <class T>
std::string join(std::span<const T> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ",", shape[i]);
  return out + "]";
}

int64_t product(std::span<const int32_t> shape) {
  Tensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  return tensor.elements();
}

Result<const Tensor*> input_tensor(const Graph& graph, const Op& op, size_t slot) {
  if (slot >= op.inputs.size() || op.inputs[slot] < 0 ||
      static_cast<size_t>(op.inputs[slot]) >= graph.tensors.size()) {
    return fail(ErrorCode::InvalidModel, "input {} is missing", slot);
  }
  return &graph.tensor(op.inputs[slot]);
}

}  // namespace

std::string shape_text(std::span<const int32_t> shape) {
  return join(shape);
}
std::string shape_text(std::span<const int64_t> shape) {
  return join(shape);
}

std::string tensor_label(const Graph& graph, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= graph.tensors.size()) return fmt::format("tensor {}", index);
  return fmt::format("tensor {} '{}'", index, graph.tensor(index).name);
}

Status check_shape(std::span<const int32_t> shape) {
  if (shape.size() > kMaxRank) {
    return fail(ErrorCode::Unsupported, "rank {} is above the limit of {}", shape.size(), kMaxRank);
  }
  int64_t elements = 1;
  for (const int32_t dimension : shape) {
    if (dimension < 1) {
      return fail(ErrorCode::InvalidModel,
                  "shape {} has the dimension {}; every dimension must be at least 1", shape_text(shape),
                  dimension);
    }
    elements = std::min(elements * dimension, kMaxElements + 1);
  }
  if (elements > kMaxElements) {
    return fail(ErrorCode::Unsupported, "shape {} has more than {} elements, the limit", shape_text(shape),
                kMaxElements);
  }
  return {};
}

Result<int64_t> normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return fail(ErrorCode::InvalidModel, "axis {} is outside {}..{} of a tensor of rank {}", axis, -rank,
                rank - 1, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

namespace {

// A constant whose bytes are all there.
Result<const Tensor*> constant_tensor(const Graph& graph, int32_t index, std::string_view role) {
  if (index < 0 || static_cast<size_t>(index) >= graph.tensors.size()) {
    return fail(ErrorCode::InvalidModel, "{} is missing", role);
  }
  const Tensor& tensor = graph.tensor(index);
  if (!tensor.is_constant) {
    return fail(ErrorCode::Unsupported, "{} ({}) is computed at run time; only a constant is supported", role,
                tensor_label(graph, index));
  }
  if (static_cast<int64_t>(tensor.data.size()) != tensor.bytes()) {
    return fail(ErrorCode::InvalidModel, "{} ({}) has {} data bytes, its shape {} needs {}", role,
                tensor_label(graph, index), tensor.data.size(), shape_text(tensor.shape), tensor.bytes());
  }
  return &tensor;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

template <class T>
std::vector<int64_t> widened(const Tensor& tensor) {
  const std::vector<T> values = values_of<T>(tensor);
  return {values.begin(), values.end()};
}

}  // namespace

Result<std::vector<int32_t>> constant_int32(const Graph& graph, int32_t index, std::string_view role) {
  const Tensor& tensor = *PERAXIS_TRY(constant_tensor(graph, index, role));
  if (tensor.type != DataType::Int32) {
    return fail(ErrorCode::Unsupported, "{} ({}) is {}; only int32 is supported", role,
                tensor_label(graph, index), data_type_name(tensor.type));
  }
  return values_of<int32_t>(tensor);
}

Result<std::vector<int64_t>> constant_integers(const Graph& graph, int32_t index, std::string_view role) {
  const Tensor& tensor = *PERAXIS_TRY(constant_tensor(graph, index, role));
  if (tensor.type == DataType::Int64) return values_of<int64_t>(tensor);
  const std::vector<int32_t> narrow = PERAXIS_TRY(constant_int32(graph, index, role));
  return std::vector<int64_t>(narrow.begin(), narrow.end());
}

Result<std::vector<int32_t>> broadcast_shape(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int32_t> out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {  // i counts from the last dimension
    const int32_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int32_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) {
      return fail(ErrorCode::InvalidModel, "shapes {} and {} do not broadcast: {} against {}", shape_text(a),
                  shape_text(b), da, db);
    }
    out[rank - 1 - i] = da == 1 ? db : da;
  }
  return out;
}

Result<std::vector<int32_t>> reshape_shape(std::span<const int32_t> input, std::span<const int32_t> wanted) {
  if (wanted.size() > kMaxRank) {
    return fail(ErrorCode::Unsupported, "rank {} is above the limit of {}", wanted.size(), kMaxRank);
  }
  const int64_t elements = product(input);
  int64_t known = 1;
  int64_t open = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1) {
      if (open >= 0)
        return fail(ErrorCode::InvalidModel, "shape {} has more than one -1", shape_text(wanted));
      open = static_cast<int64_t>(i);
    } else if (wanted[i] < 1) {
      return fail(ErrorCode::InvalidModel, "shape {} has the dimension {}", shape_text(wanted), wanted[i]);
    } else {
      known = std::min(known * wanted[i], kMaxElements + 1);
    }
  }
  std::vector<int32_t> out(wanted.begin(), wanted.end());
  if (open >= 0 && elements % known == 0 && elements / known <= kMaxElements) {
    out[static_cast<size_t>(open)] = static_cast<int32_t>(elements / known);
    known = elements;
  }
  if (known != elements) {
    return fail(ErrorCode::InvalidModel, "shape {} does not hold the {} elements of {}", shape_text(wanted),
                elements, shape_text(input));
  }
  return out;
}

Result<std::vector<int64_t>> reduce_axes(std::span<const int32_t> axes, int64_t rank) {
  std::vector<int64_t> out;
  for (const int32_t axis : axes) out.push_back(PERAXIS_TRY(normalize_axis(axis, rank)));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<int32_t> reduced_shape(std::span<const int32_t> input, std::span<const int64_t> axes,
                                   bool keep_dims) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < input.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!reduced) {
      out.push_back(input[i]);
    } else if (keep_dims) {
      out.push_back(1);
    }
  }
  return out;
}

Result<std::vector<int64_t>> transpose_permutation(std::span<const int32_t> permutation, int64_t rank) {
  if (static_cast<int64_t>(permutation.size()) != rank) {
    return fail(ErrorCode::InvalidModel, "the permutation has {} entries for a tensor of rank {}",
                permutation.size(), rank);
  }
  std::vector<int64_t> out;
  for (const int32_t given : permutation) {
    const int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank || std::find(out.begin(), out.end(), axis) != out.end()) {
      return fail(ErrorCode::InvalidModel,
                  "{} is not a permutation of 0..{}, counted from the end where negative",
                  shape_text(permutation), rank - 1);
    }
    out.push_back(axis);
  }
  return out;
}

Result<std::vector<AxisPadding>> pad_amounts(std::span<const int64_t> values, int64_t rank) {
  if (static_cast<int64_t>(values.size()) != 2 * rank) {
    return fail(ErrorCode::InvalidModel, "{} padding amounts for a tensor of rank {}; it needs {}",
                values.size(), rank, 2 * rank);
  }
  std::vector<AxisPadding> out;
  for (size_t i = 0; i + 1 < values.size(); i += 2) {
    for (const int64_t amount : {values[i], values[i + 1]}) {
      if (amount >= 0 && amount <= kMaxElements) continue;
      return fail(ErrorCode::InvalidModel, "the padding [{},{}] of dimension {} is {}", values[i],
                  values[i + 1], i / 2, amount < 0 ? "negative" : "too large");
    }
    out.push_back({values[i], values[i + 1]});
  }
  return out;
}

namespace {

// One dimension, as LiteRT resolves it: a negative index counts from the end, then the index is clamped to
// the positions a walk of this direction can start from or stop at; a mask replaces it.
struct AxisSlice {
  int64_t begin, end, stride;
  bool begin_masked, end_masked, shrink;
};
Result<SliceAxis> resolve_axis(int64_t size, const AxisSlice& slice) {
  const auto [begin, end, stride, begin_masked, end_masked, shrink] = slice;
  if (stride == 0) return fail(ErrorCode::InvalidModel, "the stride is 0");
  if (shrink && stride < 0)
    return fail(ErrorCode::InvalidModel, "a single index has the negative stride {}", stride);
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? size : size - 1;
  const auto resolve = [&](int64_t index) { return std::clamp(index < 0 ? index + size : index, low, high); };
  SliceAxis axis;
  axis.stride = stride;
  axis.shrink = shrink;
  axis.begin = begin_masked ? (stride > 0 ? 0 : size - 1) : resolve(begin);
  if (shrink) {
    if (axis.begin >= size) {
      return fail(ErrorCode::InvalidModel, "index {} is outside the dimension of size {}", begin, size);
    }
    axis.stride = 1;
    axis.size = 1;
    return axis;
  }
  const int64_t stop = end_masked ? (stride > 0 ? size : -1) : resolve(end);
  const int64_t distance = stride > 0 ? stop - axis.begin : axis.begin - stop;
  const int64_t step = stride > 0 ? stride : -stride;
  axis.size = distance <= 0 ? 0 : (distance + step - 1) / step;
  if (axis.size == 0) {
    return fail(ErrorCode::InvalidModel, "begin {}, end {}, stride {} leave nothing of the size {}", begin,
                end, stride, size);
  }
  return axis;
}

}  // namespace

Result<ResolvedSlice> resolve_strided_slice(std::span<const int32_t> input, std::span<const int32_t> begin,
                                            std::span<const int32_t> end, std::span<const int32_t> strides,
                                            const StridedSliceAttributes& attributes) {
  if (attributes.offset) {
    return fail(ErrorCode::Unsupported, "the end input counts from the begin (offset true); not supported");
  }
  if (begin.size() != end.size() || begin.size() != strides.size() || begin.size() > 2 * kMaxRank) {
    return fail(ErrorCode::InvalidModel,
                "begin, end and strides have {}, {} and {} entries for a tensor of rank {}", begin.size(),
                end.size(), strides.size(), input.size());
  }
  const auto bit = [](int32_t mask, size_t i) { return ((static_cast<uint32_t>(mask) >> i) & 1U) != 0; };
  size_t consumed = 0;  // entries that stand for a dimension of the input
  size_t ellipses = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    const bool ellipsis = bit(attributes.ellipsis_mask, i);
    ellipses += ellipsis ? 1 : 0;
    consumed += ellipsis || bit(attributes.new_axis_mask, i) ? 0 : 1;
  }
  if (consumed > input.size() || ellipses > 1) {
    return fail(ErrorCode::InvalidModel,
                "{} entries and {} ellipses (ellipsis_mask {}, new_axis_mask {}) for a tensor of rank {}",
                consumed, ellipses, attributes.ellipsis_mask, attributes.new_axis_mask, input.size());
  }
  if (ellipses == 1 && consumed == input.size()) {
    return fail(ErrorCode::Unsupported,
                "an ellipsis (ellipsis_mask {}) that stands for no dimension; LiteRT takes it for one",
                attributes.ellipsis_mask);
  }
  ResolvedSlice slice;
  const auto take_whole = [&] {
    const int32_t size = input[slice.axes.size()];
    slice.axes.push_back({0, 1, size, false});
    slice.output_shape.push_back(size);
  };
  for (size_t i = 0; i < begin.size(); ++i) {
    if (bit(attributes.ellipsis_mask, i)) {
      for (size_t left = input.size() - consumed; left > 0; --left) take_whole();
      continue;
    }
    if (bit(attributes.new_axis_mask, i)) {
      slice.output_shape.push_back(1);
      continue;
    }
    const size_t dimension = slice.axes.size();
    slice.axes.push_back(PERAXIS_TRY_NOTE(
        resolve_axis(input[dimension], {begin[i], end[i], strides[i], bit(attributes.begin_mask, i),
                                        bit(attributes.end_mask, i), bit(attributes.shrink_axis_mask, i)}),
        "in dimension {}", dimension));
    const SliceAxis& axis = slice.axes.back();
    if (!axis.shrink) slice.output_shape.push_back(static_cast<int32_t>(axis.size));
  }
  while (slice.axes.size() < input.size()) take_whole();  // dimensions behind the last entry
  return slice;
}

namespace {

// RANGE's start, limit and step as numbers of type T.
template <class T>
Result<double> range_length_of(const Graph& graph, const Op& op) {
  std::array<T, 3> values{};
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor& tensor = *PERAXIS_TRY(constant_tensor(graph, op.inputs[i], "an input"));
    if (tensor.data.size() != sizeof(T)) return fail(ErrorCode::InvalidModel, "input {} is no number", i);
    std::memcpy(&values[i], tensor.data.data(), sizeof(T));
  }
  return range_length(values[0], values[1], values[2]);
}

}  // namespace

Result<double> range_length(const Graph& graph, const Op& op) {
  switch (graph.tensor(op.outputs[0]).type) {
    case DataType::Float32:
      return range_length_of<float>(graph, op);
    case DataType::Int64:
      return range_length_of<int64_t>(graph, op);
    default:
      return range_length_of<int32_t>(graph, op);
  }
}

Result<ResolvedSlice> resolve_strided_slice(const Graph& graph, const Op& op) {
  const Tensor& input = *PERAXIS_TRY(input_tensor(graph, op, 0));
  PERAXIS_TRY(input_tensor(graph, op, 3));
  const auto* attributes = std::get_if<StridedSliceAttributes>(&op.attributes);
  if (attributes == nullptr) return fail(ErrorCode::InvalidModel, "attributes of another operator");
  const std::vector<int32_t> begin = PERAXIS_TRY(constant_int32(graph, op.inputs[1], "the begin input"));
  const std::vector<int32_t> end = PERAXIS_TRY(constant_int32(graph, op.inputs[2], "the end input"));
  const std::vector<int32_t> strides = PERAXIS_TRY(constant_int32(graph, op.inputs[3], "the strides input"));
  return resolve_strided_slice(input.shape, begin, end, strides, *attributes);
}

Result<std::vector<AxisPadding>> pad_amounts(const Graph& graph, const Op& op) {
  const Tensor& input = *PERAXIS_TRY(input_tensor(graph, op, 0));
  PERAXIS_TRY(input_tensor(graph, op, 1));
  // LiteRT's PAD and PADV2 take four types of amounts, its MIRROR_PAD two.
  const Tensor& amounts = *PERAXIS_TRY(constant_tensor(graph, op.inputs[1], "the paddings input"));
  std::vector<int64_t> values;
  if (op.kind != OpKind::MirrorPad && amounts.type == DataType::Int8) {
    values = widened<int8_t>(amounts);
  } else if (op.kind != OpKind::MirrorPad && amounts.type == DataType::Int16) {
    values = widened<int16_t>(amounts);
  } else {
    values = PERAXIS_TRY(constant_integers(graph, op.inputs[1], "the paddings input"));
  }
  return pad_amounts(values, static_cast<int64_t>(input.shape.size()));
}

Result<std::vector<int64_t>> reduce_axes(const Graph& graph, const Op& op) {
  const Tensor& input = *PERAXIS_TRY(input_tensor(graph, op, 0));
  PERAXIS_TRY(input_tensor(graph, op, 1));
  const std::vector<int32_t> values = PERAXIS_TRY(constant_int32(graph, op.inputs[1], "the axes input"));
  return reduce_axes(values, static_cast<int64_t>(input.shape.size()));
}

Result<std::vector<int64_t>> transpose_permutation(const Graph& graph, const Op& op) {
  const Tensor& input = *PERAXIS_TRY(input_tensor(graph, op, 0));
  PERAXIS_TRY(input_tensor(graph, op, 1));
  const std::vector<int32_t> values =
      PERAXIS_TRY(constant_int32(graph, op.inputs[1], "the permutation input"));
  return transpose_permutation(values, static_cast<int64_t>(input.shape.size()));
}

Result<std::vector<int64_t>> reverse_axes(const Graph& graph, const Op& op) {
  const Tensor& input = *PERAXIS_TRY(input_tensor(graph, op, 0));
  PERAXIS_TRY(input_tensor(graph, op, 1));
  const std::vector<int32_t> values = PERAXIS_TRY(constant_int32(graph, op.inputs[1], "the axes input"));
  std::vector<int64_t> axes;
  for (const int32_t value : values)
    axes.push_back(PERAXIS_TRY(normalize_axis(value, static_cast<int64_t>(input.shape.size()))));
  std::ranges::sort(axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] == axes[0] + static_cast<int64_t>(i)) continue;
    return fail(ErrorCode::Unsupported, "the axes {} are not neighbours, each once; LiteRT takes no others",
                shape_text(axes));
  }
  if (axes.empty()) return fail(ErrorCode::InvalidModel, "the axes input names no axis");
  return axes;
}

Result<int64_t> split_axis(const Graph& graph, const Op& op) {
  const Tensor& input = *PERAXIS_TRY(input_tensor(graph, op, 1));
  const std::vector<int32_t> values = PERAXIS_TRY(constant_int32(graph, op.inputs[0], "the axis input"));
  if (values.size() != 1)
    return fail(ErrorCode::InvalidModel, "the axis input has {} values, not 1", values.size());
  return normalize_axis(values[0], static_cast<int64_t>(input.shape.size()));
}

Result<int64_t> concatenation_axis(const Graph& graph, const Op& op) {
  const auto* attributes = std::get_if<ConcatenationAttributes>(&op.attributes);
  if (attributes == nullptr) return fail(ErrorCode::InvalidModel, "attributes of another operator");
  const Tensor& input = *PERAXIS_TRY(input_tensor(graph, op, 0));
  return normalize_axis(attributes->axis, static_cast<int64_t>(input.shape.size()));
}

}  // namespace peraxis::ir
