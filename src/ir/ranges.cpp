#include "ir/ranges.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "ir/shape.hpp"

namespace peraxis::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_8bit(DataType type) {
  return type == DataType::Int8 || type == DataType::UInt8;
}
bool is_quantized(const Tensor& tensor) {
  return (is_8bit(tensor.type) || tensor.type == DataType::Int16) && tensor.quant.scale.size() == 1 &&
         tensor.quant.zero_point.size() == 1;
}

double real_of(const Tensor& tensor, double stored) {
  return static_cast<double>(tensor.quant.scale[0]) *
         (stored - static_cast<double>(tensor.quant.zero_point[0]));
}

RealRange storable(const Tensor& tensor) {
  if (!is_quantized(tensor)) return {-kInfinity, kInfinity};
  const StoredRange range = type_range(tensor.type);
  return {real_of(tensor, range.low), real_of(tensor, range.high)};
}

RealRange hull(const RealRange& a, const RealRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// What is left of values that saturate at the ends of `limits`.
RealRange clamped(const RealRange& values, const RealRange& limits) {
  return {std::clamp(values.low, limits.low, limits.high), std::clamp(values.high, limits.low, limits.high)};
}

template <class T>
RealRange extremes(const std::vector<uint8_t>& data) {
  RealRange out{kInfinity, -kInfinity};
  for (size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, data.data() + at, sizeof(T));
    if (value != value) return {-kInfinity, kInfinity};  // NaN
    out = hull(out, {static_cast<double>(value), static_cast<double>(value)});
  }
  return out;
}

RealRange constant_range(const Tensor& tensor) {
  if (tensor.type == DataType::Float32) return extremes<float>(tensor.data);
  if (!is_quantized(tensor)) return storable(tensor);
  const RealRange stored = tensor.type == DataType::Int8    ? extremes<int8_t>(tensor.data)
                           : tensor.type == DataType::UInt8 ? extremes<uint8_t>(tensor.data)
                                                            : extremes<int16_t>(tensor.data);
  return {real_of(tensor, stored.low), real_of(tensor, stored.high)};
}

RealRange activated(RealRange values, Activation activation) {
  switch (activation) {
    case Activation::None:
      return values;
    case Activation::Relu:
      return clamped(values, {0, kInfinity});
    case Activation::Relu6:
      return clamped(values, {0, 6});
    case Activation::ReluN1To1:
      return clamped(values, {-1, 1});
  }
  return values;
}

Activation fused_activation(const Op& op) {
  return std::visit(
      [](const auto& attributes) {
        if constexpr (requires { attributes.activation; }) return attributes.activation;
        return Activation::None;
      },
      op.attributes);
}

// The inputs whose elements the operator hands on as they are, in a new scale (QUANTIZE, DEQUANTIZE, uint8
// CONCATENATION) or averaged; empty for operators that compute.
std::vector<int32_t> handed_on(const Op& op) {
  switch (op.kind) {
    case OpKind::Concatenation:
    case OpKind::Pack:
      return op.inputs;
    case OpKind::Quantize:
    case OpKind::Dequantize:
    case OpKind::Reshape:
    case OpKind::Squeeze:
    case OpKind::ExpandDims:
    case OpKind::Transpose:
    case OpKind::Slice:
    case OpKind::StridedSlice:
    case OpKind::SplitV:
    case OpKind::Unpack:
    case OpKind::Gather:
    case OpKind::GatherNd:
    case OpKind::MirrorPad:
    case OpKind::DepthToSpace:
    case OpKind::SpaceToDepth:
    case OpKind::BatchToSpace:
    case OpKind::BroadcastTo:
    case OpKind::AveragePool2D:
    case OpKind::MaxPool2D:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:
    case OpKind::ResizeNearestNeighbor:
    case OpKind::Reverse:
    case OpKind::Tile:
      return {op.inputs[0]};
    case OpKind::Split:
      return {op.inputs[1]};
    default:
      return {};
  }
}

RealRange product_range(const RealRange& a, const RealRange& b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0.0 : x * y; };
  const double ends[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                         times(a.high, b.high)};
  return {*std::ranges::min_element(ends), *std::ranges::max_element(ends)};
}

