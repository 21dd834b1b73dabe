// SPLIT, SPLIT_V, SLICE and STRIDED_SLICE. Ranges of channels of all pixels are parts of the input where it
// is and need no task, unless a reader wants them in order; neighbouring pixels with all their channels are
// copied. Anything else (columns, every second row, channels of some pixels) convolutions take out
// (lower/selection.hpp), which read lines from any place.
#include <algorithm>
#include <array>

#include "ir/shape.hpp"
#include "lower/device_op.hpp"
#include "lower/element_task.hpp"
#include "lower/selection.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using rk3588::kAtomBytes;

// The input of the operators here, whatever else they take.
int32_t map_input(const ir::Op& op) {
  return op.inputs[op.kind == ir::OpKind::Split ? 1 : 0];
}

std::string split_refusal(const ir::Graph& graph, size_t index) {
  if (std::string why = moved_pixels_refusal(graph, index, map_input(graph.ops[index])); !why.empty())
    return why;
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc in = ir::nhwc(graph.tensor(map_input(op)));
  int64_t channels = 0;
  for (const int32_t t : op.outputs) {
    const ir::Nhwc out = ir::nhwc(graph.tensor(t));
    if (out.n != in.n || out.h != in.h || out.w != in.w) return "it splits rows or columns, not channels";
    channels += out.c;
  }
  return channels == in.c ? std::string()
                          : fmt::format("its outputs have {} channels, the input {}", channels, in.c);
}

std::vector<int64_t> split_views(const ir::Graph& graph, size_t index) {
  std::vector<int64_t> out{0};
  for (const int32_t t : graph.ops[index].outputs) out.push_back(out.back() + ir::nhwc(graph.tensor(t)).c);
  out.pop_back();
  return out;
}

// Of a dimension of `of` values, `size` from `begin` on, each `stride` behind the one before.
struct Range {
  int64_t begin = 0, stride = 1, size = 1, of = 1;
  bool dense() const { return stride == 1; }
  bool whole() const { return begin == 0 && dense() && size == of; }
};

// Images, rows, columns and channels.
using Ranges = std::array<Range, 4>;

Result<Ranges> ranges_of(const ir::Graph& graph, const ir::Op& op) {
  const std::vector<int32_t>& in = graph.tensor(op.inputs[0]).shape;
  const std::vector<int32_t>& out = graph.tensor(op.outputs[0]).shape;
  Ranges ranges;
  const size_t added = ranges.size() - in.size();
  if (op.kind == ir::OpKind::Slice) {
    const std::vector<int64_t> begin =
        PERAXIS_TRY(ir::constant_integers(graph, op.inputs[1], "the begin input"));
    for (size_t d = 0; d < in.size(); ++d) ranges[added + d] = {begin[d], 1, out[d], in[d]};
    return ranges;
  }
  const ir::ResolvedSlice slice = PERAXIS_TRY(ir::resolve_strided_slice(graph, op));
  for (size_t d = 0; d < in.size(); ++d) {
    const ir::SliceAxis& axis = slice.axes[d];
    if (axis.stride < 0 && axis.size > 1)
      return fail(ErrorCode::Unsupported, "it takes dimension {} backwards", d);
    ranges[added + d] = {axis.begin, axis.size > 1 ? axis.stride : 1, axis.size, in[d]};
  }
  if (slice.axes.back().shrink || out.empty() || out.back() != slice.axes.back().size)
    return fail(ErrorCode::Unsupported, "it leaves the channels' dimension out or adds one behind it");
  return ranges;
}

bool takes_all_pixels(const Ranges& r) {
  return r[0].whole() && r[1].whole() && r[2].whole();
}

// The first of the pixels when they are neighbours; else -1.
int64_t first_neighbour(const Ranges& r) {
  size_t d = 0;
  while (d < 2 && r[d].size == 1) ++d;
  if (!r[d].dense()) return -1;
  for (size_t below = d + 1; below < 3; ++below)
    if (!r[below].whole()) return -1;
  return (r[0].begin * r[1].of + r[1].begin) * r[2].of + r[2].begin;
}

bool copies_pixels(const Ranges& r) {
  return r[3].whole() && first_neighbour(r) >= 0;
}

// One image's pixels, or all of them where they are neighbours.
struct Window {
  Selection selection;
  int64_t first = 0;  // pixel of the input
  int64_t count = 0;  // of the output
};

