// The estimated cost of a layer: its real tasks (lower/), what the host does after them, and the time that
// rk3588::CostConstants makes of it. An estimate; no board was measured.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lower/convolution.hpp"
#include "lower/device_op.hpp"
#include "program/cost.hpp"
#include "target/rk3588/cost.hpp"

namespace peraxis::plan {

// A tensor that is written in place: into the output of the concatenation that takes it.
struct Home {
  int32_t tensor = -1;     // that output
  int64_t first_slot = 0;  // multiple of 16
};

// Where the tensors made on the NPU are.
struct Placing {
  std::vector<lower::Layout> layouts;            // by tensor
  std::map<int32_t, Home> homes;                 // by tensor
  std::map<size_t, std::vector<int64_t>> joins;  // by concatenation: the slot each input begins at
  // By tensor: uploaded as packed pixels for all its readers on the NPU (lower/packed_input.hpp).
  std::vector<bool> packed;

  bool is_packed(int32_t tensor) const {
    return static_cast<size_t>(tensor) < packed.size() && packed[static_cast<size_t>(tensor)];
  }
};

using program::Cost;

Cost layer_cost(const lower::LoweredLayer& lowered, const lower::Geometry& geometry, requant::HostWork host,
                const rk3588::CostConstants& constants);

// Every tensor in memory of its own with its channels in their order.
Placing plain_placing(const ir::Graph& graph);

// An operator other than a convolution that is tasks of the NPU. Parts of a concatenation that have their
// home there cost nothing. Unsupported, with the reason, when its tasks cannot be made for tensors that lie
// so.
Result<Cost> device_cost(const ir::Graph& graph, size_t op, const lower::DeviceForm& form,
                         const Placing& placing, const rk3588::CostConstants& constants);

// An operator that runs on the CPU: a convolution by its multiplications, others by their output elements.
Cost cpu_cost(const ir::Graph& graph, size_t op, const rk3588::CostConstants& constants);

}  // namespace peraxis::plan
