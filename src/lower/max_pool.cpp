// MAX_POOL_2D on the PPU: a comparison of stored values, whatever their scale.
#include "lower/device_op.hpp"

namespace peraxis::lower {
namespace {

constexpr int64_t kLargestWindow = 16, kLargestPadding = 7;  // docs/hardware/ppu.md#the-program

struct Window {
  ir::SpatialAxis rows, columns;
  const ir::PoolAttributes* pool;
};

Window window(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const auto* pool = std::get_if<ir::PoolAttributes>(&op.attributes);
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0]));
  return {ir::spatial_axis(in.h, pool->filter_h, pool->stride_h, 1, pool->padding),
          ir::spatial_axis(in.w, pool->filter_w, pool->stride_w, 1, pool->padding), pool};
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
  const int64_t most = std::max({w.rows.before, w.rows.after, w.columns.before, w.columns.after});
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
  task.pad_left = w.columns.before;
  task.pad_right = std::max<int64_t>(w.columns.after, 0);
  task.pad_top = w.rows.before;
  task.pad_bottom = std::max<int64_t>(w.rows.after, 0);
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
