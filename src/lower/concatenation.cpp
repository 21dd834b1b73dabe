// CONCATENATION of channels: each input is copied to its place, unless its producer wrote it there. A part
// begins with a surface of its own; slots between the last channel of a part and the next surface hold
// anything, so a reader finds the channels by the output's layout.
#include "lower/device_op.hpp"
#include "lower/element_task.hpp"

namespace peraxis::lower {
namespace {

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Tensor& out = graph.tensor(op.outputs[0]);
  if (std::string why = map_refusal(graph, op.outputs[0]); !why.empty()) return why;
  const auto* attributes = std::get_if<ir::ConcatenationAttributes>(&op.attributes);
  if (attributes->axis != 3 && attributes->axis != -1)
    return fmt::format("it joins along dimension {}, not channels", attributes->axis);
  if (ir::activation_range(out, attributes->activation) != ir::type_range(out.type))
    return "it has an activation";
  for (const int32_t t : op.inputs) {
    if (std::string why = map_refusal(graph, t); !why.empty()) return why;
    if (!same_quantization(graph.tensor(t), out))
      return fmt::format("'{}' has another scale than the output", graph.tensor(t).name);
  }
  return {};
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm&,
                                        const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  std::vector<rk3588::Task> tasks;
  for (size_t i = 0; i < places.inputs.size(); ++i) {
    const CubeAt& input = places.inputs[i];
    const rk3588::SymbolicAddress place{
        places.output.address.allocation,
        places.output.address.offset + places.first_slots[i] * places.output.plane};
    // A producer that wrote its part in place needs no copy.
    if (input.address.allocation == place.allocation && input.address.offset == place.offset) continue;
    const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[i]));
    rk3588::ElementTask task = element_task({}, in, input, {place, places.output.plane}, {});
    task.channels = input.slots;
    tasks.emplace_back(task);
  }
  return tasks;
}

}  // namespace

const DeviceOp kConcatenation{
    ir::OpKind::Concatenation,
    refusal,
    lower,
    nullptr,
    nullptr,
    {"none for parts that are written in place, else a copy each", "equal",
     [] { return std::string("along channels, no activation that narrows; scales equal the output's"); }},
    ChannelOrder::Joined};

}  // namespace peraxis::lower
