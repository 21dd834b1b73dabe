// Operators of a TFLite file: one row a kind says how its options become attributes. Options that are left
// out mean the schema's defaults where those are usable; a convolution or pool without them is an error.
#include <algorithm>
#include <array>

#include "import/tflite_reader.hpp"
#include "ir/shape.hpp"

namespace peraxis::import {

namespace {

Result<ir::Activation> read_activation(tfl::ActivationFunctionType type) {
  switch (type) {
    case tfl::ActivationFunctionType::NONE:
      return ir::Activation::None;
    case tfl::ActivationFunctionType::RELU:
      return ir::Activation::Relu;
    case tfl::ActivationFunctionType::RELU_N1_TO_1:
      return ir::Activation::ReluN1To1;
    case tfl::ActivationFunctionType::RELU6:
      return ir::Activation::Relu6;
    default:
      break;
  }
  const char* name = tfl::EnumNameActivationFunctionType(type);
  return fail(ErrorCode::Unsupported, "the fused activation {} (code {}) is not supported",
              *name == '\0' ? "unknown" : name, static_cast<int>(type));
}

// Amounts follow from the shapes (ir::state_pads).
Result<ir::Pads> read_padding(tfl::Padding padding, ir::Pads::Rule valid = ir::Pads::Rule::Stated) {
  ir::Pads pads;
  switch (padding) {
    case tfl::Padding::SAME:
      pads.rule = ir::Pads::Rule::Even;
      return pads;
    case tfl::Padding::VALID:
      pads.rule = valid;
      return pads;
  }
  return fail(ErrorCode::InvalidModel, "the padding code {} is not SAME (0) or VALID (1)",
              static_cast<int>(padding));
}

// The options table of type T, or null when the operator has none.
template <class T>
Result<const T*> options(const tfl::Operator& op) {
  if (op.builtin_options_type() == tfl::BuiltinOptions::NONE || op.builtin_options() == nullptr)
    return nullptr;
  if (op.builtin_options_type() != tfl::BuiltinOptionsTraits<T>::enum_value) {
    const char* name = tfl::EnumNameBuiltinOptions(op.builtin_options_type());
    return fail(ErrorCode::InvalidModel, "its options are of another operator ({}, type {})",
                *name == '\0' ? "unknown" : name, static_cast<int>(op.builtin_options_type()));
  }
  return op.builtin_options_as<T>();
}

template <class T>
Result<const T*> required_options(const tfl::Operator& op) {
  const T* table = PERAXIS_TRY(options<T>(op));
  if (table == nullptr) return fail(ErrorCode::InvalidModel, "it has no options");
  return table;
}

Result<ir::Attributes> no_attributes(const tfl::Operator&) {
  return ir::Attributes{ir::NoAttributes{}};
}

template <class T>
Result<ir::Attributes> binary(const tfl::Operator& op) {
  const T* source = PERAXIS_TRY(options<T>(op));
  ir::BinaryAttributes out;
  if (source == nullptr) return ir::Attributes{out};
  out.activation = PERAXIS_TRY(read_activation(source->fused_activation_function()));
  if constexpr (requires { source->pot_scale_int16(); }) out.pot_scale_int16 = source->pot_scale_int16();
  return ir::Attributes{out};
}

// Only int32 beside the default, int64, changes what an int16 operator computes.
bool names_int32(tfl::TensorType bias) {
  return bias == tfl::TensorType::INT32;
}

template <class T>
Result<ir::Attributes> convolution(const tfl::Operator& op) {
  const T* source = PERAXIS_TRY(required_options<T>(op));
  ir::ConvAttributes out;
  out.pads = PERAXIS_TRY(read_padding(source->padding()));
  out.stride_h = source->stride_h();
  out.stride_w = source->stride_w();
  out.dilation_h = source->dilation_h_factor();
  out.dilation_w = source->dilation_w_factor();
  out.activation = PERAXIS_TRY(read_activation(source->fused_activation_function()));
  if constexpr (requires { source->quantized_bias_type(); }) {
    out.int32_bias = names_int32(source->quantized_bias_type());
  }
  return ir::Attributes{out};
}

Result<ir::Attributes> fully_connected(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::FullyConnectedOptions>(op));
  ir::FullyConnectedAttributes out;
  if (source == nullptr) return ir::Attributes{out};
  if (source->weights_format() != tfl::FullyConnectedOptionsWeightsFormat::DEFAULT) {
    return fail(ErrorCode::Unsupported, "the weights format {} (shuffled) is not supported",
                static_cast<int>(source->weights_format()));
  }
  out.activation = PERAXIS_TRY(read_activation(source->fused_activation_function()));
  out.keep_num_dims = source->keep_num_dims();
  out.int32_bias = names_int32(source->quantized_bias_type());
  return ir::Attributes{out};
}

Result<ir::Attributes> pool(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::Pool2DOptions>(op));
  ir::PoolAttributes out;
  out.pads = PERAXIS_TRY(read_padding(source->padding()));
  out.stride_h = source->stride_h();
  out.stride_w = source->stride_w();
  out.filter_h = source->filter_height();
  out.filter_w = source->filter_width();
  out.activation = PERAXIS_TRY(read_activation(source->fused_activation_function()));
  return ir::Attributes{out};
}

