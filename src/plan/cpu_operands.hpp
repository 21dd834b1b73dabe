// Where a CPU operator takes its operands and leaves its results: on the host as dense arrays, or on the
// device as cubes, which the kernels read and write too (kernels/view.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.hpp"
#include "kernels/view.hpp"
#include "plan/planner.hpp"
#include "program/program.hpp"

namespace peraxis::plan {

// By tensor: the view under which operators of the NPU read it. None when there are none, when they want
// different views, or when the tensor has no cube.
std::vector<std::optional<program::Map>> views_read_on_npu(const ir::Graph& graph, const Plan& plan);

// Which operands of a CPU operator are cubes. The best that its kernel takes: inputs and outputs, else inputs
// alone, else outputs alone, else none.
struct CubeOperands {
  bool inputs = false, outputs = false;
};
// One layout an operand, as cubes where there are any.
CubeOperands choose_operands(const ir::Graph& graph, size_t op, const std::vector<kernels::Layout>& inputs,
                             const std::vector<kernels::Layout>& outputs);

}  // namespace peraxis::plan
