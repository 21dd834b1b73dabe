// Builds small TFLite files from plain structs, so that a test can break one thing and see what is said.
#pragma once

#include <gtest/gtest.h>
#include <tflite_generated.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "import/import.hpp"

namespace peraxis::import::test {

struct TensorSpec {
  std::optional<std::string> name = "tensor";
  std::vector<int32_t> shape{};
  tfl::TensorType type = tfl::TensorType::INT8;
  uint32_t buffer = 0;
  std::vector<float> scale{0.5F};
  std::vector<int64_t> zero_point{0};
  int32_t quantized_dimension = 0;
  std::vector<int32_t> shape_signature{};
  bool is_variable = false, custom_quantization = false;
  std::function<flatbuffers::Offset<tfl::SparsityParameters>(flatbuffers::FlatBufferBuilder&)> sparsity = {};
};

struct BufferSpec {
  std::vector<uint8_t> data;
  uint64_t offset = 0, size = 0;
};

struct CodeSpec {
  int8_t deprecated = 0;
  int32_t builtin = 0;
  std::string custom;
  int32_t version = 1;
};

using Builder = flatbuffers::FlatBufferBuilder;

struct OpSpec {
  uint32_t code = 0;
  std::vector<int32_t> inputs, outputs;
  tfl::BuiltinOptions options_type = tfl::BuiltinOptions::NONE;
  std::function<flatbuffers::Offset<void>(Builder&)> options;
  std::vector<uint8_t> custom_options = {};
  uint64_t large_options_offset = 0, large_options_size = 0;
};

struct ModelSpec {
  uint32_t version = 3;
  std::vector<CodeSpec> codes;
  std::vector<BufferSpec> buffers{BufferSpec{}};
  std::vector<TensorSpec> tensors;
  std::vector<OpSpec> ops;
  std::vector<int32_t> inputs, outputs;
  int subgraphs = 1;
  std::vector<std::pair<std::string, uint32_t>> signatures;  // key, subgraph
  bool no_buffers = false;

