// MAX_POOL_2D on the PPU: a comparison of stored values, whatever their scale.
#include "lower/device_op.hpp"

namespace peraxis::lower {
namespace {

constexpr int64_t kLargestWindow = 16, kLargestPadding = 7;  // docs/hardware/ppu.md#the-program

struct Window {
  ir::SpatialAxes axes;
  const ir::PoolAttributes* pool;
};

Window window(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const auto* pool = std::get_if<ir::PoolAttributes>(&op.attributes);
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0]));
  return {ir::pool_axes(in, *pool), pool};
}

std::string refusal(const ir::Graph& graph, size_t index) {
  if (std::string why = moved_refusal(graph, index); !why.empty()) return why;
  const ir::Tensor& out = graph.tensor(graph.ops[index].outputs[0]);
  const Window w = window(graph, index);
  const ir::StoredRange kept = ir::activation_range(out, w.pool->activation);
  if (kept != ir::type_range(out.type))
    return fmt::format("its activation keeps outputs in {}..{}, which a pooling task does not", kept.low,
                       kept.high);
  if (std::max(w.pool->filter_h, w.pool->filter_w) > kLargestWindow ||
      std::max(w.pool->stride_h, w.pool->stride_w) > kLargestWindow)
    return fmt::format("window {}x{} and stride {}x{}: a pooling task has up to {}", w.pool->filter_h,
                       w.pool->filter_w, w.pool->stride_h, w.pool->stride_w, kLargestWindow);
  const auto& [rows, columns] = w.axes;
  const int64_t most = std::max({rows.before, rows.after, columns.before, columns.after});
  if (most > kLargestPadding)
    return fmt::format("padding of {}: a pooling task has up to {}", most, kLargestPadding);
  return {};
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm&,
                                        const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  const Window w = window(graph, index);
  rk3588::PoolTask task;
  task.in_width = in.w;
  task.in_height = in.h;
  task.out_width = out.w;
  task.out_height = out.h;
  task.channels = places.inputs[0].slots;
  task.kernel_width = w.pool->filter_w;
  task.kernel_height = w.pool->filter_h;
  task.stride_x = w.pool->stride_w;
  task.stride_y = w.pool->stride_h;
  task.pad_left = w.axes.columns.before;
  task.pad_right = w.axes.columns.after;
  task.pad_top = w.axes.rows.before;
  task.pad_bottom = w.axes.rows.after;
  task.input = places.inputs[0].address;
  task.in_plane = places.inputs[0].plane;
  task.output = places.output.address;
  task.out_plane = places.output.plane;
  return std::vector<rk3588::Task>{task};
}

Result<DeviceForm> form(const ir::Graph&, size_t, const FormRequest&) {
  DeviceForm out;
  out.ppu = true;
  return out;
}

}  // namespace

const DeviceOp kMaxPool{
    ir::OpKind::MaxPool2D,
    refusal,
    lower,
    nullptr,
    form,
    {"one of the PPU", "equal",
     [] {
       return fmt::format(
           "windows and strides up to {}, padding up to {}, no activation that narrows; not with --no-ppu",
           kLargestWindow, kLargestPadding);
     }},
    ChannelOrder::Kept};

}  // namespace peraxis::lower
