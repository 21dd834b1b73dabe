// See convert.hpp.
#include "api/convert.hpp"

#include <array>

#include "ir/operands.hpp"

namespace peraxis::api {
namespace {

struct KindRow {
  ErrorCode code;
  FailureKind kind;
};
constexpr std::array kKinds{KindRow{ErrorCode::InvalidModel, FailureKind::InvalidModel},
                            KindRow{ErrorCode::InvalidArgument, FailureKind::InvalidArgument},
                            KindRow{ErrorCode::Unsupported, FailureKind::Unsupported},
                            KindRow{ErrorCode::OutOfMemory, FailureKind::OutOfMemory},
                            KindRow{ErrorCode::Device, FailureKind::Device},
                            KindRow{ErrorCode::Timeout, FailureKind::Timeout},
                            KindRow{ErrorCode::DeviceLost, FailureKind::DeviceLost},
                            KindRow{ErrorCode::Io, FailureKind::Io},
                            KindRow{ErrorCode::Internal, FailureKind::Internal}};

struct TypeRow {
  ir::DataType inside;
  ElementType type;
};
constexpr std::array kTypes{TypeRow{ir::DataType::Float32, ElementType::Float32},
                            TypeRow{ir::DataType::Int32, ElementType::Int32},
                            TypeRow{ir::DataType::UInt8, ElementType::UInt8},
                            TypeRow{ir::DataType::Int64, ElementType::Int64},
                            TypeRow{ir::DataType::Int8, ElementType::Int8},
                            TypeRow{ir::DataType::Int16, ElementType::Int16},
                            TypeRow{ir::DataType::Bool, ElementType::Bool},
                            TypeRow{ir::DataType::Float16, ElementType::Float16}};

}  // namespace

Failure failure(const Error& error) {
  FailureKind kind = FailureKind::Internal;
  for (const KindRow& row : kKinds)
    if (row.code == error.code) kind = row.kind;
  return {kind, error.text()};
}

TensorInfo tensor_info(const ir::Tensor& tensor) {
  TensorInfo out;
  out.name = tensor.name;
  for (const TypeRow& row : kTypes)
    if (row.inside == tensor.type) out.type = row.type;
  out.shape = tensor.shape;
  out.scales = tensor.quant.scale;
  out.zero_points = tensor.quant.zero_point;
  out.quantized_dimension = tensor.quant.quantized_dimension;
  out.bytes = tensor.bytes();
  return out;
}

std::vector<TensorInfo> tensor_infos(const ir::Graph& graph, const std::vector<int32_t>& tensors) {
  std::vector<TensorInfo> out;
  for (const int32_t t : tensors) out.push_back(tensor_info(graph.tensor(t)));
  return out;
}

OperatorInfo operator_info(const ir::Graph& graph, int32_t op) {
  const ir::Op& from = graph.ops[static_cast<size_t>(op)];
  OperatorInfo out;
  out.index = op;
  out.kind = ir::op_name(from.kind);
  if (!from.outputs.empty()) out.name = graph.tensor(from.outputs.front()).name;
  return out;
}

std::vector<OperatorInfo> operator_infos(const ir::Graph& graph, const exe::Executable& executable) {
  std::vector<OperatorInfo> out;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    out.push_back(operator_info(graph, static_cast<int32_t>(op)));
  for (const exe::LayerPlan& layer : executable.layers) {
    if (static_cast<size_t>(layer.op) >= out.size()) continue;
    OperatorInfo& info = out[static_cast<size_t>(layer.op)];
    info.device = layer.device;
    info.strategy = layer.strategy;
    info.reason = layer.reason.str();
    info.macs = layer.macs;
  }
  for (const exe::OperatorPlan& plan : executable.operators) {
    if (static_cast<size_t>(plan.op) >= out.size()) continue;
    OperatorInfo& info = out[static_cast<size_t>(plan.op)];
    info.device = plan.device;
    info.reason = plan.reason.str();
  }
  for (const exe::Task& task : executable.tasks)
    if (static_cast<size_t>(task.op) < out.size()) ++out[static_cast<size_t>(task.op)].tasks;
  return out;
}

}  // namespace peraxis::api

namespace peraxis {
inline namespace v0 {

std::string_view element_name(ElementType type) {
  for (const api::TypeRow& row : api::kTypes)
    if (row.type == type) return ir::data_type_name(row.inside);
  return "unknown";
}

}  // namespace v0
}  // namespace peraxis
