// RESHAPE, SQUEEZE and EXPAND_DIMS between maps of one pixel, as between a global average and a fully
// connected layer: the channels stay where they are.
#include "lower/device_op.hpp"

namespace peraxis::lower {
namespace {

// One pixel, however many dimensions of 1 are written before its channels; or why not.
std::string pixel_refusal(const ir::Tensor& tensor) {
  if (tensor.is_constant) return fmt::format("'{}' is a constant", tensor.name);
  if (tensor.type != ir::DataType::Int8 && tensor.type != ir::DataType::UInt8)
    return fmt::format("'{}' is {}, not int8 or uint8", tensor.name, ir::data_type_name(tensor.type));
  if (tensor.quant.scale.size() != 1)
    return fmt::format("'{}' has {} scales", tensor.name, tensor.quant.scale.size());
  if (tensor.shape.empty() || tensor.shape.size() > 4)
    return fmt::format("'{}' has {} dimensions, not 1 to 4", tensor.name, tensor.shape.size());
  if (tensor.elements() != tensor.shape.back() || tensor.shape.back() > kLargestSlots)
    return fmt::format("'{}' has {} values, {} of them channels: one pixel of up to {} is possible",
                       tensor.name, tensor.elements(), tensor.shape.back(), kLargestSlots);
  return {};
}

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Tensor &in = graph.tensor(op.inputs[0]), &out = graph.tensor(op.outputs[0]);
  for (const ir::Tensor* t : {&in, &out})
    if (std::string why = pixel_refusal(*t); !why.empty()) return why;
  return same_quantization(in, out) ? std::string() : "input and output have different scales";
}

std::vector<int64_t> views(const ir::Graph&, size_t) {
  return {0};
}

constexpr DeviceText kText{"none: the output is the input, where it is", "equal",
                           [] { return std::string("between maps of one pixel; equal scales"); }};

}  // namespace

const DeviceOp kReshape{ir::OpKind::Reshape, refusal, nullptr, views, nullptr, kText};
const DeviceOp kSqueeze{ir::OpKind::Squeeze, refusal, nullptr, views, nullptr, kText};
const DeviceOp kExpandDims{ir::OpKind::ExpandDims, refusal, nullptr, views, nullptr, kText};

}  // namespace peraxis::lower