Result<ir::Attributes> concatenation(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::ConcatenationOptions>(op));
  ir::ConcatenationAttributes out;
  out.axis = source->axis();
  out.activation = PERAXIS_TRY(read_activation(source->fused_activation_function()));
  return ir::Attributes{out};
}

Result<ir::Attributes> softmax(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::SoftmaxOptions>(op));
  return ir::Attributes{ir::SoftmaxAttributes{source->beta()}};
}

Result<ir::Attributes> reduce(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::ReducerOptions>(op));
  return ir::Attributes{ir::ReduceAttributes{source != nullptr && source->keep_dims()}};
}

Result<ir::Attributes> strided_slice(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::StridedSliceOptions>(op));
  ir::StridedSliceAttributes out;
  if (source == nullptr) return ir::Attributes{out};
  out.begin_mask = source->begin_mask();
  out.end_mask = source->end_mask();
  out.ellipsis_mask = source->ellipsis_mask();
  out.new_axis_mask = source->new_axis_mask();
  out.shrink_axis_mask = source->shrink_axis_mask();
  out.offset = source->offset();
  return ir::Attributes{out};
}

template <class T>
Result<ir::Attributes> split(const tfl::Operator& op) {
  const T* source = PERAXIS_TRY(required_options<T>(op));
  return ir::Attributes{ir::SplitAttributes{source->num_splits()}};
}

template <class T>
Result<ir::Attributes> resize(const tfl::Operator& op) {
  const T* source = PERAXIS_TRY(options<T>(op));
  ir::ResizeAttributes out;
  if (source == nullptr) return ir::Attributes{out};
  out.align_corners = source->align_corners();
  out.half_pixel_centers = source->half_pixel_centers();
  return ir::Attributes{out};
}

Result<ir::Attributes> leaky_relu(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::LeakyReluOptions>(op));
  return ir::Attributes{ir::LeakyReluAttributes{source->alpha()}};
}

Result<ir::Attributes> transpose_conv(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::TransposeConvOptions>(op));
  ir::TransposeConvAttributes out;
  out.pads = PERAXIS_TRY(read_padding(source->padding(), ir::Pads::Rule::Behind));
  out.stride_h = source->stride_h();
  out.stride_w = source->stride_w();
  out.activation = PERAXIS_TRY(read_activation(source->fused_activation_function()));
  out.int32_bias = names_int32(source->quantized_bias_type());
  return ir::Attributes{out};
}

template <class T>
Result<ir::Attributes> block(const tfl::Operator& op) {
  const T* source = PERAXIS_TRY(required_options<T>(op));
  return ir::Attributes{ir::BlockAttributes{source->block_size()}};
}

Result<ir::Attributes> gather(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::GatherOptions>(op));
  if (source == nullptr) return ir::Attributes{ir::GatherAttributes{}};
  return ir::Attributes{ir::GatherAttributes{source->axis(), source->batch_dims()}};
}

Result<ir::Attributes> pack(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::PackOptions>(op));
  return ir::Attributes{ir::PackAttributes{source->axis(), source->values_count()}};
}

Result<ir::Attributes> unpack(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::UnpackOptions>(op));
  return ir::Attributes{ir::PackAttributes{source->axis(), source->num()}};
}

