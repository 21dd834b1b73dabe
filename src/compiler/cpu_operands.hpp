// Where a CPU operator takes its operands and leaves its results: on the host as dense arrays, or on the
// device as cubes, which the kernels read and write too (kernels/view.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.hpp"
#include "kernels/view.hpp"
#include "plan/planner.hpp"

namespace peraxis::compiler {

// A logical [h][w][c] view of a tensor on the device. A surface keeps its pixels one behind the other, so
// rows and columns may be cut in any way.
struct View {
  int64_t h = 0, w = 0, c = 0;
  bool operator==(const View& other) const { return h * w == other.h * other.w && c == other.c; }
};
View view_of(const ir::Tensor& tensor);

// By tensor: the view under which operators of the NPU read it. None when there are none, when they want
// different views, or when the tensor has no cube.
std::vector<std::optional<View>> views_read_on_npu(const ir::Graph& graph, const plan::Plan& plan);

// Which operands of a CPU operator are cubes. The best that its kernel takes: inputs and outputs, else inputs
// alone, else outputs alone, else none.
struct CubeOperands {
  bool inputs = false, outputs = false;
};
// One layout an operand, as cubes where there are any.
CubeOperands choose_operands(const ir::Graph& graph, size_t op, const std::vector<kernels::Layout>& inputs,
                             const std::vector<kernels::Layout>& outputs);

}  // namespace peraxis::compiler
