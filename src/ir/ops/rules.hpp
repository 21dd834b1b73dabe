// What the rules of single operators share; only for verify.cpp and the files beside this one. A rule's
// message starts at the tensor: verify() puts the operator's label in front.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "ir/graph.hpp"
#include "ir/pads.hpp"
#include "ir/shape.hpp"

namespace peraxis::ir::rules {

// An output whose shape the rule is to state, and the ranks it has allowed so far.
struct OpenShape {
  Tensor* tensor = nullptr;
  size_t least_rank = 0, most_rank = kMaxRank;
  bool pending() const { return tensor != nullptr && tensor->open_shape; }
};

// One input or output of the operator under test, with the word its messages use.
struct Operand {
  const Tensor* tensor = nullptr;
  int32_t index = kAbsent;
  const char* role = "";
  OpenShape* open = nullptr;  // while shapes are inferred: of an output
  bool shape_pending() const { return open != nullptr && open->pending(); }
  std::string text() const;  // "weights (tensor 7 'conv/w')"
};

class OpView {
 public:
  OpView(const Graph& graph, const Op& op) : graph_(graph), op_(op) {}
  // To infer shapes: one entry an output.
  OpView(const Graph& graph, const Op& op, std::span<OpenShape> open) : graph_(graph), op_(op), open_(open) {}
  const Graph& graph() const { return graph_; }
  const Op& op() const { return op_; }
  size_t inputs() const { return op_.inputs.size(); }
  size_t outputs() const { return op_.outputs.size(); }
  bool has_input(size_t slot) const { return slot < inputs() && op_.inputs[slot] != kAbsent; }

  // Number of inputs and outputs; slots 0..least-1 must not be absent.
  Status expect_counts(size_t least, size_t most, size_t outputs = 1) const;
  Operand input(size_t slot, const char* role = "the input") const;
  Operand output(size_t slot = 0, const char* role = "the output") const;

  template <class T>
  Result<T> attributes() const {
    const T* found = std::get_if<T>(&op_.attributes);
    if (found == nullptr)
      return fail(ErrorCode::InvalidModel, "it carries the attributes of another operator");
    return *found;
  }