Result<ir::Attributes> squeeze(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::SqueezeOptions>(op));
  ir::SqueezeAttributes out;
  if (source == nullptr || source->squeeze_dims() == nullptr) return ir::Attributes{out};
  if (source->squeeze_dims()->size() > ir::kMaxRank) {
    return fail(ErrorCode::InvalidModel, "{} dimensions to drop; the limit is {}",
                source->squeeze_dims()->size(), ir::kMaxRank);
  }
  out.dims.assign(source->squeeze_dims()->begin(), source->squeeze_dims()->end());
  return ir::Attributes{out};
}

Result<ir::Attributes> mirror_pad(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::MirrorPadOptions>(op));
  switch (source->mode()) {
    case tfl::MirrorPadMode::REFLECT:
      return ir::Attributes{ir::MirrorPadAttributes{false}};
    case tfl::MirrorPadMode::SYMMETRIC:
      return ir::Attributes{ir::MirrorPadAttributes{true}};
  }
  return fail(ErrorCode::InvalidModel, "the mode {} is not REFLECT (0) or SYMMETRIC (1)",
              static_cast<int>(source->mode()));
}

Result<ir::Attributes> batch_matmul(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::BatchMatMulOptions>(op));
  if (source == nullptr) return ir::Attributes{ir::BatchMatmulAttributes{}};
  return ir::Attributes{ir::BatchMatmulAttributes{source->adj_x(), source->adj_y()}};
}

Result<ir::Attributes> svdf(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::SVDFOptions>(op));
  ir::SvdfAttributes out;
  out.rank = source->rank();
  out.activation = PERAXIS_TRY(read_activation(source->fused_activation_function()));
  return ir::Attributes{out};
}

Result<ir::Attributes> sequence_lstm(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(required_options<tfl::UnidirectionalSequenceLSTMOptions>(op));
  if (source->fused_activation_function() != tfl::ActivationFunctionType::TANH) {
    return fail(ErrorCode::Unsupported, "the activation {}; only TANH is supported",
                tfl::EnumNameActivationFunctionType(source->fused_activation_function()));
  }
  if (source->diagonal_recurrent_tensors())
    return fail(ErrorCode::Unsupported, "diagonal recurrent weights are not supported");
  ir::LstmAttributes out;
  out.cell_clip = source->cell_clip();
  out.proj_clip = source->proj_clip();
  out.time_major = source->time_major();
  return ir::Attributes{out};
}

Result<ir::Attributes> cumsum(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::CumsumOptions>(op));
  if (source == nullptr) return ir::Attributes{ir::CumSumAttributes{}};
  return ir::Attributes{ir::CumSumAttributes{source->exclusive(), source->reverse()}};
}

Result<ir::Attributes> gelu(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::GeluOptions>(op));
  return ir::Attributes{ir::GeluAttributes{source != nullptr && source->approximate()}};
}

Result<ir::Attributes> l2_normalization(const tfl::Operator& op) {
  const auto* source = PERAXIS_TRY(options<tfl::L2NormOptions>(op));
  if (source != nullptr && source->fused_activation_function() != tfl::ActivationFunctionType::NONE) {
    return fail(ErrorCode::InvalidModel, "the fused activation {}; LiteRT takes none here",
                tfl::EnumNameActivationFunctionType(source->fused_activation_function()));
  }
  return ir::Attributes{ir::NoAttributes{}};
}

