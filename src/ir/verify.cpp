// Graph-wide rules first (indices, definitions, sizes), so that the rules of single operators, in ops/, may
// follow every index without asking.
#include <cmath>

#include "ir/ops/rules.hpp"
#include "ir/shape.hpp"

namespace peraxis::ir {

Status check_quantization(const QuantParams& quant, std::span<const int32_t> shape) {
  if (!quant.quantized()) return {};
  if (quant.zero_point.size() != quant.scale.size()) {
    return fail(ErrorCode::InvalidModel, "{} scales but {} zero points", quant.scale.size(),
                quant.zero_point.size());
  }
  for (const float scale : quant.scale) {
    if (!std::isfinite(scale) || scale < 0.0F) {
      return fail(ErrorCode::InvalidModel, "the scale {} is not a finite number of at least 0", scale);
    }
  }
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (quant.quantized_dimension < 0 || (rank > 0 && quant.quantized_dimension >= rank)) {
    return fail(ErrorCode::InvalidModel,
                "quantized_dimension {} is outside the rank of {} (LiteRT refuses it too)",
                quant.quantized_dimension, rank);
  }
  if (quant.scale.size() == 1) return {};
  const int64_t channels = rank == 0 ? 1 : shape[static_cast<size_t>(quant.quantized_dimension)];
  if (static_cast<int64_t>(quant.scale.size()) != channels) {
    return fail(ErrorCode::InvalidModel, "{} scales for dimension {} of size {}; it needs 1 or {}",
                quant.scale.size(), quant.quantized_dimension, channels, channels);
  }
  return {};
}

namespace {

Status verify_tensor(const Tensor& tensor) {
  if (tensor.open_shape) {
    return fail(ErrorCode::InvalidModel,
                "it has no shape: the file declares none, and no operator before its reader gives it one");
  }
  PERAXIS_TRY(check_shape(tensor.shape));
  PERAXIS_TRY(check_quantization(tensor.quant, tensor.shape));
  const StoredRange range = type_range(tensor.type);
  for (const int64_t zero_point : tensor.quant.zero_point) {
    if (zero_point < range.low || zero_point > range.high) {
      return fail(ErrorCode::InvalidModel, "the zero point {} is outside {}..{} of {}", zero_point, range.low,
                  range.high, data_type_name(tensor.type));
    }
  }
  if (tensor.is_constant && static_cast<int64_t>(tensor.data.size()) != tensor.bytes()) {
    return fail(ErrorCode::InvalidModel, "the constant has {} data bytes, {} of shape {} needs {}",
                tensor.data.size(), data_type_name(tensor.type), shape_text(tensor.shape), tensor.bytes());
  }
  if (!tensor.is_constant && !tensor.data.empty()) {
    return fail(ErrorCode::InvalidModel, "it has {} data bytes but is no constant", tensor.data.size());
  }
  return {};
}

// Which tensors have a value so far: constants, graph inputs, outputs of the operators before.
class Definitions {
 public:
  explicit Definitions(const Graph& graph) : graph_(graph), defined_(graph.tensors.size(), false) {}

  Status check_index(int32_t index, const char* what, size_t slot) const {
    if (index >= 0 && static_cast<size_t>(index) < defined_.size()) return {};
    return fail(ErrorCode::InvalidModel, "{} {} is tensor {}, the graph has {}", what, slot, index,
                defined_.size());
  }
  Status define(int32_t index) {
    if (graph_.tensor(index).is_constant) {
      return fail(ErrorCode::InvalidModel, "{} is written but is a constant", tensor_label(graph_, index));
    }
    if (defined_[static_cast<size_t>(index)]) {
      return fail(ErrorCode::InvalidModel, "{} is written a second time", tensor_label(graph_, index));
    }
    defined_[static_cast<size_t>(index)] = true;
    return {};
  }
  bool computed(int32_t index) const { return defined_[static_cast<size_t>(index)]; }
  bool readable(int32_t index) const { return graph_.tensor(index).is_constant || computed(index); }

