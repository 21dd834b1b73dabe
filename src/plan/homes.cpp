#include "plan/homes.hpp"

#include <algorithm>

#include "lower/convolution.hpp"
#include "lower/device_op.hpp"
#include "lower/tiling.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::plan {
namespace {

// Channel slots the producer of each tensor writes; 0: not by tasks that can write anywhere, or not at all.
std::vector<int64_t> written_slots(const ir::Graph& graph, const Plan& plan) {
  std::vector<int64_t> slots(graph.tensors.size());
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (!plan.on_device[op]) continue;
    if (!lower::device_views(graph, op).empty()) continue;  // they are where their input is
    const auto output = static_cast<size_t>(graph.ops[op].outputs[0]);
    const int64_t group = op < plan.forms.size() ? plan.forms[op].slot_group : rk3588::kAtomBytes;
    slots[output] = lower::round_up(ir::nhwc(graph.tensors[output]).c, group);
  }
  for (const LayerPlan& layer : plan.layers) {
    if (!layer.on_npu() || layer.scattered) continue;
    // What the host makes of the tasks' results has no dummy groups.
    const bool by_tasks = layer.params.host == requant::HostWork::None;
    slots[static_cast<size_t>(graph.ops[layer.op].outputs[0])] =
        by_tasks ? lower::output_slots(layer.geometry)
                 : lower::round_up(layer.geometry.out_c, rk3588::kAtomBytes);
  }
  return slots;
}

// By tensor: the operator on the device whose outputs are parts of one input, or -1.
std::vector<int32_t> part_makers(const ir::Graph& graph, const Plan& plan) {
  std::vector<int32_t> makers(graph.tensors.size(), -1);
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (plan.on_device[op] && !lower::device_views(graph, op).empty())
      for (const int32_t t : graph.ops[op].outputs) makers[static_cast<size_t>(t)] = static_cast<int32_t>(op);
  return makers;
}

}  // namespace

std::map<int32_t, Home> concatenation_homes(const ir::Graph& graph, const Plan& plan) {
  const std::vector<int64_t> slots = written_slots(graph, plan);
  const std::vector<int32_t> makers = part_makers(graph, plan);
  std::map<int32_t, Home> homes;
  for (size_t index = graph.ops.size(); index-- > 0;) {
    const ir::Op& op = graph.ops[index];
    if (op.kind != ir::OpKind::Concatenation || !plan.on_device[index]) continue;
    const ir::Nhwc joined = ir::nhwc(graph.tensor(op.outputs[0]));
    // Dummy channels behind the last part would fall on what follows in a larger concatenation.
    const bool room = !homes.contains(op.outputs[0]);
    int64_t first = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      int32_t part = op.inputs[i];
      // All parts of one tensor, in order: the tensor itself may be written here.
      const ir::Op* split = nullptr;
      if (const int32_t maker = makers[static_cast<size_t>(part)]; maker >= 0) {
        const ir::Op& found = graph.ops[static_cast<size_t>(maker)];
        const size_t count = found.outputs.size();
        if (i + count <= op.inputs.size() && std::equal(found.outputs.begin(), found.outputs.end(),
                                                        op.inputs.begin() + static_cast<int64_t>(i))) {
          split = &found;
          part = found.inputs.back();
          i += count - 1;
        }
      }
      const ir::Nhwc map = ir::nhwc(graph.tensor(part));
      const int64_t written = slots[static_cast<size_t>(part)];
      // The convolution's own view of its output must be the map's: one image.
      const bool whole = written > 0 && (written == map.c || (room && i + 1 == op.inputs.size()));
      if (whole && map.h == joined.h && map.w == joined.w &&
          homes.try_emplace(part, Home{op.outputs[0], first}).second && split != nullptr) {
        int64_t at = first;
        for (const int32_t t : split->outputs) {
          homes.try_emplace(t, Home{op.outputs[0], at});
          at += ir::nhwc(graph.tensor(t)).c;
        }
      }
      first += map.c;
    }
  }
  return homes;
}

}  // namespace peraxis::plan
