// CONCATENATION of channels: each input is copied behind the one before. A surface holds 16 channels, so
// every part but the last must fill its surfaces.
#include "lower/device_op.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using rk3588::kAtomBytes;

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Tensor& out = graph.tensor(op.outputs[0]);
  if (std::string why = map_refusal(graph, op.outputs[0]); !why.empty()) return why;
  const auto* attributes = std::get_if<ir::ConcatenationAttributes>(&op.attributes);
  if (attributes->axis != 3 && attributes->axis != -1)
    return fmt::format("it joins along dimension {}, not channels", attributes->axis);
  if (ir::activation_range(out, attributes->activation) != ir::type_range(out.type))
    return "it has an activation";
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (std::string why = map_refusal(graph, op.inputs[i]); !why.empty()) return why;
    const ir::Tensor& in = graph.tensor(op.inputs[i]);
    if (!same_quantization(in, out)) return fmt::format("'{}' has another scale than the output", in.name);
    const int64_t c = ir::nhwc(in).c;
    if (i + 1 < op.inputs.size() && c % kAtomBytes != 0)
      return fmt::format("'{}' has {} channels and others follow: no multiple of {}", in.name, c, kAtomBytes);
  }
  return {};
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm&,
                                        const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  std::vector<rk3588::Task> tasks;
  int64_t surface = 0;
  for (size_t i = 0; i < places.inputs.size(); ++i) {
    const ir::Nhwc in = ir::nhwc(graph.tensor(op.inputs[i]));
    const int64_t channels = round_up(in.c, kAtomBytes);
    const rk3588::SymbolicAddress place{
        places.output.address.allocation,
        places.output.address.offset + surface * places.output.plane * kAtomBytes};
    surface += channels / kAtomBytes;
    // A producer that wrote its part in place needs no copy.
    if (places.inputs[i].address.allocation == place.allocation &&
        places.inputs[i].address.offset == place.offset)
      continue;
    rk3588::ElementTask task;
    task.width = in.w;
    task.height = in.h;
    task.channels = channels;
    task.input = places.inputs[i].address;
    task.in_plane = places.inputs[i].plane;
    task.output = place;
    task.out_plane = places.output.plane;
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
    {"none for parts that are written in place, else a copy each", "equal", [] {
       return fmt::format(
           "along channels, no activation that narrows; scales equal the output's; every part but the last a "
           "multiple of {} channels",
           kAtomBytes);
     }}};

}  // namespace peraxis::lower