Result<ir::Attributes> read_attributes(const File& file, ir::OpKind kind, const tfl::Operator& op) {
  switch (kind) {
    case ir::OpKind::Add:
      return binary<tfl::AddOptions>(op);
    case ir::OpKind::AveragePool2D:
    case ir::OpKind::MaxPool2D:
      return pool(op);
    case ir::OpKind::Concatenation:
      return concatenation(op);
    case ir::OpKind::Conv2D:
      return convolution<tfl::Conv2DOptions>(op);
    case ir::OpKind::DepthwiseConv2D:
      return convolution<tfl::DepthwiseConv2DOptions>(op);
    case ir::OpKind::FullyConnected:
      return fully_connected(op);
    case ir::OpKind::Mul:
      return binary<tfl::MulOptions>(op);
    case ir::OpKind::Softmax:
      return softmax(op);
    case ir::OpKind::Mean:
    case ir::OpKind::Sum:
    case ir::OpKind::ReduceMax:
    case ir::OpKind::ReduceMin:
      return reduce(op);
    case ir::OpKind::Div:
      return binary<tfl::DivOptions>(op);
    case ir::OpKind::TransposeConv:
      return transpose_conv(op);
    case ir::OpKind::DepthToSpace:
      return block<tfl::DepthToSpaceOptions>(op);
    case ir::OpKind::SpaceToDepth:
      return block<tfl::SpaceToDepthOptions>(op);
    case ir::OpKind::Gather:
      return gather(op);
    case ir::OpKind::Pack:
      return pack(op);
    case ir::OpKind::Unpack:
      return unpack(op);
    case ir::OpKind::Squeeze:
      return squeeze(op);
    case ir::OpKind::MirrorPad:
      return mirror_pad(op);
    case ir::OpKind::BatchMatmul:
      return batch_matmul(op);
    case ir::OpKind::Svdf:
      return svdf(op);
    case ir::OpKind::SequenceLstm:
      return sequence_lstm(op);
    case ir::OpKind::CumSum:
      return cumsum(op);
    case ir::OpKind::Gelu:
      return gelu(op);
    case ir::OpKind::L2Normalization:
      return l2_normalization(op);
    case ir::OpKind::DetectionPostProcess:
      return read_detection(PERAXIS_TRY(file.custom_options(op)));
    case ir::OpKind::Sub:
      return binary<tfl::SubOptions>(op);
    case ir::OpKind::StridedSlice:
      return strided_slice(op);
    case ir::OpKind::Split:
      return split<tfl::SplitOptions>(op);
    case ir::OpKind::SplitV:
      return split<tfl::SplitVOptions>(op);
    case ir::OpKind::ResizeNearestNeighbor:
      return resize<tfl::ResizeNearestNeighborOptions>(op);
    case ir::OpKind::ResizeBilinear:
      return resize<tfl::ResizeBilinearOptions>(op);
    case ir::OpKind::LeakyRelu:
      return leaky_relu(op);
    default:  // ops.def says that they have none
      return no_attributes(op);
  }
}

Result<std::vector<int32_t>> read_indices(const flatbuffers::Vector<int32_t>* source, const char* what,
                                          size_t tensor_count, bool may_be_absent) {
  std::vector<int32_t> out;
  if (source == nullptr) return out;
  for (const int32_t index : *source) {
    const bool absent = may_be_absent && index == -1;
    if (!absent && (index < 0 || static_cast<size_t>(index) >= tensor_count)) {
      return fail(ErrorCode::InvalidModel, "{} {} is tensor {}, the file has {}", what, out.size(), index,
                  tensor_count);
    }
    out.push_back(absent ? ir::kAbsent : index);
  }
  return out;
}

}  // namespace

std::optional<std::vector<int32_t>> reshape_option(const tfl::Operator& op, const ir::Graph& graph) {
  const auto* table = op.builtin_options_as_ReshapeOptions();
  if (table == nullptr || table->new_shape() == nullptr || table->new_shape()->size() > ir::kMaxRank)
    return std::nullopt;
  const auto* inputs = op.inputs();
  if (inputs == nullptr || inputs->size() == 0) return std::nullopt;
  if (inputs->size() > 1 && inputs->Get(1) >= 0) {
    const ir::Tensor& operand = graph.tensor(inputs->Get(1));
    if (operand.type == ir::DataType::Int32 && (operand.shape.size() == 1 || operand.open_shape))
      return std::nullopt;
  }
  std::vector<int32_t> shape(table->new_shape()->begin(), table->new_shape()->end());
  if (shape.size() == 1 && shape[0] == 0) shape.clear();  // a scalar in old files
  return shape;
}

Result<ir::Op> read_operator(const File& file, const tfl::Operator& source, size_t index,
                             size_t tensor_count) {
  ir::Op op;
  const OperatorCode code = PERAXIS_TRY(read_code(file, source, index));
  if (!code.kind) return fail(ErrorCode::Internal, "operator {} is of no known kind", index);
  op.kind = *code.kind;
  const auto note = [&] { return fmt::format("in operator {} ({})", index, ir::op_name(op.kind)); };
  op.inputs = PERAXIS_TRY_NOTE(read_indices(source.inputs(), "input", tensor_count, true), "{}", note());
  op.outputs = PERAXIS_TRY_NOTE(read_indices(source.outputs(), "output", tensor_count, false), "{}", note());
  op.attributes = PERAXIS_TRY_NOTE(read_attributes(file, op.kind, source), "{}", note());
  return op;
}

}  // namespace peraxis::import
