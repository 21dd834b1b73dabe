// RESIZE_NEAREST_NEIGHBOR to twice the size: un-pooling, one task a surface of 16 channels.
#include "lower/device_op.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using rk3588::kAtomBytes;

constexpr int64_t kWidestRow = 8191;  // of the output; its notch has 13 bits

std::string refusal(const ir::Graph& graph, size_t index) {
  if (std::string why = moved_refusal(graph, index); !why.empty()) return why;
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  if (out.h != 2 * in.h || out.w != 2 * in.w)
    return fmt::format("{}x{} becomes {}x{}: only twice the size is known", in.h, in.w, out.h, out.w);
  if (std::get_if<ir::ResizeAttributes>(&op.attributes)->align_corners)
    return "align_corners: pixels are not repeated evenly";
  if (out.w > kWidestRow) return fmt::format("rows of {} pixels: up to {} are possible", out.w, kWidestRow);
  return {};
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm&,
                                        const DevicePlaces& places) {
  const ir::Nhwc in = ir::nhwc(graph.tensor(graph.ops[index].inputs[0]));
  std::vector<rk3588::Task> tasks;
  for (int64_t s = 0; s < places.inputs[0].slots / kAtomBytes; ++s) {
    rk3588::UpsampleTask task;
    task.width = in.w;
    task.height = in.h;
    task.input = {places.inputs[0].address.allocation,
                  places.inputs[0].address.offset + s * places.inputs[0].plane * kAtomBytes};
    task.output = {places.output.address.allocation,
                   places.output.address.offset + s * places.output.plane * kAtomBytes};
    tasks.emplace_back(task);
  }
  return tasks;
}

}  // namespace

const DeviceOp kResizeNearest{
    ir::OpKind::ResizeNearestNeighbor,
    refusal,
    lower,
    nullptr,
    nullptr,
    {"one for 16 channels", "equal",
     [] { return fmt::format("to twice the size, not align_corners, rows of up to {} pixels", kWidestRow); }},
    ChannelOrder::Kept};

}  // namespace peraxis::lower
