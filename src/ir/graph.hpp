// The graph between import and plan: tensors and operators by index, quantization kept exactly as the
// model states it. Tensor indices are the model's own, so every report and dump can name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace peraxis::ir {

// Float16: constants on their way through densify and dequantize only.
enum class DataType : uint8_t { Float32, Int32, UInt8, Int64, Int8, Int16, Bool, Float16 };
const char* data_type_name(DataType type);  // "float32", "int8", ...
std::optional<DataType> data_type_from_name(std::string_view name);
std::string data_types_listed();  // all names
int64_t data_type_bytes(DataType type);

// real = scale * (stored - zero_point). Empty scale: not quantized. One scale: per-tensor. More: per-axis
// along quantized_dimension; zero_point then has the same length.
struct QuantParams {
  std::vector<float> scale;
  std::vector<int64_t> zero_point;
  int32_t quantized_dimension = 0;
  bool quantized() const { return !scale.empty(); }
  bool per_axis() const { return scale.size() > 1; }
  // Of a tensor with one scale; 0 without any.
  float first_scale() const { return scale.empty() ? 0.0F : scale.front(); }
  int64_t first_zero_point() const { return zero_point.empty() ? 0 : zero_point.front(); }
  bool operator==(const QuantParams&) const = default;
};

struct Tensor {
  std::string name;
  DataType type = DataType::Int8;
  std::vector<int32_t> shape;  // outermost first; what the dimensions of each operand are: ir/layouts.hpp
  QuantParams quant;
  // The file leaves the shape to the operator that makes the tensor: `shape` means nothing until
  // infer_shapes() has stated it. No verified graph has such a tensor.
  bool open_shape = false;
  bool is_constant = false;
  std::vector<uint8_t> data;  // constants only: little-endian, dense, shape order

  int64_t elements() const;  // product of the shape; 1 for a scalar
  int64_t bytes() const { return elements() * data_type_bytes(type); }
};

// A 4-D map by name. Lower ranks are filled with ones in front (as broadcasting does).
struct Nhwc {
  int64_t n = 1, h = 1, w = 1, c = 1;
  int64_t elements() const { return n * h * w * c; }
  bool operator==(const Nhwc&) const = default;
};
Nhwc nhwc(const Tensor& tensor);  // rank 0..4; the importer and the verifier refuse higher ranks where needed

// Rows and columns around a map, by side. Whose values they have says the operator that holds them.
struct Pads {
  // What stands in a file in place of amounts, which need shapes. Importers state the amounts where the
  // shapes are stated, infer_shapes() does where they are open. No verified graph has a rule but Stated.
  //   Even:   ceil(size / stride) outputs; halves before and behind, the odd one behind.
  //   Behind: of a transposed convolution: all of them behind.
  enum class Rule : uint8_t { Stated, Even, Behind };

  int32_t top = 0, bottom = 0, left = 0, right = 0;
  Rule rule = Rule::Stated;
  bool operator==(const Pads&) const = default;
};
const char* pad_rule_name(Pads::Rule rule);  // "stated", "even", "behind"

enum class Activation : uint8_t { None, Relu, ReluN1To1, Relu6 };
const char* activation_name(Activation activation);  // "none", "relu", "relu_n1_to_1", "relu6"