 private:
  const Graph& graph_;
  const Op& op_;
  std::span<OpenShape> open_;
};

// The types an operator takes; any other is refused by name.
using Types = std::initializer_list<DataType>;
inline constexpr Types k8Bit = {DataType::Int8, DataType::UInt8};
inline constexpr Types kQuantized = {DataType::Int8, DataType::UInt8, DataType::Int16};
inline constexpr Types kReal = {DataType::Float32, DataType::Int8, DataType::UInt8, DataType::Int16};
inline constexpr Types kAnyType = {DataType::Float32, DataType::Int32, DataType::UInt8, DataType::Int64,
                                   DataType::Int8,    DataType::Int16, DataType::Bool};
inline constexpr Types kIndex = {DataType::Int32, DataType::Int64};
Status expect_type(const Operand& operand, Types types);

// One scale above 0 and, for int16, the zero point 0.
Status expect_quantization(const Operand& operand);
// One of the types and, when it is a quantized one, its quantization.
Status expect_numbers(const Operand& operand, Types types);
bool is_quantized_type(DataType type);  // int8, uint8, int16
Status expect_constant(const Operand& operand);
Status expect_same_type(const Operand& a, const Operand& b);
Status expect_rank(const Operand& operand, size_t least, size_t most);
// The rule's own statement of a shape. While shapes are inferred an open output takes it.
Status expect_shape(const Operand& operand, std::span<const int32_t> shape);
Status expect_same_shape(const Operand& a, const Operand& b);
// Refuses to go on where a rule takes the shape of an output as the file states it, and the file does not.
Status expect_stated_shape(const Operand& output);

// Two tensors of one type out of `types` and one shape, quantized where the type is.
Status verify_same(const Operand& input, const Operand& output, Types types);
// The same of the operator's one input and one output.
Status verify_alike(const OpView& view, Types types);

// A real multiplier of multiplied sums that LiteRT's integer arithmetic can represent: finite and below 2^31.
// Element-wise operators take any (dead scales make them); what x86 makes of a shift beyond 31 is LiteRT's
// result.
Status expect_multiplier(double multiplier, const char* formula);

// int16 kernels of the convolutions carry 15 bits of a multiplier, which must be below 2^7.
Status expect_int16_multiplier(double multiplier, const char* formula);

Status verify_convolution(const OpView& view);  // conv_2d, depthwise_conv_2d
Status verify_transpose_conv(const OpView& view);
Status verify_fully_connected(const OpView& view);
// The rules of a bias shared by the three above; `channels` values. `int32_bias`: the attribute of that name.
struct Weighted {
  const Operand &input, &weights, &output;
  int64_t channels;
  bool int32_bias;
};
Status verify_bias(const OpView& view, size_t slot, const Weighted& weighted);
// Types of input, weights and output shared by the three above.
Status verify_weighted_types(const Operand& input, const Operand& weights, const Operand& output);

Status verify_batch_matmul(const OpView& view);

Status verify_binary(const OpView& view);    // add, sub, mul, div
Status verify_extremum(const OpView& view);  // maximum, minimum
Status verify_floor(const OpView& view);     // floor_div, floor_mod
Status verify_squared_difference(const OpView& view);
Status verify_prelu(const OpView& view);
Status verify_concatenation(const OpView& view);

Status verify_quantize(const OpView& view);
Status verify_dequantize(const OpView& view);
Status verify_densify(const OpView& view);
Status verify_cast(const OpView& view);

Status verify_logistic(const OpView& view);
Status verify_softmax(const OpView& view);
Status verify_leaky_relu(const OpView& view);
Status verify_rectifier(const OpView& view);  // relu, relu6, relu_n1_to_1
Status verify_tanh(const OpView& view);
Status verify_hard_swish(const OpView& view);
Status verify_root(const OpView& view);  // exp, sqrt, rsqrt
Status verify_sign(const OpView& view);  // abs, neg

Status verify_function(const OpView& view);  // sin, cos, log, elu, gelu
Status verify_l2_normalization(const OpView& view);
Status verify_log_softmax(const OpView& view);

Status verify_pool(const OpView& view);       // average_pool_2d, max_pool_2d
Status verify_reduction(const OpView& view);  // mean, sum, reduce_max, reduce_min
Status verify_arg(const OpView& view);        // arg_max, arg_min
Status verify_topk(const OpView& view);
Status verify_resize(const OpView& view);  // resize_nearest_neighbor, resize_bilinear

Status verify_reshape(const OpView& view);
Status verify_squeeze(const OpView& view);
Status verify_expand_dims(const OpView& view);
Status verify_transpose(const OpView& view);
Status verify_pad(const OpView& view);  // pad, padv2
Status verify_mirror_pad(const OpView& view);
Status verify_strided_slice(const OpView& view);
Status verify_slice(const OpView& view);
Status verify_split(const OpView& view);
Status verify_split_v(const OpView& view);
Status verify_pack(const OpView& view);
Status verify_unpack(const OpView& view);
Status verify_gather(const OpView& view);
Status verify_gather_nd(const OpView& view);
Status verify_block(const OpView& view);        // depth_to_space, space_to_depth
Status verify_batch_block(const OpView& view);  // batch_to_space_nd, space_to_batch_nd
Status verify_broadcast_to(const OpView& view);
Status verify_shape(const OpView& view);
Status verify_fill(const OpView& view);
Status verify_range(const OpView& view);

Status verify_tile(const OpView& view);
Status verify_reverse(const OpView& view);
Status verify_select(const OpView& view);
Status verify_cumsum(const OpView& view);
Status verify_scatter_nd(const OpView& view);
Status verify_non_max_suppression(const OpView& view);  // version 4 and 5

Status verify_svdf(const OpView& view);
Status verify_sequence_lstm(const OpView& view);

Status verify_detection(const OpView& view);

// Padding in amounts of kMostPadding at most. At the top and left they are 0 or more, and at the other ends
// too unless `may_miss`.
Status expect_pads(const Pads& pads, bool may_miss);

}  // namespace peraxis::ir::rules
