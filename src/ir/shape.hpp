// Shape rules that the verifier, the reference kernels and the lowering all need. Each is written here
// once, in LiteRT's meaning (docs/arithmetic.md), and refuses what LiteRT refuses.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "ir/graph.hpp"

namespace peraxis::ir {

// Limits of every tensor the importer and the verifier let through.
inline constexpr size_t kMaxRank = 8;
inline constexpr int64_t kMaxElements = (int64_t{1} << 31) - 1;

std::string shape_text(std::span<const int32_t> shape);  // "[1,80,80,32]"
std::string shape_text(std::span<const int64_t> shape);
std::string tensor_label(const Graph& graph, int32_t index);  // "tensor 7 'model/conv1/bias'"

// Rank at most kMaxRank, every dimension at least 1, at most kMaxElements elements.
Status check_shape(std::span<const int32_t> shape);
// As many zero points as scales, scales finite and not negative, one scale or one for each index of
// quantized_dimension, which lies within the rank.
Status check_quantization(const QuantParams& quant, std::span<const int32_t> shape);

// -rank..rank-1 to 0..rank-1.
Result<int64_t> normalize_axis(int64_t axis, int64_t rank);

// The values of a constant int32 tensor (shape of a reshape, paddings, axes, ...). Unsupported when the
// tensor is computed at run time or is not int32; the message names the tensor and `role`.
Result<std::vector<int32_t>> constant_int32(const Graph& graph, int32_t index, std::string_view role);

// The values of a constant int32 or int64 tensor, under the same conditions.
Result<std::vector<int64_t>> constant_integers(const Graph& graph, int32_t index, std::string_view role);

// TFLite's broadcasting: shapes are aligned at the last dimension, ones stretch.
Result<std::vector<int32_t>> broadcast_shape(std::span<const int32_t> a, std::span<const int32_t> b);

// The shape a reshape asks for, with its one -1 (if any) filled in. Element counts must agree.
Result<std::vector<int32_t>> reshape_shape(std::span<const int32_t> input, std::span<const int32_t> wanted);

// Axes of a reduction in rising order, negative ones resolved, duplicates once.
Result<std::vector<int64_t>> reduce_axes(std::span<const int32_t> axes, int64_t rank);
// Empty for a full reduction without keep_dims (a scalar).
std::vector<int32_t> reduced_shape(std::span<const int32_t> input, std::span<const int64_t> axes,
                                   bool keep_dims);

// output dimension i is input dimension permutation[i].
Result<std::vector<int64_t>> transpose_permutation(std::span<const int32_t> permutation, int64_t rank);

struct AxisPadding {
  int64_t before = 0, after = 0;
};
// `values` is the [rank, 2] constant of PAD, row by row.
Result<std::vector<AxisPadding>> pad_amounts(std::span<const int64_t> values, int64_t rank);

// A strided slice with masks and negative indices resolved: one entry an input dimension.
// Output position i of that dimension reads input position begin + i * stride, 0 <= i < size.
struct SliceAxis {
  int64_t begin = 0, stride = 1;
  int64_t size = 0;     // at least 1
  bool shrink = false;  // this dimension (size 1) is left out of the output's shape
  bool operator==(const SliceAxis&) const = default;
};
struct ResolvedSlice {
  std::vector<SliceAxis> axes;
  std::vector<int32_t> output_shape;
};
Result<ResolvedSlice> resolve_strided_slice(std::span<const int32_t> input, std::span<const int32_t> begin,
                                            std::span<const int32_t> end, std::span<const int32_t> strides,
                                            const StridedSliceAttributes& attributes);

// How many values RANGE makes; -1 when the step is 0 or leads away from the limit.
template <class T>
double range_length(T start, T limit, T step) {
  if (step == T{0} || (step > T{0} && start > limit) || (step < T{0} && start < limit)) return -1;
  const double distance = std::fabs(static_cast<double>(limit) - static_cast<double>(start));
  return std::ceil(distance / std::fabs(static_cast<double>(step)));
}

// The same, straight from a graph's operator (they read its constant inputs).
Result<double> range_length(const Graph& graph, const Op& op);
Result<ResolvedSlice> resolve_strided_slice(const Graph& graph, const Op& op);
Result<std::vector<AxisPadding>> pad_amounts(const Graph& graph, const Op& op);
Result<std::vector<int64_t>> reduce_axes(const Graph& graph, const Op& op);
Result<std::vector<int64_t>> transpose_permutation(const Graph& graph, const Op& op);
// Axes of REVERSE_V2 in rising order: one or more neighbours, as LiteRT takes them.
Result<std::vector<int64_t>> reverse_axes(const Graph& graph, const Op& op);
Result<int64_t> split_axis(const Graph& graph, const Op& op);          // 0..rank-1 of the input
Result<int64_t> concatenation_axis(const Graph& graph, const Op& op);  // 0..rank-1 of the output

}  // namespace peraxis::ir