struct NoAttributes {
  bool operator==(const NoAttributes&) const = default;
};
struct BinaryAttributes {
  Activation activation = Activation::None;
  bool pot_scale_int16 = true;  // add and sub of int16: whether scales that are powers of two may be shifts
  bool operator==(const BinaryAttributes&) const = default;
};
struct ConvAttributes {  // conv_2d and depthwise_conv_2d
  Pads pads;             // zeros, which is the input's zero point
  int32_t stride_h = 1, stride_w = 1;
  int32_t dilation_h = 1, dilation_w = 1;
  Activation activation = Activation::None;
  bool int32_bias = false;  // int16 activations: the file names int32 as the type of bias and accumulator
  bool operator==(const ConvAttributes&) const = default;
};
struct FullyConnectedAttributes {
  Activation activation = Activation::None;
  bool keep_num_dims = false;
  bool int32_bias = false;  // as in ConvAttributes
  bool operator==(const FullyConnectedAttributes&) const = default;
};
struct PoolAttributes {
  Pads pads;  // no pixels, unless they are counted
  int32_t stride_h = 1, stride_w = 1, filter_h = 1, filter_w = 1;
  Activation activation = Activation::None;
  // average_pool_2d: padding is zeros (the input's zero point), and a mean is one of the whole window.
  bool counts_padding = false;
  bool operator==(const PoolAttributes&) const = default;
};
struct ConcatenationAttributes {
  int32_t axis = 0;  // may be negative, as in the file
  Activation activation = Activation::None;
  bool operator==(const ConcatenationAttributes&) const = default;
};
struct SoftmaxAttributes {
  float beta = 1.0F;
  bool operator==(const SoftmaxAttributes&) const = default;
};
struct ReduceAttributes {
  bool keep_dims = false;
  bool operator==(const ReduceAttributes&) const = default;
};
struct StridedSliceAttributes {
  int32_t begin_mask = 0, end_mask = 0, ellipsis_mask = 0, new_axis_mask = 0, shrink_axis_mask = 0;
  bool offset = false;
  bool operator==(const StridedSliceAttributes&) const = default;
};
struct SplitAttributes {
  int32_t num_splits = 1;
  bool operator==(const SplitAttributes&) const = default;
};
struct ResizeAttributes {
  bool align_corners = false, half_pixel_centers = false;
  bool operator==(const ResizeAttributes&) const = default;
};
struct LeakyReluAttributes {
  float alpha = 0.0F;
  bool operator==(const LeakyReluAttributes&) const = default;
};
struct TransposeConvAttributes {
  // How much of the whole result, (size - 1) * stride + kernel, is dropped at each side. Behind, it can be
  // less than nothing: outputs that no kernel reaches.
  Pads pads;
  int32_t stride_h = 1, stride_w = 1;
  Activation activation = Activation::None;
  bool int32_bias = false;  // as in ConvAttributes
  bool operator==(const TransposeConvAttributes&) const = default;
};
struct BlockAttributes {  // depth_to_space and space_to_depth
  int32_t block_size = 1;
  bool operator==(const BlockAttributes&) const = default;
};
struct GatherAttributes {
  int32_t axis = 0, batch_dims = 0;  // may be negative, as in the file
  bool operator==(const GatherAttributes&) const = default;
};
struct PackAttributes {  // pack and unpack
  int32_t axis = 0;
  int32_t count = 1;  // inputs of pack, outputs of unpack
  bool operator==(const PackAttributes&) const = default;
};
struct SqueezeAttributes {
  std::vector<int32_t> dims;  // none: every dimension of size 1
  bool operator==(const SqueezeAttributes&) const = default;
};
struct MirrorPadAttributes {
  bool symmetric = false;  // with the edge, else without (REFLECT)
  bool operator==(const MirrorPadAttributes&) const = default;
};
struct BatchMatmulAttributes {
  bool adj_x = false, adj_y = false;  // the last two dimensions of that operand are swapped
  bool operator==(const BatchMatmulAttributes&) const = default;
};
struct CumSumAttributes {
  bool exclusive = false;  // a value is not part of its own sum
  bool reverse = false;    // sums begin at the other end
  bool operator==(const CumSumAttributes&) const = default;
};
struct GeluAttributes {
  bool approximate = false;  // around tanh, else around erfc
  bool operator==(const GeluAttributes&) const = default;
};
struct SvdfAttributes {
  int32_t rank = 1;  // filters of one unit
  Activation activation = Activation::None;
  bool operator==(const SvdfAttributes&) const = default;
};
struct LstmAttributes {                      // the activation is tanh
  float cell_clip = 0.0F, proj_clip = 0.0F;  // 0: none
  bool time_major = false;                   // [time, batch, input], else [batch, time, input]
  // int8: what the file states of the output before a projection.
  float hidden_scale = 0.0F;
  int32_t hidden_zero_point = 0;
  bool operator==(const LstmAttributes&) const = default;
};
struct DetectionAttributes {
  int32_t max_detections = 1, max_classes_per_detection = 1, detections_per_class = 100, num_classes = 1;
  bool use_regular_nms = false;
  float nms_score_threshold = 0.0F, nms_iou_threshold = 0.5F;
  float y_scale = 1.0F, x_scale = 1.0F, h_scale = 1.0F, w_scale = 1.0F;
  bool operator==(const DetectionAttributes&) const = default;
};