// What the operator's function can give; nothing where that is not known here.
std::optional<RealRange> computed(const Op& op, const std::vector<RealRange>& of) {
  const auto in = [&](size_t slot) { return of[static_cast<size_t>(op.inputs[slot])]; };
  switch (op.kind) {
    case OpKind::Logistic:
    case OpKind::Softmax:
      return RealRange{0, 1};
    case OpKind::Cos:
    case OpKind::L2Normalization:
    case OpKind::Sin:
    case OpKind::Tanh:
      return RealRange{-1, 1};
    case OpKind::Relu:
      return activated(in(0), Activation::Relu);
    case OpKind::Relu6:
      return activated(in(0), Activation::Relu6);
    case OpKind::ReluN1To1:
      return activated(in(0), Activation::ReluN1To1);
    case OpKind::Add:
      return RealRange{in(0).low + in(1).low, in(0).high + in(1).high};
    case OpKind::Sub:
      return RealRange{in(0).low - in(1).high, in(0).high - in(1).low};
    case OpKind::Mul:
      return product_range(in(0), in(1));
    case OpKind::Maximum:
      return RealRange{std::max(in(0).low, in(1).low), std::max(in(0).high, in(1).high)};
    case OpKind::Minimum:
      return RealRange{std::min(in(0).low, in(1).low), std::min(in(0).high, in(1).high)};
    default:
      return std::nullopt;
  }
}

// Bytes are copied, whatever scale the output states: the values are those of the input only under one scale.
bool same_meaning(const Tensor& input, const Tensor& output, const Op& op) {
  if (op.kind == OpKind::Quantize || op.kind == OpKind::Dequantize) return true;
  return input.type == output.type && (!is_quantized(output) || input.quant == output.quant ||
                                       (op.kind == OpKind::Concatenation && output.type == DataType::UInt8));
}

RealRange output_range(const Graph& graph, const Op& op, int32_t output, const std::vector<RealRange>& of) {
  const Tensor& made = graph.tensor(output);
  const RealRange limits = storable(made);
  const std::vector<int32_t> sources = handed_on(op);
  std::optional<RealRange> values;
  for (const int32_t t : sources) {
    if (t == kAbsent || !same_meaning(graph.tensor(t), made, op)) return limits;
    const RealRange& range = of[static_cast<size_t>(t)];
    values = values ? hull(*values, range) : range;
  }
  if (!values && std::ranges::count(op.inputs, kAbsent) == 0) values = computed(op, of);
  return clamped(activated(values.value_or(limits), fused_activation(op)), limits);
}

int64_t stored_at(const Tensor& tensor, double real) {
  const StoredRange range = type_range(tensor.type);
  const double steps = std::round(real / static_cast<double>(tensor.quant.scale[0])) +
                       static_cast<double>(tensor.quant.zero_point[0]);
  return static_cast<int64_t>(
      std::clamp(steps, static_cast<double>(range.low), static_cast<double>(range.high)));
}

}  // namespace

std::vector<RealRange> value_ranges(const Graph& graph) {
  std::vector<RealRange> out;
  out.reserve(graph.tensors.size());
  for (const Tensor& tensor : graph.tensors)
    out.push_back(tensor.is_constant ? constant_range(tensor) : storable(tensor));
  for (const Op& op : graph.ops)
    for (const int32_t t : op.outputs) out[static_cast<size_t>(t)] = output_range(graph, op, t, out);
  return out;
}

std::vector<CrowdedInput> crowded_inputs(const Graph& graph) {
  const std::vector<RealRange> ranges = value_ranges(graph);
  const std::vector<bool> dead = dead_operators(graph);
  std::vector<int32_t> maker(graph.tensors.size(), -1);
  std::vector<CrowdedInput> out;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const Op& op = graph.ops[index];
    const std::vector<int32_t> sources = handed_on(op);
    // Of several sources none is the one to change alone.
    const bool passes = sources.size() == 1 && sources[0] != kAbsent && !graph.tensor(sources[0]).is_constant;
    for (const int32_t t : op.outputs)
      maker[static_cast<size_t>(t)] =
          passes ? maker[static_cast<size_t>(sources[0])] : static_cast<int32_t>(index);
    if (op.kind != OpKind::Concatenation || dead[index] || op.inputs.size() < 2) continue;
    const Tensor& joined = graph.tensor(op.outputs[0]);
    if (!is_8bit(joined.type) || !is_quantized(joined)) continue;
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      const Tensor& part = graph.tensor(op.inputs[slot]);
      const RealRange& values = ranges[static_cast<size_t>(op.inputs[slot])];
      if (part.is_constant || values.low == values.high) continue;
      const int64_t levels = stored_at(joined, values.high) - stored_at(joined, values.low) + 1;
      if (levels < kFewLevels)
        out.push_back({index, slot, values, levels, maker[static_cast<size_t>(op.inputs[slot])]});
    }
  }
  return out;
}

}  // namespace peraxis::ir
