// RELU, LEAKY_RELU and QUANTIZE between 8-bit types: one task of the DPU alone
// (requant/element.hpp).
#include "lower/device_op.hpp"

namespace peraxis::lower {
namespace {

constexpr int32_t kMostDifference = 1;

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (std::string why = map_refusal(graph, op.outputs[0]); !why.empty()) return why;
  const ir::Nhwc out = ir::nhwc(graph.tensor(op.outputs[0]));
  for (const int32_t t : op.inputs) {
    if (std::string why = map_refusal(graph, t); !why.empty()) return why;
    if (ir::nhwc(graph.tensor(t)) != out)
      return fmt::format("'{}' has another shape than the output", graph.tensor(t).name);
  }
  return {};
}

DeviceForm element(const ir::Graph& graph, size_t index, bool exact) {
  const auto params = requant::element_parameters(graph, index);
  if (!params) return {params.error().message, {}};
  const int32_t allowed = exact ? 0 : kMostDifference;
  if (params->max > allowed)
    return {
        fmt::format("{} of {} inputs would give another value than the reference, by up to {}; {} is allowed",
                    params->differing, params->inputs, params->max, allowed),
        {}};
  return {{}, *params};
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm& form,
                                        const DevicePlaces& places) {
  const requant::ElementParams& params = form.element;
  const ir::Nhwc map = ir::nhwc(graph.tensor(graph.ops[index].outputs[0]));
  rk3588::ElementTask task;
  task.width = map.w;
  task.height = map.h;
  task.channels = places.inputs[0].slots;
  task.input = places.inputs[0].address;
  task.in_plane = places.inputs[0].plane;
  task.output = places.output.address;
  task.out_plane = places.output.plane;
  task.addend = params.addend;
  task.factor = params.factor;
  task.prelu_factor = params.prelu_factor;
  task.prelu_shift = params.prelu_shift;
  task.relu = params.relu;
  task.out_scale = params.scale;
  task.out_shift = params.shift;
  task.out_offset = params.offset;
  return std::vector<rk3588::Task>{task};
}

constexpr DeviceText kText{"one of the DPU", kCountedAccuracy,
                           [] { return std::string("between 8-bit types, by arithmetic"); }};

}  // namespace

const DeviceOp kRelu{ir::OpKind::Relu, refusal, lower, nullptr, element, kText, ChannelOrder::Kept};
const DeviceOp kLeakyRelu{ir::OpKind::LeakyRelu, refusal, lower, nullptr, element, kText, ChannelOrder::Kept};
const DeviceOp kQuantize{ir::OpKind::Quantize, refusal, lower, nullptr, element, kText, ChannelOrder::Kept};

}  // namespace peraxis::lower
