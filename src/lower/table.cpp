#include "lower/table.hpp"

#include <algorithm>
#include <array>

#include "requant/table.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::lower {
namespace {

using Kind = ir::OpKind;

constexpr std::array kKinds = {Kind::Logistic,  Kind::Tanh,      Kind::HardSwish, Kind::Relu,     Kind::Relu6,
                               Kind::ReluN1To1, Kind::LeakyRelu, Kind::Prelu,     Kind::Quantize, Kind::Exp,
                               Kind::Sqrt,      Kind::Rsqrt,     Kind::Log,       Kind::Elu,      Kind::Gelu,
                               Kind::Abs,       Kind::Neg,       Kind::Add,       Kind::Sub,      Kind::Mul,
                               Kind::Maximum,   Kind::Minimum};

Result<DeviceForm> form_of(const ir::Graph& graph, std::span<const size_t> ops, int32_t input) {
  DeviceForm form;
  for (const int32_t t : {input, graph.ops[ops.back()].outputs[0]}) {
    form.refusal = pixels_refusal(graph, t);
    if (!form.refusal.empty()) return form;
  }
  auto table = requant::make_table(graph, ops, input);
  if (!table) return refused(std::move(table).error());
  form.table = *std::move(table);
  form.table_input = input;
  return form;
}

}  // namespace

bool is_table_operator(ir::OpKind kind) {
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

DeviceText table_text() {
  return {
      "one that loads a look-up table, one that looks up", "equal for all 256 values", [] {
        return std::string(
            "a function of one 8-bit value that arithmetic does not express well enough; other operands are "
            "constants of one element; not with --no-tables");
      }};
}

Result<DeviceForm> table_form(const ir::Graph& graph, size_t op) {
  for (const int32_t t : graph.ops[op].inputs)
    if (t != ir::kAbsent && !graph.tensor(t).is_constant) return form_of(graph, {&op, 1}, t);
  return DeviceForm{"all of its inputs are constants", {}};
}

std::vector<int32_t> silu_partners(const ir::Graph& graph) {
  std::vector<int32_t> partners(graph.ops.size(), -1);
  std::vector<int32_t> logistic(graph.tensors.size(), -1);  // by tensor: the LOGISTIC that makes it
  std::vector<int32_t> reads(graph.tensors.size());
  for (const ir::Op& op : graph.ops)
    for (const int32_t t : op.inputs)
      if (t != ir::kAbsent) ++reads[static_cast<size_t>(t)];
  for (const int32_t t : graph.outputs) ++reads[static_cast<size_t>(t)];
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::Op& op = graph.ops[i];
    if (op.kind == Kind::Logistic && op.inputs.size() == 1)
      logistic[static_cast<size_t>(op.outputs[0])] = static_cast<int32_t>(i);
    if (op.kind != Kind::Mul || op.inputs.size() != 2) continue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const int32_t other = op.inputs[1 - side];
      const int32_t maker =
          op.inputs[side] == ir::kAbsent ? -1 : logistic[static_cast<size_t>(op.inputs[side])];
      if (maker < 0 || reads[static_cast<size_t>(op.inputs[side])] != 1 ||
          graph.ops[static_cast<size_t>(maker)].inputs[0] != other || graph.tensor(other).is_constant)
        continue;
      partners[i] = maker;
      partners[static_cast<size_t>(maker)] = static_cast<int32_t>(i);
      break;
    }
  }
  return partners;
}

Result<DeviceForm> silu_form(const ir::Graph& graph, size_t logistic, size_t mul) {
  return form_of(graph, std::array{logistic, mul}, graph.ops[logistic].inputs[0]);
}

std::vector<rk3588::Task> look_up_task(const ir::Graph& graph, size_t op, const DeviceForm& form,
                                       const DevicePlaces& places) {
  const ir::Nhwc map = pixel_map(graph.tensor(graph.ops[op].outputs[0]));
  rk3588::ElementTask task;
  task.width = map.w;
  task.height = map.h;
  task.channels = places.inputs[0].slots;
  task.input = places.inputs[0].address;
  task.output = places.output.address;
  task.in_plane = places.inputs[0].plane;
  task.out_plane = places.output.plane;
  task.table = form.table;
  task.out_shift = rk3588::kLookUpShift;
  task.out_offset = rk3588::kLookUpOffset;
  return {task};
}

}  // namespace peraxis::lower
