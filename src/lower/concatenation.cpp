// CONCATENATION. Of channels: each input is copied to its place, unless its producer wrote it there. A part
// begins with a surface of its own; slots between the last channel of a part and the next surface hold
// anything, so a reader finds the channels by the output's layout. Of the first dimension that is not 1: the
// pixels of one input lie behind those of another, copied with the slots that all inputs have, or else put
// in order by convolutions.
#include <algorithm>

#include "ir/shape.hpp"
#include "lower/device_op.hpp"
#include "lower/element_task.hpp"
#include "lower/repeat.hpp"
#include "lower/selection.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

bool joins_channels(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const auto axis = ir::concatenation_axis(graph, op);
  return axis && *axis + 1 == static_cast<int64_t>(graph.tensor(op.outputs[0]).shape.size());
}

ChannelOrder order(const ir::Graph& graph, size_t index) {
  return joins_channels(graph, index) ? ChannelOrder::Joined : ChannelOrder::Stacked;
}

// The input's pixels with channel c in slot c.
Selection in_order(const ir::Nhwc& map, const Layout& layout) {
  Selection s;
  s.in_slots = layout.slots;
  cut_lines(map.h * map.w, s);
  s.channels = map.c;
  s.slot = [layout](int64_t channel, int64_t) { return slot_of(layout, channel); };
  return s;
}

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Tensor& out = graph.tensor(op.outputs[0]);
  if (std::string why = pixels_refusal(graph, op.outputs[0]); !why.empty()) return why;
  const auto* attributes = std::get_if<ir::ConcatenationAttributes>(&op.attributes);
  const auto axis = ir::concatenation_axis(graph, op);
  if (!axis) return axis.error().message;
  const bool channels = joins_channels(graph, index);
  if (!channels &&
      std::any_of(out.shape.begin(), out.shape.begin() + *axis, [](int32_t n) { return n != 1; }))
    return fmt::format("it joins along dimension {}, neither channels nor the first dimension above 1",
                       *axis);
  if (ir::activation_range(out, attributes->activation) != ir::type_range(out.type))
    return "it has an activation";
  for (const int32_t t : op.inputs) {
    if (std::string why = pixels_refusal(graph, t); !why.empty()) return why;
    if (!same_quantization(graph.tensor(t), out))
      return fmt::format("'{}' has another scale than the output", graph.tensor(t).name);
    const ir::Nhwc map = pixel_map(graph.tensor(t));
    if (channels) continue;
    if (std::string why = selection_refusal(in_order(map, plain_layout(map.c))); !why.empty()) return why;
  }
  return {};
}

Result<std::vector<rk3588::Task>> lower_stacked(const ir::Graph& graph, size_t index,
                                                const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  const bool kept = std::ranges::all_of(
      places.layouts, [&](const Layout& layout) { return layout == places.layouts.front(); });
  std::vector<rk3588::Task> tasks;
  int64_t first = 0;
  for (size_t i = 0; i < places.inputs.size(); ++i) {
    const CubeAt& input = places.inputs[i];
    const ir::Nhwc map = pixel_map(graph.tensor(op.inputs[i]));
    const int64_t pixels = map.h * map.w;
    const CubeAt place{
        {places.output.address.allocation, places.output.address.offset + first * rk3588::kAtomBytes},
        places.output.plane,
        places.output.slots};
    if (kept)
      copy_pixels({input}, {place}, pixels, input.slots, tasks);
    else
      PERAXIS_TRY(add_selection(in_order(map, places.layouts[i]), input, place, places.memory, tasks));
    first += pixels;
  }
  return tasks;
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm&,
                                        const DevicePlaces& places) {
  if (!joins_channels(graph, index)) return lower_stacked(graph, index, places);
  const ir::Op& op = graph.ops[index];
  std::vector<rk3588::Task> tasks;
  for (size_t i = 0; i < places.inputs.size(); ++i) {
    const CubeAt& input = places.inputs[i];
    const rk3588::SymbolicAddress place{
        places.output.address.allocation,
        places.output.address.offset + places.first_slots[i] * places.output.plane};
    // A producer that wrote its part in place needs no copy.
    if (input.address.allocation == place.allocation && input.address.offset == place.offset) continue;
    const ir::Nhwc in = pixel_map(graph.tensor(op.inputs[i]));
    rk3588::ElementTask task = element_task({}, in, input, {place, places.output.plane}, {});
    task.channels = input.slots;
    tasks.emplace_back(task);
  }
  return tasks;
}

Result<DeviceForm> form(const ir::Graph& graph, size_t index, const FormRequest&) {
  DeviceForm out;
  if (!joins_channels(graph, index)) out.slot_group = rk3588::kKernelGroup;
  return out;
}

}  // namespace

const DeviceOp kConcatenation{ir::OpKind::Concatenation,
                              refusal,
                              lower,
                              nullptr,
                              form,
                              {"none for parts that are written in place, else a copy each", "equal",
                               [] {
                                 return std::string(
                                     "along channels or the first dimension that is not 1, no activation "
                                     "that narrows; scales equal the "
                                     "output's");
                               }},
                              ChannelOrder::Joined,
                              order};

}  // namespace peraxis::lower
