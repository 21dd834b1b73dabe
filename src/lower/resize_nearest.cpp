// RESIZE_NEAREST_NEIGHBOR to twice the size: un-pooling, one task a surface of 16 channels.
#include "lower/device_op.hpp"
#include "lower/tiling.hpp"

namespace peraxis::lower {
namespace {

constexpr int64_t kSurfaceChannels = 16, kAtomBytes = 16;
constexpr int64_t kWidestRow = 8191;  // of the output; its notch has 13 bits

std::string refusal(const ir::Graph& graph, size_t index, bool) {
  const ir::Op& op = graph.ops[index];
  for (const int32_t t : {op.inputs[0], op.outputs[0]})
    if (std::string why = map_refusal(graph, t); !why.empty()) return why;
  if (!same_quantization(graph.tensor(op.inputs[0]), graph.tensor(op.outputs[0])))
    return "input and output have different scales";
  const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[0])), out = ir::nhwc(graph.tensor(op.outputs[0]));
  if (out.h != 2 * in.h || out.w != 2 * in.w)
    return fmt::format("{}x{} becomes {}x{}: only twice the size is known", in.h, in.w, out.h, out.w);
  if (std::get_if<ir::ResizeAttributes>(&op.attributes)->align_corners)
    return "align_corners: pixels are not repeated evenly";
  if (out.w > kWidestRow) return fmt::format("rows of {} pixels: up to {} are possible", out.w, kWidestRow);
  return {};
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, std::span<const CubeAt> inputs,
                                        const CubeAt& output) {
  const ir::Nhwc in = ir::nhwc(graph.tensor(graph.ops[index].inputs[0]));
  std::vector<rk3588::Task> tasks;
  for (int64_t s = 0; s < round_up(in.c, kSurfaceChannels) / kSurfaceChannels; ++s) {
    rk3588::UpsampleTask task;
    task.width = in.w;
    task.height = in.h;
    task.input = {inputs[0].address.allocation, inputs[0].address.offset + s * inputs[0].plane * kAtomBytes};
    task.output = {output.address.allocation, output.address.offset + s * output.plane * kAtomBytes};
    tasks.emplace_back(task);
  }
  return tasks;
}

}  // namespace

const DeviceOp kResizeNearest{ir::OpKind::ResizeNearestNeighbor, refusal, lower};

}  // namespace peraxis::lower