 private:
  const Graph& graph_;
  std::vector<bool> defined_;
};

Status verify_links(const Graph& graph, const Op& op, Definitions& definitions) {
  for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
    const int32_t index = op.inputs[slot];
    if (index == kAbsent) continue;
    PERAXIS_TRY(definitions.check_index(index, "input", slot));
    if (!definitions.readable(index)) {
      return fail(ErrorCode::InvalidModel, "input {}, {}, is read before any operator writes it", slot,
                  tensor_label(graph, index));
    }
  }
  for (size_t slot = 0; slot < op.outputs.size(); ++slot) {
    PERAXIS_TRY(definitions.check_index(op.outputs[slot], "output", slot));
    PERAXIS_TRY(definitions.define(op.outputs[slot]));
  }
  return {};
}

Status verify_rule(const rules::OpView& view) {
  switch (view.op().kind) {
    case OpKind::Add:
    case OpKind::Div:
    case OpKind::Mul:
    case OpKind::Sub:
      return rules::verify_binary(view);
    case OpKind::Maximum:
    case OpKind::Minimum:
      return rules::verify_extremum(view);
    case OpKind::FloorDiv:
    case OpKind::FloorMod:
      return rules::verify_floor(view);
    case OpKind::SquaredDifference:
      return rules::verify_squared_difference(view);
    case OpKind::Prelu:
      return rules::verify_prelu(view);
    case OpKind::AveragePool2D:
    case OpKind::MaxPool2D:
      return rules::verify_pool(view);
    case OpKind::Concatenation:
      return rules::verify_concatenation(view);
    case OpKind::Conv2D:
    case OpKind::DepthwiseConv2D:
      return rules::verify_convolution(view);
    case OpKind::TransposeConv:
      return rules::verify_transpose_conv(view);
    case OpKind::FullyConnected:
      return rules::verify_fully_connected(view);
    case OpKind::BatchMatmul:
      return rules::verify_batch_matmul(view);
    case OpKind::Quantize:
      return rules::verify_quantize(view);
    case OpKind::Dequantize:
      return rules::verify_dequantize(view);
    case OpKind::Densify:
      return rules::verify_densify(view);
    case OpKind::Cast:
      return rules::verify_cast(view);
    case OpKind::Logistic:
      return rules::verify_logistic(view);
    case OpKind::Softmax:
      return rules::verify_softmax(view);
    case OpKind::LeakyRelu:
      return rules::verify_leaky_relu(view);
    case OpKind::Relu:
    case OpKind::Relu6:
    case OpKind::ReluN1To1:
      return rules::verify_rectifier(view);
    case OpKind::Tanh:
      return rules::verify_tanh(view);
    case OpKind::HardSwish:
      return rules::verify_hard_swish(view);
    case OpKind::Exp:
    case OpKind::Sqrt:
    case OpKind::Rsqrt:
      return rules::verify_root(view);
    case OpKind::Abs:
    case OpKind::Neg:
      return rules::verify_sign(view);
    case OpKind::Cos:
    case OpKind::Elu:
    case OpKind::Gelu:
    case OpKind::Log:
    case OpKind::Sin:
      return rules::verify_function(view);
    case OpKind::L2Normalization:
      return rules::verify_l2_normalization(view);
    case OpKind::LogSoftmax:
      return rules::verify_log_softmax(view);
    case OpKind::Mean:
    case OpKind::Sum:
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:
      return rules::verify_reduction(view);
    case OpKind::ArgMax:
    case OpKind::ArgMin:
      return rules::verify_arg(view);
    case OpKind::TopK:
      return rules::verify_topk(view);
    case OpKind::ResizeNearestNeighbor:
    case OpKind::ResizeBilinear:
      return rules::verify_resize(view);
    case OpKind::Reshape:
      return rules::verify_reshape(view);
    case OpKind::Squeeze:
      return rules::verify_squeeze(view);
    case OpKind::ExpandDims:
      return rules::verify_expand_dims(view);
    case OpKind::Transpose:
      return rules::verify_transpose(view);
    case OpKind::Pad:
    case OpKind::PadV2:
      return rules::verify_pad(view);
    case OpKind::MirrorPad:
      return rules::verify_mirror_pad(view);
    case OpKind::StridedSlice:
      return rules::verify_strided_slice(view);
    case OpKind::Slice:
      return rules::verify_slice(view);
    case OpKind::Split:
      return rules::verify_split(view);
    case OpKind::SplitV:
      return rules::verify_split_v(view);
    case OpKind::Pack:
      return rules::verify_pack(view);
    case OpKind::Unpack:
      return rules::verify_unpack(view);
    case OpKind::Gather:
      return rules::verify_gather(view);
    case OpKind::GatherNd:
      return rules::verify_gather_nd(view);
    case OpKind::DepthToSpace:
    case OpKind::SpaceToDepth:
      return rules::verify_block(view);
    case OpKind::BatchToSpace:
    case OpKind::SpaceToBatch:
      return rules::verify_batch_block(view);
    case OpKind::BroadcastTo:
      return rules::verify_broadcast_to(view);
    case OpKind::Shape:
      return rules::verify_shape(view);
    case OpKind::Fill:
      return rules::verify_fill(view);
    case OpKind::Range:
      return rules::verify_range(view);
    case OpKind::Tile:
      return rules::verify_tile(view);
    case OpKind::Reverse:
      return rules::verify_reverse(view);
    case OpKind::Select:
      return rules::verify_select(view);
    case OpKind::CumSum:
      return rules::verify_cumsum(view);
    case OpKind::ScatterNd:
      return rules::verify_scatter_nd(view);
    case OpKind::NonMaxSuppressionV4:
    case OpKind::NonMaxSuppressionV5:
      return rules::verify_non_max_suppression(view);
    case OpKind::DetectionPostProcess:
      return rules::verify_detection(view);
  }
  return fail(ErrorCode::Internal, "no rule for this operator");
}

Status labelled(Status status, const std::string& label) {
  if (status) return status;
  Error error = std::move(status).error();
  error.message = label + ": " + error.message;
  return tl::make_unexpected(std::move(error));
}

// LiteRT refuses an activation bound that is no int32 in the output's steps.
Status verify_activation(const Graph& graph, const Op& op) {
  const Activation activation = std::visit(
      [](const auto& attributes) {
        if constexpr (requires { attributes.activation; }) return attributes.activation;
        return Activation::None;
      },
      op.attributes);
  if (activation != Activation::Relu6 && activation != Activation::ReluN1To1) return {};
  if (!rules::is_quantized_type(graph.tensor(op.outputs[0]).type)) return {};
  const float bound = activation == Activation::Relu6 ? 6.0F : 1.0F;
  const float scale = graph.tensor(op.outputs[0]).quant.scale[0];
  if (static_cast<double>(bound / scale) < 2147483647.0) return {};
  return fail(ErrorCode::InvalidModel,
              "{} with the output's scale {:.9g}: the bound {} is {:.4g} steps, beyond int32",
              activation_name(activation), scale, bound,
              static_cast<double>(bound) / static_cast<double>(scale));
}

Status verify_operator(const Graph& graph, const Op& op) {
  PERAXIS_TRY(verify_rule(rules::OpView(graph, op)));
  return verify_activation(graph, op);
}

}  // namespace

