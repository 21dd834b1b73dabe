#include "plan/cost.hpp"

namespace peraxis::plan {

void Cost::add(const Cost& other) {
  tasks += other.tasks;
  mac_cycles += other.mac_cycles;
  bytes += other.bytes;
  host_values += other.host_values;
  npu_ms += other.npu_ms;
  host_ms += other.host_ms;
}

Cost layer_cost(const lower::LoweredLayer& lowered, const lower::Geometry& geometry, requant::HostWork host,
                const rk3588::CostConstants& constants) {
  Cost cost;
  for (const lower::LoweredTask& lowered_task : lowered.tasks) {
    const rk3588::ConvTask& task = lowered_task.task;
    const int64_t cycles = rk3588::mac_cycles(task), bytes = rk3588::bytes_moved(task, kWordsPerTask);
    ++cost.tasks;
    cost.mac_cycles += cycles;
    cost.bytes += bytes;
    const double multiplying = static_cast<double>(cycles) / constants.clock_ghz;  // ns
    const double moving = static_cast<double>(bytes) / constants.bandwidth_gbs;    // ns
    cost.npu_ms += std::max(multiplying, moving) * 1e-6 + constants.task_us * 1e-3;
  }
  if (host == requant::HostWork::None) return cost;
  cost.host_values = geometry.out_h * geometry.out_w * geometry.out_c;
  const double ns = host == requant::HostWork::Gather ? constants.host_copy_ns : constants.host_requantize_ns;
  cost.host_ms = static_cast<double>(cost.host_values) * ns * 1e-6 + constants.host_step_us * 1e-3;
  return cost;
}

Cost cpu_cost(const ir::Graph& graph, size_t op, const rk3588::CostConstants& constants) {
  Cost cost;
  if (ir::is_convolution_like(graph.ops[op].kind)) {
    const lower::Geometry g = lower::geometry(graph, op);
    cost.host_values = g.out_h * g.out_w * g.out_c;
    cost.host_ms = static_cast<double>(g.macs()) / constants.host_gmacs * 1e-6;
    return cost;
  }
  for (const int32_t output : graph.ops[op].outputs) cost.host_values += graph.tensor(output).elements();
  cost.host_ms = static_cast<double>(cost.host_values) * constants.host_element_ns * 1e-6;
  return cost;
}

}  // namespace peraxis::plan
