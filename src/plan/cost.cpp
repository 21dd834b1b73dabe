#include "plan/cost.hpp"

namespace peraxis::plan {

Cost layer_cost(const lower::LoweredLayer& lowered, const lower::Geometry& geometry, requant::HostWork host,
                const rk3588::CostConstants& constants) {
  Cost cost;
  for (const lower::LoweredTask& lowered_task : lowered.tasks) {
    const rk3588::ConvTask& task = lowered_task.task;
    const int64_t cycles = rk3588::mac_cycles(task), bytes = rk3588::bytes_moved(task, rk3588::kConvWords);
    ++cost.tasks;
    cost.mac_cycles += cycles;
    cost.bytes += bytes;
    cost.npu_ms += rk3588::estimated_ms(cycles, bytes, constants);
  }
  if (host == requant::HostWork::None) return cost;
  cost.host_values = geometry.outputs();
  const double ns = host == requant::HostWork::Gather ? constants.host_copy_ns : constants.host_requantize_ns;
  cost.host_ms = static_cast<double>(cost.host_values) * ns * 1e-6 + constants.host_step_us * 1e-3;
  return cost;
}

Placing plain_placing(const ir::Graph& graph) {
  Placing plain;
  plain.layouts.resize(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    if (graph.tensors[t].shape.size() <= 4)
      plain.layouts[t] = lower::plain_layout(ir::nhwc(graph.tensors[t]).c);
  return plain;
}

Result<Cost> device_cost(const ir::Graph& graph, size_t op, const lower::DeviceForm& form,
                         const Placing& placing, const rk3588::CostConstants& constants) {
  Cost cost;
  // Sizes alone count. Allocation 0 is the output, 1 everything else.
  const lower::ChannelOrder order = lower::channel_order(graph, op, form);
  if (order == lower::ChannelOrder::Parts || order == lower::ChannelOrder::Flat || form.part_of >= 0)
    return cost;
  const int32_t output = graph.ops[op].outputs[0];
  const auto cube = [&](int32_t t) {
    const ir::Nhwc map = lower::pixel_map(graph.tensor(t));
    const int64_t slots = placing.layouts[static_cast<size_t>(t)].slots;
    const auto home = placing.homes.find(t);
    const bool there = home != placing.homes.end() && home->second.tensor == output;
    return lower::CubeAt{there ? rk3588::SymbolicAddress{0, home->second.first_slot * map.h * map.w}
                               : rk3588::SymbolicAddress{1, 0},
                         map.h * map.w, slots};
  };
  lower::MemoryPlan scratch;
  lower::DevicePlaces places{{}, cube(output), scratch, {}};
  places.output.address = {0, 0};
  for (const int32_t t : lower::device_inputs(graph, op, form)) {
    places.inputs.push_back(cube(t));
    places.layouts.push_back(placing.layouts[static_cast<size_t>(t)]);
  }
  if (const auto join = placing.joins.find(op); join != placing.joins.end()) {
    places.first_slots = join->second;
  } else if (order == lower::ChannelOrder::Joined) {
    int64_t slots = 0;
    for (const lower::Layout& layout : places.layouts) {
      places.first_slots.push_back(slots);
      slots += layout.slots;
    }
  }
  auto tasks = PERAXIS_TRY(lower::lower_device_op(graph, op, form, places));
  if (form.table != nullptr) tasks.insert(tasks.begin(), rk3588::TableTask{form.table, {}, {}});
  for (const rk3588::Task& task : tasks) {
    const int64_t bytes = rk3588::bytes_moved(task);
    ++cost.tasks;
    cost.bytes += bytes;
    // The vendor's compiler prints no estimate for tasks without a convolution: an atom a cycle is assumed,
    // and memory bounds them.
    const auto* convolution = std::get_if<rk3588::ConvTask>(&task);
    const int64_t cycles =
        convolution != nullptr ? rk3588::mac_cycles(*convolution) : bytes / rk3588::kAtomBytes;
    if (convolution != nullptr) cost.mac_cycles += cycles;
    cost.npu_ms += rk3588::estimated_ms(cycles, bytes, constants);
  }
  return cost;
}

Cost cpu_cost(const ir::Graph& graph, size_t op, const rk3588::CostConstants& constants) {
  Cost cost;
  if (ir::is_convolution_like(graph.ops[op].kind)) {
    const lower::Geometry g = lower::geometry(graph, op);
    cost.host_values = g.outputs();
    // On the CPU nothing is multiplied by the pixels that the chip inserts in a transposed convolution.
    const int64_t macs = g.macs() / (g.insert_h * g.insert_w);
    cost.host_ms = static_cast<double>(macs) / constants.host_gmacs * 1e-6;
    return cost;
  }
  for (const int32_t output : graph.ops[op].outputs) cost.host_values += graph.tensor(output).elements();
  cost.host_ms = static_cast<double>(cost.host_values) * constants.host_element_ns * 1e-6;
  return cost;
}

}  // namespace peraxis::plan
