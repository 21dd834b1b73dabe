// Names of types, operators and attributes, and the small arithmetic on tensors that needs no graph.
// The names are the text form's vocabulary: changing one changes every stored dump.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "ir/graph.hpp"

namespace peraxis::ir {

namespace {

struct TypeRow {
  DataType type;
  const char* name;
  int64_t bytes;
};
constexpr std::array kTypes{
    TypeRow{DataType::Float32, "float32", 4}, TypeRow{DataType::Int32, "int32", 4},
    TypeRow{DataType::UInt8, "uint8", 1},     TypeRow{DataType::Int64, "int64", 8},
    TypeRow{DataType::Int8, "int8", 1},       TypeRow{DataType::Int16, "int16", 2},
    TypeRow{DataType::Bool, "bool", 1},       TypeRow{DataType::Float16, "float16", 2},
};

struct OpRow {
  OpKind kind;
  const char* name;
};
constexpr std::array kOps{
#define PERAXIS_OP(kind, name, rule, attributes) OpRow{OpKind::kind, name},
#include "ir/ops.def"
#undef PERAXIS_OP
};

// Products of hostile shapes stay here, so that bytes() (at most 8 a element) cannot overflow.
constexpr int64_t kElementsCeiling = int64_t{1} << 59;

}  // namespace

const char* data_type_name(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.name;
  }
  return "unknown";
}

std::optional<DataType> data_type_from_name(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name) return row.type;
  }
  return std::nullopt;
}

std::string data_types_listed() {
  std::string out;
  for (const TypeRow& row : kTypes) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

int64_t data_type_bytes(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.bytes;
  }
  return 1;
}

const char* pad_rule_name(Pads::Rule rule) {
  switch (rule) {
    case Pads::Rule::Stated:
      return "stated";
    case Pads::Rule::Even:
      return "even";
    case Pads::Rule::Behind:
      return "behind";
  }
  return "unknown";
}

const char* activation_name(Activation activation) {
  switch (activation) {
    case Activation::None:
      return "none";
    case Activation::Relu:
      return "relu";
    case Activation::ReluN1To1:
      return "relu_n1_to_1";
    case Activation::Relu6:
      return "relu6";
  }
  return "unknown";
}

const char* op_name(OpKind kind) {
  for (const OpRow& row : kOps) {
    if (row.kind == kind) return row.name;
  }
  return "unknown";
}

std::optional<OpKind> op_kind_from_name(std::string_view name) {
  for (const OpRow& row : kOps) {
    if (name == row.name) return row.kind;
  }
  return std::nullopt;
}

