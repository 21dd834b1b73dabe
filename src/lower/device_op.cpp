#include "lower/device_op.hpp"

#include <array>

namespace peraxis::lower {
namespace {

constexpr std::array kDeviceOps = {&kMaxPool, &kConcatenation, &kResizeNearest, &kSplit,    &kAdd,
                                   &kRelu,    &kLeakyRelu,     &kSub,           &kQuantize, &kAveragePool,
                                   &kMean,    &kMul,           &kMaximum,       &kMinimum};
constexpr int64_t kLargestExtent = 8192;  // 13 bits, minus one (npu/hardware.md 4.4)

const DeviceOp* find(ir::OpKind kind) {
  for (const DeviceOp* op : kDeviceOps)
    if (op->kind == kind) return op;
  return nullptr;
}

}  // namespace

std::string map_refusal(const ir::Graph& graph, int32_t index) {
  const ir::Tensor& t = graph.tensor(index);
  if (t.is_constant) return fmt::format("'{}' is a constant", t.name);
  if (t.type != ir::DataType::Int8 && t.type != ir::DataType::UInt8)
    return fmt::format("'{}' is {}, not int8 or uint8", t.name, ir::data_type_name(t.type));
  if (t.quant.scale.size() != 1) return fmt::format("'{}' has {} scales", t.name, t.quant.scale.size());
  if (t.shape.size() != 4) return fmt::format("'{}' has {} dimensions, not 4", t.name, t.shape.size());
  const ir::Nhwc map = ir::nhwc(t);
  if (map.n != 1) return fmt::format("'{}' has a batch of {}", t.name, map.n);
  if (std::max({map.h, map.w, map.c}) > kLargestExtent || map.elements() == 0)
    return fmt::format("'{}' is {}x{}x{}, a cube has 1 to {} in each direction", t.name, map.h, map.w, map.c,
                       kLargestExtent);
  return {};
}

bool same_quantization(const ir::Tensor& a, const ir::Tensor& b) {
  return a.type == b.type && a.quant.scale == b.quant.scale && a.quant.zero_point == b.quant.zero_point;
}

std::string moved_refusal(const ir::Graph& graph, size_t index) {
  const int32_t input = graph.ops[index].inputs[0], output = graph.ops[index].outputs[0];
  for (const int32_t t : {input, output})
    if (std::string why = map_refusal(graph, t); !why.empty()) return why;
  return same_quantization(graph.tensor(input), graph.tensor(output))
             ? std::string()
             : "input and output have different scales";
}

DeviceForm device_form(const ir::Graph& graph, size_t index, bool exact, bool ppu) {
  const ir::Op& op = graph.ops[index];
  const DeviceOp* device = find(op.kind);
  if (device == nullptr)
    return {fmt::format("{} has no form on the NPU in this version", ir::op_name(op.kind)), {}};
  DeviceForm form;
  form.refusal = device->refusal(graph, index);
  if (form.refusal.empty() && device->form != nullptr) form = device->form(graph, index, exact);
  if (form.refusal.empty() && form.ppu && !ppu)
    form.refusal = "its task is one of the PPU, which is left out";
  return form;
}

Result<std::vector<rk3588::Task>> lower_device_op(const ir::Graph& graph, size_t index,
                                                  const DeviceForm& form, const DevicePlaces& places) {
  const DeviceOp* device = find(graph.ops[index].kind);
  if (device != nullptr && device->views != nullptr) return std::vector<rk3588::Task>();
  if (device == nullptr) return fail(ErrorCode::Internal, "{} has no form on the NPU", graph.op_label(index));
  return device->lower(graph, index, form, places);
}

std::vector<int64_t> device_views(const ir::Graph& graph, size_t index) {
  const DeviceOp* device = find(graph.ops[index].kind);
  return device == nullptr || device->views == nullptr ? std::vector<int64_t>() : device->views(graph, index);
}

}  // namespace peraxis::lower
