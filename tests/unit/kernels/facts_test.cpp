// The types that kernels.def states are those the rules of ir/ops/ let through: tried with every type on a
// valid graph of every operator.
#include "kernels/facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "../ir/graphs.hpp"

namespace peraxis::kernels {
namespace {

constexpr ir::DataType kAll[] = {ir::DataType::Float32, ir::DataType::Int32, ir::DataType::UInt8,
                                 ir::DataType::Int64,   ir::DataType::Int8,  ir::DataType::Int16,
                                 ir::DataType::Bool};
constexpr ir::OpKind kKinds[] = {
#define PERAXIS_OP(kind, name, rule, attributes) ir::OpKind::kind,
#include "ir/ops.def"
#undef PERAXIS_OP
};

// The first input that is no constant and chooses nothing, else the output: what the types are stated of.
int32_t data_of(const ir::Graph& graph) {
  const ir::OpKind kind = graph.ops[0].kind;
  if (kind == ir::OpKind::Select || kind == ir::OpKind::ScatterNd) return graph.ops[0].inputs[1];
  for (const int32_t t : graph.ops[0].inputs)
    if (t != ir::kAbsent && !graph.tensor(t).is_constant) return t;
  return graph.ops[0].outputs[0];
}

bool is_quantized(ir::DataType type) {
  return type == ir::DataType::Int8 || type == ir::DataType::UInt8 || type == ir::DataType::Int16;
}

// What changes along with the data: constants of the same type, outputs of the same type or all. `scale` 0
// keeps the scales of the outputs. `zero_point` is that of uint8. `bare`: without quantization where the type
// is no quantized one.
struct Way {
  bool constants, outputs, every_output, bare;
  int64_t zero_point;
  float scale;
};

void change_type(ir::Tensor& tensor, ir::DataType type, const Way& way, float scale) {
  tensor.type = type;
  if (!is_quantized(type) && way.bare) {
    tensor.quant = {};
  } else {
    if (!tensor.quant.quantized() || type == ir::DataType::UInt8)
      tensor.quant = {{tensor.quant.quantized() ? tensor.quant.scale[0] : 0.5F}, {0}, 0};
    if (scale > 0) std::fill(tensor.quant.scale.begin(), tensor.quant.scale.end(), scale);
    const int64_t middle = type == ir::DataType::UInt8 ? way.zero_point : 0;
    if (type != ir::DataType::Int8)
      std::fill(tensor.quant.zero_point.begin(), tensor.quant.zero_point.end(), middle);
  }
  if (tensor.is_constant) tensor.data.assign(static_cast<size_t>(tensor.bytes()), 1);
}

// A bias is float32 beside floats and int64 beside int16; beside uint8 LiteRT looks at its scale.
void change_bias(ir::Graph& graph, ir::Tensor& bias, ir::DataType type) {
  if (type == ir::DataType::Float32) bias.type = type;
  if (type == ir::DataType::Int16) bias.type = ir::DataType::Int64;
  bias.quant = {};
  if (type == ir::DataType::UInt8) {
    float scale = 1;
    for (const ir::Tensor& tensor : graph.tensors)
      if (tensor.name == "in" || tensor.name == "weights") scale *= tensor.quant.scale[0];
    bias.quant = {{scale}, {0}, 0};
  }
  bias.data.assign(static_cast<size_t>(bias.bytes()), 0);
}

Status tried(ir::OpKind kind, ir::DataType type, const Way& way) {
  ir::Graph graph = ir::test::valid(kind);
  const int32_t data = data_of(graph);
  const ir::DataType original = graph.tensor(data).type;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    ir::Tensor& tensor = graph.tensors[t];
    const auto index = static_cast<int32_t>(t);
    const bool output = std::ranges::count(graph.ops[0].outputs, index) > 0;
    if (tensor.name == "bias")
      change_bias(graph, tensor, type);
    else if (index == data || (output && way.outputs && (way.every_output || tensor.type == original)) ||
             (!output && tensor.type == original && (!tensor.is_constant || way.constants)))
      change_type(tensor, type, way, output ? way.scale : 0);
  }
  return ir::verify(graph);
}

// Empty when one of the ways is accepted, else why not.
std::string refusal(ir::OpKind kind, ir::DataType type) {
  std::string why;
  for (unsigned bits = 0; bits < 16; ++bits)
    for (const int64_t zero_point : {3, 0, 128, 255})
      for (const float scale : {0.0F, 1.0F / 32768.0F}) {
        const Status status =
            tried(kind, type,
                  {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, zero_point, scale});
        if (status) return {};
        why += status.error().text() + "\n";
      }
  return why;
}

TEST(KernelFacts, StateTheTypesTheRulesAccept) {
  for (const ir::OpKind kind : kKinds) {
    const KernelFacts facts = kernel_facts(kind);
    EXPECT_FALSE(facts.types.empty()) << ir::op_name(kind);
    const bool recurrent = kind == ir::OpKind::Svdf || kind == ir::OpKind::SequenceLstm;
    for (const ir::DataType type : kAll) {
      // int8 has other types inside; litert_cases_test.cpp runs such models.
      if (recurrent && type == ir::DataType::Int8) continue;
      const std::string why = refusal(kind, type);
      EXPECT_EQ(std::ranges::count(facts.types, type) == 1, why.empty())
          << ir::op_name(kind) << " of " << ir::data_type_name(type) << "\n"
          << why;
    }
  }
}

TEST(KernelFacts, Text) {
  EXPECT_EQ(types_text(kernel_facts(ir::OpKind::Reshape).types), "every type");
  EXPECT_EQ(types_text(kernel_facts(ir::OpKind::HardSwish).types), "float32, int8, uint8");
}

}  // namespace
}  // namespace peraxis::kernels