std::string operators_listed() {
  std::string out;
  for (const OpRow& row : kOps) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

bool is_convolution_like(OpKind kind) {
  return kind == OpKind::Conv2D || kind == OpKind::DepthwiseConv2D || kind == OpKind::FullyConnected ||
         kind == OpKind::TransposeConv;
}

int64_t Tensor::elements() const {
  int64_t product = 1;
  for (const int32_t dimension : shape) {
    if (dimension <= 0) return 0;
    if (product > kElementsCeiling / dimension) return kElementsCeiling;
    product *= dimension;
  }
  return product;
}

Nhwc nhwc(const Tensor& tensor) {
  const size_t rank = tensor.shape.size();
  PERAXIS_CHECK(rank <= 4, "nhwc() of a tensor of rank above 4");
  std::array<int64_t, 4> filled{1, 1, 1, 1};
  for (size_t i = 0; i < rank; ++i) filled[4 - rank + i] = tensor.shape[i];
  return {filled[0], filled[1], filled[2], filled[3]};
}

StoredRange type_range(DataType type) {
  switch (type) {
    case DataType::UInt8:
      return {0, 255};
    case DataType::Int8:
      return {-128, 127};
    case DataType::Int16:
      return {-32768, 32767};
    case DataType::Bool:
      return {0, 1};
    case DataType::Float32:
    case DataType::Float16:
    case DataType::Int32:
    case DataType::Int64:
      break;
  }
  return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
}

// Q(r) = zero_point + round(r / scale), the division in float32, ties away from zero. The clamp to the
// type's range is made in double so that a tiny scale cannot leave int32.
StoredRange activation_range(const Tensor& output, Activation activation) {
  StoredRange range = type_range(output.type);
  if (activation == Activation::None) return range;
  const float scale = output.quant.scale.empty() ? 1.0F : output.quant.scale[0];
  const int64_t zero_point = output.quant.zero_point.empty() ? 0 : output.quant.zero_point[0];
  const auto stored = [&](float real) {
    double steps = std::round(static_cast<double>(real / scale));
    if (std::isnan(steps)) steps = 0.0;  // 0 / 0: a scale the verifier refuses
    return static_cast<int32_t>(std::clamp(static_cast<double>(zero_point) + steps,
                                           static_cast<double>(range.low), static_cast<double>(range.high)));
  };
  const StoredRange type = range;
  switch (activation) {
    case Activation::None:
      break;
    case Activation::Relu:
      range.low = stored(0.0F);
      break;
    case Activation::ReluN1To1:
      range = {stored(-1.0F), stored(1.0F)};
      break;
    case Activation::Relu6:
      range = {stored(0.0F), stored(6.0F)};
      break;
  }
  range.low = std::max(range.low, type.low);
  range.high = std::min(range.high, type.high);
  return range;
}

namespace {

// One axis of a map of `in` pixels between paddings.
struct WindowAxis {
  int64_t in, before, after, kernel, stride, dilation;
};
SpatialAxis spatial_axis(const WindowAxis& a) {
  PERAXIS_CHECK(a.stride > 0, "spatial_axis() with a stride below 1");
  const int64_t padded = a.in + a.before + a.after, extent = (a.kernel - 1) * a.dilation + 1;
  SpatialAxis axis{0, a.before, 0};
  if (padded < extent) return axis;
  axis.out = (padded - extent) / a.stride + 1;
  axis.after = std::max<int64_t>(0, (axis.out - 1) * a.stride + extent - a.before - a.in);
  return axis;
}

}  // namespace

SpatialAxes conv_axes(const Nhwc& in, int64_t kernel_h, int64_t kernel_w, const ConvAttributes& a) {
  return {spatial_axis({in.h, a.pads.top, a.pads.bottom, kernel_h, a.stride_h, a.dilation_h}),
          spatial_axis({in.w, a.pads.left, a.pads.right, kernel_w, a.stride_w, a.dilation_w})};
}

SpatialAxes pool_axes(const Nhwc& in, const PoolAttributes& a) {
  return {spatial_axis({in.h, a.pads.top, a.pads.bottom, a.filter_h, a.stride_h, 1}),
          spatial_axis({in.w, a.pads.left, a.pads.right, a.filter_w, a.stride_w, 1})};
}

bool only_moves_data(const Graph& graph, const Op& op) {
  switch (op.kind) {
    case OpKind::Concatenation: {
      const Tensor& out = graph.tensor(op.outputs[0]);
      const auto* joined = std::get_if<ConcatenationAttributes>(&op.attributes);
      return joined != nullptr && joined->activation == Activation::None &&
             std::ranges::all_of(
                 op.inputs, [&](int32_t t) { return t == kAbsent || graph.tensor(t).quant == out.quant; });
    }
    case OpKind::BatchToSpace:
    case OpKind::BroadcastTo:
    case OpKind::DepthToSpace:
    case OpKind::ExpandDims:
    case OpKind::Fill:
    case OpKind::Gather:
    case OpKind::GatherNd:
    case OpKind::MirrorPad:
    case OpKind::Pack:
    case OpKind::Pad:
    case OpKind::PadV2:
    case OpKind::Reshape:
    case OpKind::Reverse:
    case OpKind::Select:
    case OpKind::Tile:
    case OpKind::ResizeNearestNeighbor:
    case OpKind::Shape:
    case OpKind::Slice:
    case OpKind::SpaceToBatch:
    case OpKind::SpaceToDepth:
    case OpKind::Split:
    case OpKind::SplitV:
    case OpKind::Squeeze:
    case OpKind::StridedSlice:
    case OpKind::Transpose:
    case OpKind::Unpack:
      return true;
    default:
      return false;
  }
}

std::vector<bool> dead_operators(const Graph& graph) {
  std::vector<bool> read(graph.tensors.size()), dead(graph.ops.size());
  for (const int32_t t : graph.outputs) read[static_cast<size_t>(t)] = true;
  for (const KeptState& state : graph.states) read[static_cast<size_t>(state.after)] = true;
  for (size_t op = graph.ops.size(); op-- > 0;) {
    dead[op] =
        std::ranges::none_of(graph.ops[op].outputs, [&](int32_t t) { return read[static_cast<size_t>(t)]; });
    if (dead[op]) continue;
    for (const int32_t t : graph.ops[op].inputs)
      if (t != kAbsent) read[static_cast<size_t>(t)] = true;
  }
  return dead;
}

std::vector<uint8_t> initial_state(const Tensor& before) {
  const int64_t stored =
      before.type == DataType::Int8 && before.quant.quantized() ? before.quant.zero_point[0] : 0;
  return std::vector<uint8_t>(static_cast<size_t>(before.bytes()), static_cast<uint8_t>(stored));
}

std::string Graph::op_label(size_t index) const {
  if (index >= ops.size()) return fmt::format("operator {}", index);
  const Op& op = ops[index];
  std::string label = fmt::format("{} {}", op_name(op.kind), index);
  if (!op.outputs.empty() && op.outputs[0] >= 0 && static_cast<size_t>(op.outputs[0]) < tensors.size()) {
    label += fmt::format(" '{}'", tensor(op.outputs[0]).name);
  }
  return label;
}

}  // namespace peraxis::ir