Status verify_op(const Graph& graph, size_t op_index) {
  const Op& op = graph.ops[op_index];
  for (const std::vector<int32_t>* list : {&op.inputs, &op.outputs}) {
    for (const int32_t index : *list) {
      if (index == kAbsent) continue;
      PERAXIS_TRY(labelled(verify_tensor(graph.tensor(index)), tensor_label(graph, index)));
    }
  }
  return labelled(verify_operator(graph, op), graph.op_label(op_index));
}

Status infer_shapes(Graph& graph, size_t op_index) {
  const Op& op = graph.ops[op_index];
  std::vector<rules::OpenShape> open(op.outputs.size());
  for (size_t slot = 0; slot < open.size(); ++slot) {
    Tensor& output = graph.tensors[static_cast<size_t>(op.outputs[slot])];
    if (output.open_shape)
      open[slot].tensor = &output;
    else
      PERAXIS_TRY(labelled(verify_tensor(output), tensor_label(graph, op.outputs[slot])));
  }
  for (const int32_t index : op.inputs) {
    if (index == kAbsent) continue;
    PERAXIS_TRY(labelled(verify_tensor(graph.tensor(index)), tensor_label(graph, index)));
  }
  PERAXIS_TRY(labelled(verify_rule(rules::OpView(graph, op, open)), graph.op_label(op_index)));
  for (size_t slot = 0; slot < open.size(); ++slot) {
    PERAXIS_TRY(
        labelled(verify_tensor(graph.tensor(op.outputs[slot])), tensor_label(graph, op.outputs[slot])));
  }
  return {};
}

Status verify(const Graph& graph) {
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    PERAXIS_TRY(labelled(verify_tensor(graph.tensors[i]), tensor_label(graph, static_cast<int32_t>(i))));
  }
  Definitions definitions(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    PERAXIS_TRY(labelled(definitions.check_index(graph.inputs[i], "input", i), "graph"));
    PERAXIS_TRY(labelled(definitions.define(graph.inputs[i]), fmt::format("graph input {}", i)));
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    Status status = verify_links(graph, op, definitions);
    if (status) status = verify_operator(graph, op);
    PERAXIS_TRY(labelled(std::move(status), graph.op_label(i)));
  }
  if (graph.outputs.empty()) return fail(ErrorCode::InvalidModel, "graph: it has no outputs");
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    PERAXIS_TRY(labelled(definitions.check_index(graph.outputs[i], "output", i), "graph"));
    if (!definitions.readable(graph.outputs[i])) {
      return fail(ErrorCode::InvalidModel, "graph output {}: {} is written by no operator", i,
                  tensor_label(graph, graph.outputs[i]));
    }
  }
  return {};
}

}  // namespace peraxis::ir
