// Which operators run on the NPU: those that make the estimated time of the whole least.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.hpp"
#include "plan/cost.hpp"

namespace peraxis::plan {

enum class Side : uint8_t { Npu, Cpu, Either };

// What one operator costs on either side, estimated, and the operator it must be with (-1: none).
struct SideCosts {
  Side side = Side::Either;
  double npu_ms = 0, cpu_ms = 0;
  int32_t with = -1;
};

// Estimates. A tensor made on one side and read on the other, once: the host turns a dense array into a cube
// or back.
Cost conversion_cost(const ir::Tensor& tensor, const rk3588::CostConstants& constants);
// The NPU waits for an operator of the host, whose data it takes: another job.
Cost wait_cost(const rk3588::CostConstants& constants);
// All crossings of a partition, the first job included: graph inputs are made and outputs read on the host.
Cost crossing_cost(const ir::Graph& graph, const std::vector<bool>& on_npu,
                   const rk3588::CostConstants& constants);

// By operator: on the NPU. The cheapest of all partitions, found as a minimum cut: costs of operators on
// their side, and crossing_cost; of equal ones that with most on the NPU. `Either` operators of graphs too
// large for that follow their data.
std::vector<bool> cheapest_partition(const ir::Graph& graph, const std::vector<SideCosts>& operators,
                                     const rk3588::CostConstants& constants);

// Operators in an order in which each follows what it reads, with as few runs of operators on the NPU, hence
// jobs, as any order has; on the host what nothing on the NPU waits for comes last. With everything on the
// NPU the graph's own order.
std::vector<size_t> execution_order(const ir::Graph& graph, const std::vector<bool>& on_npu);

}  // namespace peraxis::plan
