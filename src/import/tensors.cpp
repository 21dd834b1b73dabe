// Tensors of a TFLite file. Quantization follows what LiteRT's interpreter accepts when it loads a file:
// quantized_dimension must lie within the rank even for one scale, the number of scales is 1 or the size of
// that dimension, and one zero point may stand for all channels.
#include <cstring>

#include "import/tflite_reader.hpp"
#include "ir/shape.hpp"

namespace peraxis::import {

namespace {

Result<ir::DataType> read_type(tfl::TensorType type) {
  switch (type) {
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

// A -1 in the signature marks a size the application may choose. LiteRT runs such a file at the size in
// `shape`; for a free batch that is 1, and that one case (every Keras export) is taken as it stands.
Status check_signature(const tfl::Tensor& tensor, const std::vector<int32_t>& shape) {
  const auto* signature = tensor.shape_signature();
  if (signature == nullptr) return {};
  for (flatbuffers::uoffset_t i = 0; i < signature->size(); ++i) {
    if (signature->Get(i) >= 0) continue;
    if (i == 0 && !shape.empty() && shape[0] == 1) continue;
    return fail(ErrorCode::Unsupported,
                "dimension {} is dynamic (shape_signature {}); convert the model with fixed shapes", i,
                signature->Get(i));
  }
  return {};
}

Result<std::vector<int32_t>> read_shape(const tfl::Tensor& tensor) {
  std::vector<int32_t> shape;
  if (tensor.shape() != nullptr) {
    if (tensor.shape()->size() > ir::kMaxRank) {
      return fail(ErrorCode::Unsupported, "rank {} is above the limit of {}", tensor.shape()->size(),
                  ir::kMaxRank);
    }
    shape.assign(tensor.shape()->begin(), tensor.shape()->end());
  }
  PERAXIS_TRY(check_signature(tensor, shape));
  PERAXIS_TRY(ir::check_shape(shape));
  return shape;
}

Result<ir::QuantParams> read_quantization(const tfl::Tensor& tensor, const std::vector<int32_t>& shape,
                                          CopyBudget& budget) {
  ir::QuantParams quant;
  const tfl::QuantizationParameters* source = tensor.quantization();
  if (source == nullptr) return quant;
  if (source->details_type() != tfl::QuantizationDetails::NONE) {
    return fail(ErrorCode::Unsupported,
                "quantization details of type {} (custom or blockwise) are not supported",
                static_cast<int>(source->details_type()));
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

Status read_data(const tfl::Model& model, const tfl::Tensor& source, ir::Tensor& tensor, CopyBudget& budget) {
  const auto* buffers = model.buffers();
  const uint32_t index = source.buffer();
  if (index == 0) return {};  // by convention the empty buffer
  if (buffers == nullptr || index >= buffers->size() || buffers->Get(index) == nullptr) {
    return fail(ErrorCode::InvalidModel, "buffer {} does not exist; the file has {}", index,
                buffers == nullptr ? 0 : buffers->size());
  }
  const tfl::Buffer& buffer = *buffers->Get(index);
  if (buffer.offset() > 1 || buffer.size() > 1) {  // 1 is a placeholder some writers leave
    return fail(
        ErrorCode::Unsupported,
        "buffer {} keeps {} bytes outside the table (offset {}), as files above 2 GB do; not supported",
        index, buffer.size(), buffer.offset());
  }
  const auto* data = buffer.data();
  if (data == nullptr || data->size() == 0) return {};
  if (static_cast<int64_t>(data->size()) != tensor.bytes()) {
    return fail(ErrorCode::InvalidModel, "buffer {} has {} bytes, {} of shape {} needs {}", index,
                data->size(), ir::data_type_name(tensor.type), ir::shape_text(tensor.shape), tensor.bytes());
  }
  PERAXIS_TRY(budget.take(data->size()));
  tensor.is_constant = true;
  tensor.data.assign(data->begin(), data->end());
  return {};
}

}  // namespace

std::string tensor_name(const tfl::Tensor& tensor) {
  return tensor.name() == nullptr ? std::string() : tensor.name()->str();
}

Result<ir::Tensor> read_tensor(const tfl::Model& model, const tfl::Tensor& source, CopyBudget& budget) {
  ir::Tensor tensor;
  PERAXIS_TRY(budget.take(source.name() == nullptr ? 0 : int64_t{source.name()->size()}));
  tensor.name = tensor_name(source);
  tensor.type = PERAXIS_TRY(read_type(source.type()));
  if (source.sparsity() != nullptr) return fail(ErrorCode::Unsupported, "sparse tensors are not supported");
  tensor.shape = PERAXIS_TRY(read_shape(source));
  tensor.quant = PERAXIS_TRY(read_quantization(source, tensor.shape, budget));
  PERAXIS_TRY(read_data(model, source, tensor, budget));
  return tensor;
}

}  // namespace peraxis::import
