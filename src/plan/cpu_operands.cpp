#include "plan/cpu_operands.hpp"

#include <algorithm>

#include "ir/operands.hpp"
#include "lower/device_op.hpp"
#include "plan/device_tensors.hpp"

namespace peraxis::plan {
namespace {

bool has_cubes(const ir::Tensor& t) {
  return !t.is_constant && (t.type == ir::DataType::Int8 || t.type == ir::DataType::UInt8) &&
         t.quant.scale.size() == 1 && t.quant.zero_point.size() == 1;
}

}  // namespace

std::vector<std::optional<program::Map>> views_read_on_npu(const ir::Graph& graph, const Plan& plan) {
  std::vector<std::optional<program::Map>> views(graph.tensors.size());
  std::vector<bool> refused(graph.tensors.size());
  const auto note = [&](int32_t tensor, const program::Map& view) {
    const auto t = static_cast<size_t>(tensor);
    const bool all = view.h * view.w * view.c == graph.tensor(tensor).elements();
    if (!has_cubes(graph.tensor(tensor)) || !all || (views[t] && !views[t]->same_as(view))) refused[t] = true;
    views[t] = view;
  };
  for (const LayerPlan& layer : plan.layers) {
    const lower::Geometry& g = layer.geometry;
    if (layer.on_npu()) note(ir::conv_operands(graph.ops[layer.op]).input, {g.in_rows(), g.in_w, g.in_c});
  }
  const std::vector<bool> dead = ir::dead_operators(graph);
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (dead[op] || ir::is_convolution_like(graph.ops[op].kind) || !plan.runs_on_device(op) ||
        plan.part_of(op) >= 0)
      continue;
    for (const int32_t t : lower::device_inputs(graph, op, plan.forms[op])) note(t, view_of(graph.tensor(t)));
  }
  for (size_t t = 0; t < views.size(); ++t)
    if (refused[t] || plan.placing.is_packed(static_cast<int32_t>(t))) views[t].reset();
  return views;
}

CubeOperands choose_operands(const ir::Graph& graph, size_t op, const std::vector<kernels::Layout>& inputs,
                             const std::vector<kernels::Layout>& outputs) {
  const auto cubes = [](const std::vector<kernels::Layout>& layouts) {
    return std::ranges::any_of(layouts, &kernels::Layout::cube);
  };
  const std::vector<kernels::Layout> dense_inputs(inputs.size()), dense_outputs(outputs.size());
  const bool in = cubes(inputs), out = cubes(outputs);
  if (in && out && kernels::takes_layouts(graph, op, inputs, outputs)) return {true, true};
  if (in && kernels::takes_layouts(graph, op, inputs, dense_outputs)) return {true, false};
  if (out && kernels::takes_layouts(graph, op, dense_inputs, outputs)) return {false, true};
  return {};
}

}  // namespace peraxis::plan
