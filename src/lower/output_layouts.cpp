#include "lower/output_layouts.hpp"

#include <algorithm>

namespace peraxis::lower {
namespace {

std::vector<OutputLayout> parts(const ir::Graph& graph, size_t index, const Layout& whole) {
  const std::vector<int64_t> first_channels = device_views(graph, index);
  std::vector<OutputLayout> out;
  for (size_t i = 0; i < first_channels.size(); ++i) {
    const ir::Nhwc map = ir::nhwc(graph.tensor(graph.ops[index].outputs[i]));
    ChannelRange range = channel_range(whole, first_channels[i], map.c);
    out.push_back({std::move(range.layout), range.first_slot});
  }
  return out;
}

Layout joined(const ir::Graph& graph, const std::vector<int32_t>& tensors, std::span<const Layout> inputs,
              std::span<const int64_t> first_slots) {
  std::vector<JoinedPart> all;
  int64_t slots = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t first = first_slots.empty() ? slots : first_slots[i];
    all.push_back({ir::nhwc(graph.tensor(tensors[i])).c, inputs[i], first});
    slots = std::max(slots, first + inputs[i].slots);
  }
  return join(all, slots);
}

}  // namespace

std::vector<OutputLayout> output_layouts(const ir::Graph& graph, size_t index, const DeviceForm& form,
                                         std::span<const Layout> inputs,
                                         std::span<const int64_t> first_slots) {
  const int64_t channels = ir::nhwc(graph.tensor(graph.ops[index].outputs[0])).c;
  switch (channel_order(graph, index, form)) {
    case ChannelOrder::Plain:
    case ChannelOrder::Ordered:
      break;
    case ChannelOrder::Kept:
      return {{inputs.front()}};
    case ChannelOrder::Parts:
      return parts(graph, index, inputs.front());
    case ChannelOrder::Flat: {
      const ir::Nhwc in = ir::nhwc(graph.tensor(graph.ops[index].inputs[0]));
      return {{flat_layout(inputs.front(), in.n * in.h * in.w, in.c)}};
    }
    case ChannelOrder::Stacked:
      return {{stacked_layout(inputs, channels)}};
    case ChannelOrder::Joined:
      return {{joined(graph, device_inputs(graph, index, form), inputs, first_slots)}};
  }
  return {{plain_layout(channels)}};
}

}  // namespace peraxis::lower
