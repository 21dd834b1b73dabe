// RELU, LEAKY_RELU and QUANTIZE between 8-bit types: one task of the DPU alone
// (requant/element.hpp).
#include "lower/device_op.hpp"
#include "lower/element_task.hpp"

namespace peraxis::lower {
namespace {

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (std::string why = pixels_refusal(graph, op.outputs[0]); !why.empty()) return why;
  const ir::Nhwc out = ir::nhwc(graph.tensor(op.outputs[0]));
  for (const int32_t t : op.inputs) {
    if (std::string why = pixels_refusal(graph, t); !why.empty()) return why;
    if (ir::nhwc(graph.tensor(t)) != out)
      return fmt::format("'{}' has another shape than the output", graph.tensor(t).name);
  }
  return {};
}

Result<DeviceForm> element(const ir::Graph& graph, size_t index, const FormRequest& request) {
  auto params = requant::element_parameters(graph, index);
  if (!params) return refused(std::move(params).error());
  const auto certificate = PERAXIS_TRY(requant::certify_element(graph, index, *params, request.seen));
  return DeviceForm{difference_refusal(params->differing, params->inputs, params->max, request.exact),
                    *params, certificate};
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm& form,
                                        const DevicePlaces& places) {
  const ir::Nhwc map = pixel_map(graph.tensor(graph.ops[index].outputs[0]));
  rk3588::ElementTask task = element_task(form.element, map, places.inputs[0], places.output, {});
  task.channels = places.inputs[0].slots;
  return std::vector<rk3588::Task>{task};
}

constexpr DeviceText kText{"one of the DPU", kCountedAccuracy,
                           [] { return std::string("between 8-bit types, by arithmetic"); }};

}  // namespace

const DeviceOp kRelu{ir::OpKind::Relu, refusal, lower, nullptr, element, kText, ChannelOrder::Kept};
const DeviceOp kLeakyRelu{ir::OpKind::LeakyRelu, refusal, lower, nullptr, element, kText, ChannelOrder::Kept};
const DeviceOp kQuantize{ir::OpKind::Quantize, refusal, lower, nullptr, element, kText, ChannelOrder::Kept};

}  // namespace peraxis::lower
