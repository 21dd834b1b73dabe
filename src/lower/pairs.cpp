// ADD, SUB, MUL, MAXIMUM and MINIMUM: one task of the DPU alone with a second tensor as the operand of EW
// (requant/pairs.cpp). Constants that are one value go into registers, others into constant memory; smaller
// activations are repeated first.
#include <algorithm>

#include "lower/device_op.hpp"
#include "lower/repeat.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

constexpr int32_t kMostDifference = 1;

// The other operand, as the task gets it.
enum class Source : uint8_t { Constant, Tensor, Pixel, Channel };

struct Roles {
  size_t main = 0;  // the input that has the output's shape and is no constant
  Source other = Source::Tensor;
};

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (std::string why = map_refusal(graph, op.outputs[0]); !why.empty()) return why;
  const ir::Tensor& y = graph.tensor(op.outputs[0]);
  const ir::Nhwc out = ir::nhwc(y);
  bool whole = false;
  for (const int32_t t : op.inputs) {
    const ir::Tensor& in = graph.tensor(t);
    if (in.type != y.type)
      return fmt::format("'{}' is {}, the output {}", in.name, ir::data_type_name(in.type),
                         ir::data_type_name(y.type));
    if (in.is_constant && in.shape.size() > 4)
      return fmt::format("'{}' has {} dimensions, at most 4", in.name, in.shape.size());
    if (in.is_constant) continue;
    if (std::string why = map_refusal(graph, t); !why.empty()) return why;
    const ir::Nhwc map = ir::nhwc(in);
    whole = whole || map == out;
    const bool pixel = map.h == 1 && map.w == 1 && map.c == out.c;
    const bool channel = map.h == out.h && map.w == out.w && map.c == 1;
    if (map != out && !pixel && !channel)
      return fmt::format("'{}' is {}x{}x{}, the output {}x{}x{}: one pixel or one channel can be repeated",
                         in.name, map.h, map.w, map.c, out.h, out.w, out.c);
    if (map != out && !pixel)
      if (std::string why = repeat_channel_refusal(out); !why.empty()) return why;
  }
  return whole ? std::string() : "no activation has the shape of the output";
}

Roles roles(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  const ir::Nhwc out = ir::nhwc(graph.tensor(op.outputs[0]));
  const auto full = [&](size_t i) {
    const ir::Tensor& t = graph.tensor(op.inputs[i]);
    return !t.is_constant && ir::nhwc(t) == out;
  };
  Roles r;
  r.main = full(0) ? 0 : 1;
  const ir::Tensor& other = graph.tensor(op.inputs[1 - r.main]);
  const ir::Nhwc map = ir::nhwc(other);
  r.other = other.is_constant                            ? Source::Constant
            : map == out                                 ? Source::Tensor
            : map.h == 1 && map.w == 1 && map.c == out.c ? Source::Pixel
                                                         : Source::Channel;
  return r;
}

DeviceForm form(const ir::Graph& graph, size_t index, bool exact) {
  DeviceForm out;
  const auto params = requant::pair_parameters(graph, index, roles(graph, index).main);
  if (!params) {
    out.refusal = params.error().message;
    return out;
  }
  const int32_t allowed = exact ? 0 : kMostDifference;
  if (params->max > allowed)
    out.refusal =
        fmt::format("{} of {} inputs would give another value than the reference, by up to {}; {} is allowed",
                    params->differing, params->inputs, params->max, allowed);
  out.element = *params;
  return out;
}

rk3588::ElementTask::Operand::Combine combine_of(requant::ElementParams::Combine combine) {
  using From = requant::ElementParams::Combine;
  using To = rk3588::ElementTask::Operand::Combine;
  return combine == From::Multiply  ? To::Multiply
         : combine == From::Maximum ? To::Maximum
         : combine == From::Minimum ? To::Minimum
                                    : To::Add;
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm& form,
                                        const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  const requant::ElementParams& params = form.element;
  const ir::Nhwc map = ir::nhwc(graph.tensor(op.outputs[0]));
  const Roles r = roles(graph, index);
  std::vector<rk3588::Task> tasks;
  const CubeAt& main = places.inputs[r.other == Source::Constant ? 0 : r.main];
  CubeAt other;
  if (params.operand_factor != 0) {
    if (r.other == Source::Constant) {
      other = constant_cube(graph.tensor(op.inputs[1 - r.main]), map, places.memory);
    } else {
      other = places.inputs[1 - r.main];
      if (r.other == Source::Pixel) other = repeat_pixel(other, map, places.memory, tasks);
      if (r.other == Source::Channel) other = PERAXIS_TRY(repeat_channel(other, map, places.memory, tasks));
    }
  }
  rk3588::ElementTask task;
  task.width = map.w;
  task.height = map.h;
  task.channels = round_up(map.c, rk3588::kAtomBytes);
  task.input = main.address;
  task.in_plane = main.plane;
  task.output = places.output.address;
  task.out_plane = places.output.plane;
  task.addend = params.addend;
  task.factor = params.factor;
  task.constant = params.constant;
  if (params.operand_factor != 0)
    task.operand = rk3588::ElementTask::Operand{other.address, other.plane, params.operand_offset,
                                                params.operand_factor, combine_of(params.combine)};
  task.relu = params.relu;
  task.out_scale = params.scale;
  task.out_shift = params.shift;
  task.out_offset = params.offset;
  tasks.emplace_back(task);
  return tasks;
}

std::string operands() {
  return "operands of the output's shape, constants, one pixel or one channel that is repeated";
}
constexpr DeviceText kSumText{"one of the DPU", kCountedAccuracy,
                              [] { return operands() + "; activation none or RELU"; }};
constexpr DeviceText kExtremumText{"one of the DPU", "equal", operands};

}  // namespace

const DeviceOp kAdd{ir::OpKind::Add, refusal, lower, nullptr, form, kSumText};
const DeviceOp kSub{ir::OpKind::Sub, refusal, lower, nullptr, form, kSumText};
const DeviceOp kMul{ir::OpKind::Mul, refusal, lower, nullptr, form, kSumText};
const DeviceOp kMaximum{ir::OpKind::Maximum, refusal, lower, nullptr, form, kExtremumText};
const DeviceOp kMinimum{ir::OpKind::Minimum, refusal, lower, nullptr, form, kExtremumText};

}  // namespace peraxis::lower
