// PAD and PADV2. Rows and columns: depthwise convolutions whose kernel has a single weight of 1, and whose
// padding is the fill value, as many as it takes where the chip's padding ends. Channels: a convolution with
// weights 0 and 1 before them (lower/selection.hpp).
#include "lower/pad.hpp"

#include <algorithm>

#include "ir/shape.hpp"
#include "lower/layouts.hpp"
#include "lower/selection.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using namespace rk3588;

constexpr int64_t kMostPasses = 4;
constexpr int64_t kSmallKernel = 3;  // of rows and columns together

// Rows and columns around a map.
struct Border {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  int64_t rows() const { return top + bottom; }
  int64_t columns() const { return left + right; }
};

struct Padding {
  Border border;
  int64_t channels_before = 0, channels_after = 0;
  int32_t fill = 0;  // as stored on the device
  bool channels() const { return channels_before > 0 || channels_after > 0; }
};

Result<Padding> padding_of(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const std::vector<ir::AxisPadding> amounts = PERAXIS_TRY(ir::pad_amounts(graph, op));
  if (amounts[0].before != 0 || amounts[0].after != 0)
    return fail(ErrorCode::Unsupported, "it adds images to a batch");
  Padding out{{amounts[1].before, amounts[1].after, amounts[2].before, amounts[2].after},
              amounts[3].before,
              amounts[3].after,
              0};
  const ir::Tensor& made = graph.tensor(op.outputs[0]);
  const bool is_uint8 = made.type == ir::DataType::UInt8;
  int64_t stored = made.quant.zero_point[0];
  if (op.kind == ir::OpKind::PadV2) {
    const ir::Tensor& value = graph.tensor(op.inputs[2]);
    if (!value.is_constant || value.data.size() != 1)
      return fail(ErrorCode::Unsupported, "the fill value '{}' is no constant of one 8-bit value",
                  value.name);
    stored = is_uint8 ? value.data[0] : static_cast<int8_t>(value.data[0]);
  }
  out.fill = static_cast<int32_t>(stored) - (is_uint8 ? 128 : 0);
  return out;
}

// What one pass adds of `border`, which is left with the rest: up to 15 rows and columns, and both together
// only where the kernel stays small.
Border take_pass(Border& border) {
  Border pass;
  const auto take = [](int64_t& from, int64_t& to, int64_t most) {
    to = std::min(from, most);
    from -= to;
  };
  take(border.left, pass.left, kMaxPad);
  take(border.right, pass.right, kMaxPad - pass.left);
  if (pass.columns() >= kSmallKernel) return pass;
  const int64_t most = pass.columns() > 0 ? kSmallKernel - 1 : kMaxPad;
  if (pass.columns() > 0 && border.rows() > most) return pass;
  take(border.top, pass.top, most);
  take(border.bottom, pass.bottom, most - pass.top);
  return pass;
}

std::vector<Border> passes_of(Border border) {
  std::vector<Border> passes;
  while (border.rows() + border.columns() > 0) passes.push_back(take_pass(border));
  return passes;
}

TilingProblem problem_of(const Border& b, const ir::Nhwc& map, int64_t slots) {
  TilingProblem p;
  p.g.depthwise = true;
  p.g.in_h = map.h;
  p.g.in_w = map.w;
  p.g.in_c = p.g.out_c = slots;
  p.g.out_h = map.h + b.rows();
  p.g.out_w = map.w + b.columns();
  p.g.kernel_h = b.rows() + 1;
  p.g.kernel_w = b.columns() + 1;
  p.g.pad_top = b.rows();
  p.g.pad_left = b.columns();
  p.in_channels = slots;
  p.out_channels = round_up(slots, kDepthwiseGroup);
  p.depthwise = true;
  return p;
}

// A window over the pixel and the rows and columns before it: every one holds a pixel of the input.
Status add_pass(const Border& b, const ir::Nhwc& map, int32_t fill, const CubeAt& in, const CubeAt& out,
                const TaskList& list) {
  const TilingProblem p = problem_of(b, map, in.slots);
  const Tiling tiling = PERAXIS_TRY(tile(p, {}));
  const int64_t slots = p.out_channels, taps = p.g.kernel_h * p.g.kernel_w;
  const int32_t weights = list.memory.add_constant(pack_depthwise_weights(
      in.slots, p.g.kernel_h, p.g.kernel_w,
      [&b](int64_t, int64_t y, int64_t x) -> int64_t { return y == b.bottom && x == b.right ? 1 : 0; }));
  const int32_t addends = list.memory.add_constant(std::vector<uint8_t>(static_cast<size_t>(slots * 4)));
  for (int64_t first = 0; first < slots; first += tiling.channels_per_task)
    for (const RowTile& rows : tiling.rows) {
      ConvTask task;
      task.depthwise = true;
      task.in_width = map.w;
      task.in_height = rows.in_rows;
      task.in_plane = in.plane;
      task.out_channels = std::min(tiling.channels_per_task, slots - first);
      task.in_channels = task.in_channels_real = std::min(task.out_channels, in.slots - first);
      task.out_channels_real = task.in_channels;
      task.input = {in.address.allocation,
                    in.address.offset + (first / kAtomBytes * in.plane + rows.in_first * map.w) * kAtomBytes};
      task.pad_top = rows.pad_top;
      task.pad_left = p.g.pad_left;
      task.pad_value = fill;
      task.kernel_width = p.g.kernel_w;
      task.kernel_height = p.g.kernel_h;
      task.kernels = 1;
      task.weight_bytes_per_kernel = task.weight_bytes = taps * task.in_channels;
      task.weights = {weights, taps * first};
      task.out_width = p.g.out_w;
      task.out_height = rows.rows;
      task.out_plane = out.plane;
      task.output = {
          out.address.allocation,
          out.address.offset + (first / kAtomBytes * out.plane + rows.first * p.g.out_w) * kAtomBytes};
      task.operands = {addends, 4 * first};
      task.data_banks = tiling.data_banks;
      task.weight_banks = tiling.weight_banks;
      task.weight_reuse = tiling.weights_resident && &rows != &tiling.rows.front();
      list.tasks.emplace_back(task);
    }
  return {};
}