using Attributes =
    std::variant<NoAttributes, BinaryAttributes, ConvAttributes, FullyConnectedAttributes, PoolAttributes,
                 ConcatenationAttributes, SoftmaxAttributes, ReduceAttributes, StridedSliceAttributes,
                 SplitAttributes, ResizeAttributes, LeakyReluAttributes, TransposeConvAttributes,
                 BlockAttributes, GatherAttributes, PackAttributes, SqueezeAttributes, MirrorPadAttributes,
                 BatchMatmulAttributes, CumSumAttributes, GeluAttributes, SvdfAttributes, LstmAttributes,
                 DetectionAttributes>;

enum class OpKind : uint8_t {
#define PERAXIS_OP(kind, name, rule, attributes) kind,
#include "ir/ops.def"
#undef PERAXIS_OP
};
const char* op_name(OpKind kind);  // "conv_2d"
std::optional<OpKind> op_kind_from_name(std::string_view name);
std::string operators_listed();         // all names
bool is_convolution_like(OpKind kind);  // conv_2d, depthwise_conv_2d, fully_connected, transpose_conv

inline constexpr int32_t kAbsent = -1;  // an optional input that is not there

struct Op {
  OpKind kind = OpKind::Add;
  std::vector<int32_t> inputs;   // tensor indices, kAbsent where an optional input is missing
  std::vector<int32_t> outputs;  // tensor indices
  Attributes attributes;
};

// What a graph keeps from one run to the next: an operator reads `before` and writes `after`, which is
// `before` of the next run. No operator or end of the graph reads or writes the two otherwise.
struct KeptState {
  int32_t before = kAbsent, after = kAbsent;
  bool operator==(const KeptState&) const = default;
};
// `before` of the first run: 0, and for int8 the zero point, as LiteRT resets its variable tensors.
std::vector<uint8_t> initial_state(const Tensor& before);

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;  // in execution order
  std::vector<int32_t> inputs, outputs;
  std::vector<KeptState> states;

  const Tensor& tensor(int32_t index) const { return tensors[static_cast<size_t>(index)]; }
  // "conv_2d 7 'model/conv1'": how errors and reports name operator `index`.
  std::string op_label(size_t index) const;
};

// Checks every rule the later stages rely on: indices, order of definition, shapes against the operator's
// shape rule, types and quantization that LiteRT accepts (docs/arithmetic.md), constant sizes.
// The error names operator, tensor, value and limit.
Status verify(const Graph& graph);

// The part of it that concerns one operator: its tensors and its rule. The operator's tensor indices must lie
// inside the graph.
Status verify_op(const Graph& graph, size_t op_index);

// States the operator's padding and the shapes of its outputs that are open, by its rule; says why when it
// cannot. The
// operator's tensor indices must lie inside the graph.
Status infer_shapes(Graph& graph, size_t op_index);

// Text form: one line a tensor or operator; constants by size and hash only unless `with_data`.
// parse(print(g, true)) is g again.
std::string print(const Graph& graph, bool with_data = false);
Result<Graph> parse(std::string_view text);

// Range of stored values a fused activation leaves (docs/arithmetic.md#activation-range).
struct StoredRange {
  int32_t low = 0, high = 0;

  bool operator==(const StoredRange&) const = default;
};
StoredRange type_range(DataType type);
StoredRange activation_range(const Tensor& output, Activation activation);

// Spatial sizes of convolutions and pools (docs/arithmetic.md#spatial-sizes).
struct SpatialAxis {
  int64_t out = 0;     // output size
  int64_t before = 0;  // padding at the top or left
  int64_t after = 0;   // padding at the other end that a window reaches, which can be less than there is
};
struct SpatialAxes {
  SpatialAxis rows, columns;
};
SpatialAxes conv_axes(const Nhwc& in, int64_t kernel_h, int64_t kernel_w, const ConvAttributes& attributes);
SpatialAxes pool_axes(const Nhwc& in, const PoolAttributes& attributes);

// The operator's outputs hold bytes of its inputs and constants, elsewhere: no arithmetic. A concatenation of
// several scales computes.
bool only_moves_data(const Graph& graph, const Op& op);

// By operator: none of its outputs is read by a live operator, is an output of the graph or kept.
std::vector<bool> dead_operators(const Graph& graph);

}  // namespace peraxis::ir