  int32_t add(TensorSpec tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(tensors.size()) - 1;
  }
  int32_t add_constant(TensorSpec tensor, std::vector<uint8_t> data) {
    tensor.buffer = static_cast<uint32_t>(buffers.size());
    buffers.push_back({std::move(data), 0, 0});
    return add(std::move(tensor));
  }
};

template <class T>
OpSpec op_with(tfl::BuiltinOptions type, std::vector<int32_t> inputs, std::vector<int32_t> outputs,
               std::function<flatbuffers::Offset<T>(Builder&)> options) {
  return {0, std::move(inputs), std::move(outputs), type,
          [options](Builder& builder) { return options(builder).Union(); }};
}

inline flatbuffers::Offset<tfl::Tensor> build_tensor(Builder& builder, const TensorSpec& spec) {
  flatbuffers::Offset<tfl::QuantizationParameters> quantization;
  if (!spec.scale.empty() || spec.custom_quantization) {
    flatbuffers::Offset<void> details;
    if (spec.custom_quantization) details = tfl::CreateCustomQuantization(builder).Union();
    quantization = tfl::CreateQuantizationParametersDirect(
        builder, nullptr, nullptr, &spec.scale, &spec.zero_point,
        spec.custom_quantization ? tfl::QuantizationDetails::CustomQuantization
                                 : tfl::QuantizationDetails::NONE,
        details, spec.quantized_dimension);
  }
  flatbuffers::Offset<tfl::SparsityParameters> sparsity;
  if (spec.sparsity) sparsity = spec.sparsity(builder);
  return tfl::CreateTensorDirect(builder, &spec.shape, spec.type, spec.buffer,
                                 spec.name ? spec.name->c_str() : nullptr, quantization, spec.is_variable,
                                 sparsity, spec.shape_signature.empty() ? nullptr : &spec.shape_signature);
}

inline std::vector<uint8_t> build(const ModelSpec& spec) {
  Builder builder;
  std::vector<flatbuffers::Offset<tfl::OperatorCode>> codes;
  for (const CodeSpec& code : spec.codes) {
    codes.push_back(tfl::CreateOperatorCodeDirect(
        builder, code.deprecated, code.custom.empty() ? nullptr : code.custom.c_str(), code.version,
        static_cast<tfl::BuiltinOperator>(code.builtin)));
  }
  std::vector<flatbuffers::Offset<tfl::Tensor>> tensors;
  for (const TensorSpec& tensor : spec.tensors) tensors.push_back(build_tensor(builder, tensor));
  std::vector<flatbuffers::Offset<tfl::Operator>> ops;
  for (const OpSpec& op : spec.ops) {
    const flatbuffers::Offset<void> options = op.options ? op.options(builder) : flatbuffers::Offset<void>();
    ops.push_back(tfl::CreateOperatorDirect(builder, op.code, &op.inputs, &op.outputs, op.options_type,
                                            options, op.custom_options.empty() ? nullptr : &op.custom_options,
                                            tfl::CustomOptionsFormat::FLEXBUFFERS, nullptr, nullptr,
                                            op.large_options_offset, op.large_options_size));
  }
  std::vector<flatbuffers::Offset<tfl::SubGraph>> subgraphs;
  for (int i = 0; i < spec.subgraphs; ++i) {
    subgraphs.push_back(
        tfl::CreateSubGraphDirect(builder, &tensors, &spec.inputs, &spec.outputs, &ops, "main"));
  }
  std::vector<flatbuffers::Offset<tfl::Buffer>> buffers;
  for (const BufferSpec& buffer : spec.buffers) {
    buffers.push_back(tfl::CreateBufferDirect(builder, buffer.data.empty() ? nullptr : &buffer.data,
                                              buffer.offset, buffer.size));
  }
  std::vector<flatbuffers::Offset<tfl::SignatureDef>> signatures;
  for (const auto& [key, subgraph] : spec.signatures) {
    signatures.push_back(tfl::CreateSignatureDefDirect(builder, nullptr, nullptr, key.c_str(), subgraph));
  }
  tfl::FinishModelBuffer(
      builder, tfl::CreateModelDirect(builder, spec.version, &codes, &subgraphs, "test",
                                      spec.no_buffers ? nullptr : &buffers, nullptr, nullptr, &signatures));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

// The same with the data of every buffer behind the tables, at multiples of 16 moved on by `shift`.
inline std::vector<uint8_t> build_data_behind(ModelSpec spec, size_t shift = 0) {
  std::vector<std::vector<uint8_t>> data;
  for (BufferSpec& buffer : spec.buffers) {
    data.push_back(std::move(buffer.data));
    buffer.data.clear();
    if (!data.back().empty()) buffer = {{}, 1000000, data.back().size()};
  }
  const size_t tables = build(spec).size();  // the numbers' values do not change the size
  size_t end = tables;
  for (size_t i = 0; i < data.size(); ++i) {
    if (data[i].empty()) continue;
    spec.buffers[i].offset = (end + 15) / 16 * 16 + shift;
    end = spec.buffers[i].offset + data[i].size();
  }
  std::vector<uint8_t> file = build(spec);
  for (size_t i = 0; i < data.size(); ++i) {
    if (data[i].empty()) continue;
    file.resize(spec.buffers[i].offset);
    file.insert(file.end(), data[i].begin(), data[i].end());
  }
  return file;
}

// Every byte of a file takes several other values: it is refused with a sentence or gives some graph whose
// verification ends, and either is survived.
struct Survived {
  int refused = 0, accepted = 0;
};
inline Survived flip_every_byte(const std::vector<uint8_t>& bytes, uint64_t seed) {
  base::Rng rng(seed);
  Survived out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t change :
         {uint8_t{1}, uint8_t{0x80}, uint8_t{0xff}, static_cast<uint8_t>(rng.uniform(1, 254))}) {
      std::vector<uint8_t> damaged = bytes;
      damaged[i] ^= change;
      const auto graph = import_tflite(damaged, "damaged");
      if (!graph) {
        ++out.refused;
        EXPECT_FALSE(graph.error().message.empty());
        continue;
      }
      ++out.accepted;
      (void)ir::verify(*graph);
      EXPECT_TRUE(ir::parse(ir::print(*graph, true)));
    }
  }
  return out;
}

// CONV_2D: tensor 0 in [1,4,5,2], 1 weights [3,1,1,2] per-axis, 2 bias [3], 3 out [1,4,5,3].
inline ModelSpec conv_model() {
  ModelSpec model;
  model.codes = {{3, 3, ""}};
  model.add({.name = "in", .shape = {1, 4, 5, 2}});
  model.add_constant(
      {.name = "weights", .shape = {3, 1, 1, 2}, .scale = {0.1F, 0.2F, 0.3F}, .zero_point = {0, 0, 0}},
      {1, 2, 3, 4, 5, 6});
  model.add_constant({.name = "bias", .shape = {3}, .type = tfl::TensorType::INT32, .scale = {}},
                     {1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255});
  model.add({.name = "out", .shape = {1, 4, 5, 3}, .scale = {0.25F}, .zero_point = {-7}});
  model.ops = {
      op_with<tfl::Conv2DOptions>(tfl::BuiltinOptions::Conv2DOptions, {0, 1, 2}, {3}, [](Builder& builder) {
        return tfl::CreateConv2DOptions(builder, tfl::Padding::VALID, 1, 1,
                                        tfl::ActivationFunctionType::RELU6);
      })};
  model.inputs = {0};
  model.outputs = {3};
  return model;
}

}  // namespace peraxis::import::test