std::vector<Window> windows_of(const Ranges& r, const ir::Nhwc& out, const Layout& layout) {
  Selection s;
  s.in_slots = layout.slots;
  s.channels = r[3].size;
  s.slot = [layout, channels = r[3]](int64_t channel, int64_t) {
    return slot_of(layout, channels.begin + channel * channels.stride);
  };
  if (const int64_t first = first_neighbour(r); first >= 0) {
    cut_lines(out.h * out.w, s);
    return {{s, first, out.h * out.w}};
  }
  s.lines = r[1].size;
  s.out_w = r[2].size;
  s.in_w = (r[2].size - 1) * r[2].stride + 1;
  s.stride_w = r[2].stride;
  s.line = r[1].stride * r[2].of;
  std::vector<Window> windows;
  windows.reserve(static_cast<size_t>(r[0].size));
  for (int64_t i = 0; i < r[0].size; ++i)
    windows.push_back({s, ((r[0].begin + i * r[0].stride) * r[1].of + r[1].begin) * r[2].of + r[2].begin,
                       s.lines * s.out_w});
  return windows;
}

std::string ordered_slice_refusal(const ir::Graph& graph, size_t index) {
  const auto ranges = ranges_of(graph, graph.ops[index]);
  if (!ranges) return ranges.error().message;
  const ir::Nhwc out = pixel_map(graph.tensor(graph.ops[index].outputs[0]));
  return selection_refusal(windows_of(*ranges, out, plain_layout((*ranges)[3].of)).front().selection);
}

std::string slice_refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (std::string why = moved_pixels_refusal(graph, index, op.inputs[0]); !why.empty()) return why;
  const auto ranges = ranges_of(graph, op);
  if (!ranges) return ranges.error().message;
  if (copies_pixels(*ranges) || (takes_all_pixels(*ranges) && (*ranges)[3].dense())) return {};
  return ordered_slice_refusal(graph, index);
}

std::vector<int64_t> slice_views(const ir::Graph& graph, size_t index) {
  const auto ranges = ranges_of(graph, graph.ops[index]);
  if (!ranges || !takes_all_pixels(*ranges) || !(*ranges)[3].dense()) return {};
  return {(*ranges)[3].begin};
}

ChannelOrder slice_order(const ir::Graph& graph, size_t index) {
  const auto ranges = ranges_of(graph, graph.ops[index]);
  return ranges && copies_pixels(*ranges) ? ChannelOrder::Kept : ChannelOrder::Ordered;
}

Result<DeviceForm> slice_form(const ir::Graph& graph, size_t index, const FormRequest&) {
  DeviceForm out;
  if (slice_views(graph, index).empty() && slice_order(graph, index) == ChannelOrder::Ordered)
    out.slot_group = rk3588::kKernelGroup;
  return out;
}

Result<std::vector<rk3588::Task>> lower_slice(const ir::Graph& graph, size_t index, const DeviceForm&,
                                              const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  const Ranges ranges = PERAXIS_TRY(ranges_of(graph, op));
  const ir::Nhwc out = pixel_map(graph.tensor(op.outputs[0]));
  CubeAt input = places.inputs[0];
  std::vector<rk3588::Task> tasks;
  if (copies_pixels(ranges)) {
    input.address.offset += first_neighbour(ranges) * kAtomBytes;
    rk3588::ElementTask task = element_task({}, out, input, places.output, {});
    task.channels = input.slots;
    tasks.emplace_back(task);
    return tasks;
  }
  const Layout layout = places.layouts.empty() ? plain_layout(ranges[3].of) : places.layouts[0];
  CubeAt output = places.output;
  for (const Window& window : windows_of(ranges, out, layout)) {
    CubeAt from = input;
    from.address.offset += window.first * kAtomBytes;
    PERAXIS_TRY(add_selection(window.selection, from, output, places.memory, tasks));
    output.address.offset += window.count * kAtomBytes;
  }
  return tasks;
}

constexpr DeviceText kSplitText{"none: outputs are parts of the input", "equal",
                                [] { return std::string("along channels; scales equal the input's"); }};
constexpr DeviceText kSliceText{
    "none for channels: the output is a part of the input; a copy for neighbouring pixels; else, and where a "
    "reader wants channels in order, a convolution with weights 0 and 1",
    "equal", [] {
      return fmt::format(
          "any ranges, forwards; every {}th column at most, any rows and channels; equal scales",
          rk3588::kMaxStride);
    }};

}  // namespace

const DeviceOp kSplit{ir::OpKind::Split, split_refusal, nullptr, split_views, nullptr, kSplitText};
const DeviceOp kSplitV{ir::OpKind::SplitV, split_refusal, nullptr, split_views, nullptr, kSplitText};
const DeviceOp kSlice{ir::OpKind::Slice, slice_refusal,      lower_slice, slice_views,          slice_form,
                      kSliceText,        ChannelOrder::Kept, slice_order, ordered_slice_refusal};
const DeviceOp kStridedSlice{
    ir::OpKind::StridedSlice, slice_refusal, lower_slice,          slice_views, slice_form, kSliceText,
    ChannelOrder::Kept,       slice_order,   ordered_slice_refusal};

}  // namespace peraxis::lower
