// ADD, SUB, MUL, MAXIMUM and MINIMUM: one task of the DPU alone with a second tensor as the operand of EW
// (requant/pairs.cpp). Constants that are one value go into registers, others into constant memory; smaller
// activations are repeated first.
#include "lower/device_op.hpp"
#include "lower/element_task.hpp"
#include "lower/repeat.hpp"

namespace peraxis::lower {
namespace {

struct Roles {
  size_t main = 0;        // the input that has the output's shape and is no constant
  bool constant = false;  // the other one
};

// The activation as it is, or one pixel or channel of it.
bool repeatable(const ir::Nhwc& map, const ir::Nhwc& out) {
  const bool pixels = (map.n == out.n && map.h == out.h && map.w == out.w) || map.n * map.h * map.w == 1;
  return pixels && (map.c == out.c || map.c == 1);
}

// The pixels of one channel, with more channels.
ir::Nhwc widened(const ir::Tensor& channel, int64_t channels) {
  ir::Nhwc map = pixel_map(channel);
  map.c = channels;
  return map;
}

std::string refusal(const ir::Graph& graph, size_t index) {
  const ir::Op& op = graph.ops[index];
  if (std::string why = pixels_refusal(graph, op.outputs[0]); !why.empty()) return why;
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
    if (std::string why = pixels_refusal(graph, t); !why.empty()) return why;
    const ir::Nhwc map = ir::nhwc(in);
    whole = whole || map == out;
    if (!repeatable(map, out))
      return fmt::format("'{}' is {}x{}x{}, the output {}x{}x{}: one pixel or one channel can be repeated",
                         in.name, map.h, map.w, map.c, out.h, out.w, out.c);
    if (map.c != out.c)
      if (std::string why = repeat_channel_refusal(widened(in, out.c)); !why.empty()) return why;
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
  r.constant = graph.tensor(op.inputs[1 - r.main]).is_constant;
  return r;
}

// The operand at the size of `map`.
Result<CubeAt> repeated(CubeAt operand, const ir::Tensor& tensor, const ir::Nhwc& map, MemoryPlan& memory,
                        std::vector<rk3588::Task>& tasks) {
  const ir::Nhwc own = pixel_map(tensor);
  if (own.c != map.c) operand = PERAXIS_TRY(repeat_channel(operand, widened(tensor, map.c), memory, tasks));
  return own.h * own.w == map.h * map.w ? operand : repeat_pixel(operand, map, memory, tasks);
}

Result<DeviceForm> form(const ir::Graph& graph, size_t index, const FormRequest& request) {
  DeviceForm out;
  const Roles r = roles(graph, index);
  auto params = requant::pair_parameters(graph, index, r.main);
  if (!params) return refused(std::move(params).error());
  out.refusal = difference_refusal(params->differing, params->inputs, params->max, request.exact);
  out.element = *params;
  out.certificate = PERAXIS_TRY(requant::certify_pair(graph, index, r.main, *params, request.seen));
  if (out.refusal.empty() && r.constant && params->operand_factor != 0)
    out.refusal = constant_cube_refusal(ir::nhwc(graph.tensor(graph.ops[index].outputs[0])));
  return out;
}

Result<std::vector<rk3588::Task>> lower(const ir::Graph& graph, size_t index, const DeviceForm& form,
                                        const DevicePlaces& places) {
  const ir::Op& op = graph.ops[index];
  const requant::ElementParams& params = form.element;
  const ir::Nhwc map = pixel_map(graph.tensor(op.outputs[0]));
  const Roles r = roles(graph, index);
  std::vector<rk3588::Task> tasks;
  const CubeAt& main = places.inputs[r.constant ? 0 : r.main];
  CubeAt other;
  if (params.operand_factor != 0) {
    const ir::Tensor& tensor = graph.tensor(op.inputs[1 - r.main]);
    other = r.constant ? constant_cube(tensor, ir::nhwc(graph.tensor(op.outputs[0])), places.memory)
                       : PERAXIS_TRY(repeated(places.inputs[1 - r.main], tensor, map, places.memory, tasks));
  }
  tasks.emplace_back(element_task(params, map, main, places.output, other));
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