Selection channels_of(const Padding& padding, const ir::Nhwc& in, const Layout& layout) {
  Selection s;
  s.in_slots = layout.slots;
  cut_lines(in.h * in.w, s);
  s.channels = padding.channels_before + in.c + padding.channels_after;
  s.fill = padding.fill;
  s.slot = [layout, first = padding.channels_before, count = in.c](int64_t channel, int64_t) {
    const int64_t from = channel - first;
    return from < 0 || from >= count ? -1 : slot_of(layout, from);
  };
  return s;
}

std::string refusal(const ir::Graph& graph, size_t index) {
  if (std::string why = moved_refusal(graph, index); !why.empty()) return why;
  const auto padding = padding_of(graph, index);
  if (!padding) return padding.error().message;
  const ir::Op& op = graph.ops[index];
  ir::Nhwc map = ir::nhwc(graph.tensor(op.inputs[0]));
  const ir::Nhwc out = ir::nhwc(graph.tensor(op.outputs[0]));
  if (padding->channels())
    if (std::string why = selection_refusal(channels_of(*padding, map, plain_layout(map.c))); !why.empty())
      return why;
  const int64_t slots = round_up(out.c, kAtomBytes);
  if (out.w > kMaxInputExtent || round_up(slots, kDepthwiseGroup) > kMaxCubeChannels)
    return fmt::format("a map {} wide of {} channels exceeds {} columns or {} channels", out.w, out.c,
                       kMaxInputExtent, kMaxCubeChannels);
  const std::vector<Border> passes = passes_of(padding->border);
  if (static_cast<int64_t>(passes.size()) > kMostPasses)
    return fmt::format("{} rows and {} columns take {} passes, up to {} are given", padding->border.rows(),
                       padding->border.columns(), passes.size(), kMostPasses);
  for (const Border& pass : passes) {
    if (const auto tiling = tile(problem_of(pass, map, slots), {}); !tiling) return tiling.error().message;
    map.h += pass.rows();
    map.w += pass.columns();
  }
  return {};
}

ChannelOrder order(const ir::Graph& graph, size_t index) {
  const auto padding = padding_of(graph, index);
  return padding && padding->channels() ? ChannelOrder::Ordered : ChannelOrder::Kept;
}

Result<DeviceForm> form(const ir::Graph&, size_t, const FormRequest&) {
  DeviceForm out;
  out.slot_group = kDepthwiseGroup;
  return out;
}

Result<std::vector<Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm&,
                                const DevicePlaces& places) {
  const Padding padding = PERAXIS_TRY(padding_of(graph, index));
  ir::Nhwc map = ir::nhwc(graph.tensor(graph.ops[index].inputs[0]));
  std::vector<Border> passes = passes_of(padding.border);
  if (passes.empty() && !padding.channels()) passes.emplace_back();  // nothing to add: a copy
  CubeAt from = places.inputs[0];
  const int64_t slots = places.output.slots;
  const auto target = [&](bool last, int64_t plane) {
    if (last) return places.output;
    return CubeAt{{places.memory.add_activation(plane * slots), 0}, plane, slots};
  };
  std::vector<Task> tasks;
  if (padding.channels()) {
    const Layout layout = places.layouts.empty() ? plain_layout(map.c) : places.layouts[0];
    const CubeAt to = target(passes.empty(), map.h * map.w);
    PERAXIS_TRY(add_selection(channels_of(padding, map, layout), from, to, places.memory, tasks));
    from = {to.address, to.plane, slots};
  }
  for (const Border& pass : passes) {
    const CubeAt to = target(&pass == &passes.back(), (map.h + pass.rows()) * (map.w + pass.columns()));
    PERAXIS_TRY(add_pass(pass, map, padding.fill, from, to, {places.memory, tasks}));
    map.h += pass.rows();
    map.w += pass.columns();
    from = {to.address, to.plane, slots};
  }
  return tasks;
}

constexpr DeviceText kText{
    "depthwise convolutions with a single weight of 1, one for up to 15 rows and columns; for channels a "
    "convolution with weights 0 and 1 before them",
    "equal", [] {
      return fmt::format(
          "up to {} convolutions of rows and columns; padv2: the fill value a constant; equal scales",
          kMostPasses);
    }};

}  // namespace

const DeviceOp kPad{ir::OpKind::Pad, refusal, lower, nullptr, form, kText, ChannelOrder::Kept, order};
const DeviceOp kPadV2{ir::OpKind::PadV2, refusal, lower, nullptr, form, kText, ChannelOrder::Kept, order};

}  // namespace peraxis::lower
