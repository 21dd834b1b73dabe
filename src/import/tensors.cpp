// Tensors of a TFLite file. Quantization follows what LiteRT's interpreter accepts when it loads a file:
// quantized_dimension must lie within the rank even for one scale, the number of scales is 1 or the size of
// that dimension, and one zero point may stand for all channels.
#include <algorithm>
#include <cstring>

#include "import/tflite_reader.hpp"
#include "ir/shape.hpp"

namespace peraxis::import {

namespace {

// Numbers of 4 and 2 bits are unpacked: they are numbers of 8 bits that stay small.
Result<ir::DataType> read_type(tfl::TensorType type) {
  switch (type) {
    case tfl::TensorType::FLOAT16:
      return ir::DataType::Float16;
    case tfl::TensorType::INT4:
    case tfl::TensorType::INT2:
      return ir::DataType::Int8;
    case tfl::TensorType::UINT4:
      return ir::DataType::UInt8;
    case tfl::TensorType::FLOAT32:
      return ir::DataType::Float32;
    case tfl::TensorType::INT32:
      return ir::DataType::Int32;
    case tfl::TensorType::UINT8:
      return ir::DataType::UInt8;
    case tfl::TensorType::INT64:
      return ir::DataType::Int64;
    case tfl::TensorType::BOOL:
      return ir::DataType::Bool;
    case tfl::TensorType::INT16:
      return ir::DataType::Int16;
    case tfl::TensorType::INT8:
      return ir::DataType::Int8;
    default:
      break;
  }
  const char* name = tfl::EnumNameTensorType(type);
  return fail(ErrorCode::Unsupported, "the type {} (code {}) is not supported",
              *name == '\0' ? "unknown" : name, static_cast<int>(type));
}

// Old files declare a scalar and nothing at all in the same way.
bool is_undeclared(const tfl::Tensor& tensor) {
  return (tensor.shape() == nullptr || tensor.shape()->size() == 0) && !tensor.has_rank();
}

Result<std::vector<int32_t>> declared_shape(const tfl::Tensor& tensor) {
  std::vector<int32_t> shape;
  if (tensor.shape() == nullptr) return shape;
  if (tensor.shape()->size() > ir::kMaxRank) {
    return fail(ErrorCode::Unsupported, "rank {} is above the limit of {}", tensor.shape()->size(),
                ir::kMaxRank);
  }
  shape.assign(tensor.shape()->begin(), tensor.shape()->end());
  return shape;
}

Result<ir::QuantParams> read_quantization(const tfl::Tensor& tensor, const std::vector<int32_t>& shape,
                                          CopyBudget& budget) {
  ir::QuantParams quant;
  const tfl::QuantizationParameters* source = tensor.quantization();
  if (source == nullptr) return quant;
  if (source->details_type() != tfl::QuantizationDetails::NONE) {
    const int type = static_cast<int>(source->details_type());
    return fail(
        ErrorCode::Unsupported,
        "its quantization is {} (details of type {}), not one scale a tensor or channel; quantize it a "
        "channel (ai-edge-quantizer: granularity CHANNELWISE; TFLiteConverter does so by itself)",
        type == 2   ? "blockwise"
        : type == 3 ? "along several axes"
                    : "of a custom kind, like blockwise",
        type);
  }
  const auto* scale = source->scale();
  if (scale == nullptr || scale->size() == 0) return quant;
  const auto* zero_point = source->zero_point();
  const size_t zero_points = zero_point == nullptr ? 0 : zero_point->size();
  if (zero_points != scale->size() && zero_points != 1) {
    return fail(ErrorCode::InvalidModel, "{} scales but {} zero points", scale->size(), zero_points);
  }
  PERAXIS_TRY(budget.take(int64_t{scale->size()} * 12));
  quant.scale.assign(scale->begin(), scale->end());
  // The verifier aligns a vector's length, not its 8-byte elements, so these are copied as bytes.
  quant.zero_point.resize(zero_points);
  std::memcpy(quant.zero_point.data(), zero_point->Data(), zero_points * sizeof(int64_t));
  if (zero_points != scale->size()) quant.zero_point.assign(scale->size(), int64_t{quant.zero_point[0]});
  quant.quantized_dimension = source->quantized_dimension();
  PERAXIS_TRY(ir::check_quantization(quant, shape));
  return quant;
}

Status check_input_shape(const tfl::Tensor& source, const std::vector<int32_t>& shape) {
  if (!is_dynamic(source) || std::ranges::all_of(shape, [](int32_t size) { return size > 0; })) return {};
  return fail(
      ErrorCode::Unsupported,
      "the input has a dynamic size and declares none ({}); give one: --shape '{}'=1x224x224x3 (or what "
      "the model wants)",
      ir::shape_text(shape), tensor_name(source));
}

// Some types and forms are read of constants only.
Status check_computed(const tfl::Tensor& source) {
  const tfl::TensorType type = source.type();
  if (source.sparsity() != nullptr) {
    return fail(ErrorCode::Unsupported, "a sparse tensor that is no constant is not supported");
  }
  if (bits_of(type) < 8 || type == tfl::TensorType::FLOAT16) {
    return fail(ErrorCode::Unsupported, "the type {} (code {}) is supported for constants only",
                tfl::EnumNameTensorType(type), static_cast<int>(type));
  }
  return {};
}

}  // namespace

// LiteRT runs a file with inputs of the size in `shape` and states every other shape itself: what -1 in the
// signature says is only that the declared size is not the last word. A free batch declared as 1 (every Keras
// export) is taken as it stands.
bool is_dynamic(const tfl::Tensor& tensor) {
  const auto* signature = tensor.shape_signature();
  if (signature == nullptr || signature->size() == 0) return false;
  const bool batch_of_one = signature->Get(0) < 0 && tensor.shape() != nullptr &&
                            tensor.shape()->size() > 0 && tensor.shape()->Get(0) == 1;
  return std::any_of(signature->begin() + (batch_of_one ? 1 : 0), signature->end(),
                     [](int32_t n) { return n < 0; });
}

std::string tensor_name(const tfl::Tensor& tensor) {
  return tensor.name() == nullptr ? std::string() : tensor.name()->str();
}

Result<ir::Tensor> read_tensor(const File& file, const tfl::Tensor& source, const ShapeUse& use,
                               CopyBudget& budget) {
  ir::Tensor tensor;
  PERAXIS_TRY(budget.take(source.name() == nullptr ? 0 : int64_t{source.name()->size()}));
  tensor.name = tensor_name(source);
  tensor.type = PERAXIS_TRY(read_type(source.type()));
  const std::span<const uint8_t> data = PERAXIS_TRY(file.buffer(source.buffer()));
  tensor.is_constant = !data.empty();
  tensor.open_shape = !tensor.is_constant && !use.input && !source.is_variable() &&
                      (use.open || is_dynamic(source) || is_undeclared(source));
  if (!tensor.open_shape) {
    tensor.shape = use.given != nullptr ? *use.given : PERAXIS_TRY(declared_shape(source));
    if (use.input) PERAXIS_TRY(check_input_shape(source, tensor.shape));
    PERAXIS_TRY(ir::check_shape(tensor.shape));
  }
  tensor.quant = PERAXIS_TRY(read_quantization(source, tensor.shape, budget));
  if (data.empty()) {
    PERAXIS_TRY(check_computed(source));
    return tensor;
  }
  tensor.data = PERAXIS_TRY(read_data(source, data, tensor, budget));
  return tensor;
}

}  // namespace peraxis::import
