// RESHAPE, SQUEEZE and EXPAND_DIMS. A cube keeps its pixels one behind the other, so rows and columns may be
// cut otherwise without a task as long as a pixel keeps its channels; and all pixels together are one pixel,
// whose channels lie in slots of their own. Where a pixel's channels become those of several pixels, or the
// other way round, convolutions move them (lower/selection.hpp).
#include <algorithm>

#include "ir/operands.hpp"
#include "lower/device_op.hpp"
#include "lower/selection.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

constexpr int64_t kMostPieces = rk3588::kMaxPad + 1;  // of a pixel that becomes several

struct Pixels {
  int64_t count, channels;
};

Pixels pixels(const ir::Tensor& tensor) {
  const int64_t channels = tensor.shape.empty() ? 1 : tensor.shape.back();
  return {channels == 0 ? 0 : tensor.elements() / channels, channels};
}

struct Regrouped {
  Pixels in, out;
};

Regrouped regrouped(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  return {pixels(graph.tensor(op.inputs[0])), pixels(graph.tensor(op.outputs[0]))};
}

ChannelOrder order(const ir::Graph& graph, size_t index) {
  const Regrouped r = regrouped(graph, index);
  return r.out.count == 1 ? ChannelOrder::Flat : ChannelOrder::Ordered;
}

// Pixels of `layout` in lines of which each becomes one pixel or is one: the shorter side has one pixel.
Selection selection(const Regrouped& r, const Layout& layout) {
  Selection s;
  s.in_slots = layout.slots;
  s.channels = r.out.channels;
  if (r.in.channels > r.out.channels) {
    const int64_t pieces = r.in.channels / r.out.channels;
    s.lines = r.in.count;
    s.out_w = s.kernel_w = pieces;
    s.pad_left = pieces - 1;
    // The window of piece x sees the one pixel at tap pieces - 1 - x.
    s.slot = [=, width = r.out.channels](int64_t channel, int64_t tap) {
      return slot_of(layout, (pieces - 1 - tap) * width + channel);
    };
  } else {
    s.lines = r.out.count;
    s.in_w = s.kernel_w = r.out.channels / r.in.channels;
    s.slot = [=, width = r.in.channels](int64_t channel, int64_t tap) {
      return channel / width == tap ? slot_of(layout, channel % width) : -1;
    };
  }
  return s;
}

// All of its readers are convolutions, whose input may have more channels than a cube otherwise.
bool only_convolutions_read(const ir::Graph& graph, int32_t tensor) {
  return std::ranges::all_of(graph.ops, [&](const ir::Op& op) {
    return std::ranges::find(op.inputs, tensor) == op.inputs.end() || ir::is_convolution_like(op.kind);
  });
}

std::string flat_refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Tensor &in = graph.tensor(op.inputs[0]), &out = graph.tensor(op.outputs[0]);
  if (std::string why = pixels_refusal(graph, op.inputs[0]); !why.empty()) return why;
  if (out.is_constant || out.shape.size() > 4)
    return fmt::format("'{}' has {} dimensions, not 1 to 4", out.name, out.shape.size());
  if (!same_quantization(in, out)) return fmt::format("'{}' has another scale than the input", out.name);
  const Regrouped r = regrouped(graph, index);
  const int64_t slots = r.in.count * round_up(r.in.channels, rk3588::kAtomBytes);
  const int64_t most =
      only_convolutions_read(graph, op.outputs[0]) ? rk3588::kMaxInputChannels : rk3588::kMaxCubeChannels;
  if (slots > most)
    return fmt::format("{} pixels of {} channels take {} slots of one pixel, up to {} are possible",
                       r.in.count, r.in.channels, slots, most);
  return {};
}

// All pixels as one with its channels in order.
std::string ordered_refusal(const ir::Graph& graph, size_t index) {
  const Regrouped r = regrouped(graph, index);
  return selection_refusal(selection(r, plain_layout(r.in.channels)));
}

std::string refusal(const ir::Graph& graph, size_t index) {
  const Regrouped r = regrouped(graph, index);
  if (r.out.count == 1 && r.in.count > 1) return flat_refusal(graph, index);
  if (std::string why = moved_pixels_refusal(graph, index, graph.ops[index].inputs[0]); !why.empty())
    return why;
  if (r.in.channels == r.out.channels) return {};
  if (std::max(r.in.channels, r.out.channels) % std::min(r.in.channels, r.out.channels) != 0)
    return fmt::format("{} channels of a pixel become {}: neither is a multiple of the other", r.in.channels,
                       r.out.channels);
  if (r.in.channels > kMostPieces * r.out.channels)
    return fmt::format("a pixel becomes {}: up to {} are possible", r.in.channels / r.out.channels,
                       kMostPieces);
  return ordered_refusal(graph, index);
}

std::vector<int64_t> views(const ir::Graph& graph, size_t index) {
  const Regrouped r = regrouped(graph, index);
  return r.in.channels == r.out.channels ? std::vector<int64_t>{0} : std::vector<int64_t>();
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm&,
                                        const DevicePlaces& places) {
  const Regrouped r = regrouped(graph, index);
  const Layout layout = places.layouts.empty() ? plain_layout(r.in.channels) : places.layouts[0];
  std::vector<rk3588::Task> tasks;
  PERAXIS_TRY(add_selection(selection(r, layout), places.inputs[0], places.output, places.memory, tasks));
  return tasks;
}

Result<DeviceForm> form(const ir::Graph& graph, size_t index, const FormRequest&) {
  DeviceForm out;
  const Regrouped r = regrouped(graph, index);
  if (r.in.channels != r.out.channels && r.out.count > 1) out.slot_group = rk3588::kKernelGroup;
  return out;
}

constexpr DeviceText kText{
    "none where a pixel keeps its channels, or all pixels become one: the output is the input, where it is; "
    "else a convolution with weights 0 and 1",
    "equal", [] {
      return fmt::format("a pixel becomes up to {} or up to {} become one, or all become one; equal scales",
                         kMostPieces, rk3588::kMaxKernel);
    }};

constexpr DeviceOp reshaping(ir::OpKind kind) {
  return {kind, refusal, lower, views, form, kText, ChannelOrder::Ordered, order, ordered_refusal};
}

}  // namespace

const DeviceOp kReshape = reshaping(ir::OpKind::Reshape);
const DeviceOp kSqueeze = reshaping(ir::OpKind::Squeeze);
const DeviceOp kExpandDims = reshaping(ir::OpKind::ExpandDims);

}  // namespace peraxis::lower
