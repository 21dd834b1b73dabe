// What goes into a compilation and out of it beside the executable: the planner's options, records of plans,
// single operators as graphs.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/compile.hpp"
#include "exe/names.hpp"

namespace peraxis::compiler {

using program::Variant;
using requant::Strategy;

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy strategy : requant::all_strategies())
    names.emplace_back(requant::strategy_name(strategy));
  return names;
}

std::vector<exe::LayerPlan> layer_records(const ir::Graph& graph,
                                          const std::vector<program::Operator>& operators) {
  std::vector<exe::LayerPlan> out;
  for (size_t op = 0; op < operators.size(); ++op) {
    const program::Operator& chosen = operators[op];
    if (!ir::is_convolution_like(graph.ops[op].kind) || chosen.variant == Variant::Unused) continue;
    exe::LayerPlan& layer = out.emplace_back();
    layer.op = static_cast<int32_t>(op);
    layer.device = chosen.variant == Variant::Cpu ? "cpu" : "npu";
    layer.reason = chosen.reason;
    layer.macs = lower::geometry(graph, op).macs();
    if (chosen.variant == Variant::Cpu) continue;
    layer.strategy = chosen.strategy;
    layer.tasks = static_cast<int32_t>(chosen.cost.tasks);
    layer.every_reading = chosen.certificate.every_reading;
    for (const program::ChannelCertificate& channel : chosen.certificate.channels)
      layer.certificate.push_back({channel.acc_min, channel.acc_max, channel.differing, channel.max});
  }
  return out;
}

std::vector<exe::OperatorPlan> operator_records(const ir::Graph& graph,
                                                const std::vector<program::Operator>& operators) {
  std::vector<exe::OperatorPlan> out;
  for (size_t op = 0; op < operators.size(); ++op) {
    const program::Operator& chosen = operators[op];
    if (ir::is_convolution_like(graph.ops[op].kind) || chosen.variant == Variant::Unused) continue;
    std::string reason = chosen.reason;
    if (chosen.variant == Variant::Part)
      reason = fmt::format("computed by the tasks of operator {}", chosen.by);
    else if (chosen.variant == Variant::Sum)
      reason =
          fmt::format("computed by the tasks of operator {}, at most {} from the reference's two operators",
                      chosen.by, operators[static_cast<size_t>(chosen.by)].certificate.max);
    out.push_back(
        {static_cast<int32_t>(op), chosen.variant == Variant::Cpu ? "cpu" : "npu", std::move(reason)});
  }
  return out;
}

Result<plan::PlannerOptions> planner_options(const Options& options) {
  if (std::ranges::find(exe::target_names(), options.target) == exe::target_names().end())
    return fail(ErrorCode::InvalidArgument, "target '{}' is not known; this version has: {}", options.target,
                exe::listed(exe::target_names()));
  if (options.max_mismatch && !(*options.max_mismatch >= 0 && *options.max_mismatch <= 1))
    return fail(ErrorCode::InvalidArgument, "the share of outputs that may differ is {}, expected 0 to 1",
                *options.max_mismatch);
  plan::PlannerOptions out = options;
  out.forced.reset();
  if (options.strategy != "auto") {
    out.forced = requant::strategy_from_name(options.strategy);
    if (!out.forced)
      return fail(ErrorCode::InvalidArgument, "strategy '{}' is not known; there are: auto, {}",
                  options.strategy, fmt::join(strategy_names(), ", "));
  }
  out.exact = options.accuracy == Accuracy::Exact && !out.forced;
  out.prefer_npu = options.prefer_npu || options.no_fallback;
  // Mesa makes a cube of every picture: its strategy is for words beside its own.
  out.packed_input = options.packed_input && out.forced != Strategy::MesaScale;
  return out;
}

ir::Graph extract_operator(const ir::Graph& graph, size_t op) {
  const size_t ops[] = {op};
  return extract_operators(graph, ops);
}

ir::Graph extract_operators(const ir::Graph& graph, std::span<const size_t> ops) {
  ir::Graph out;
  out.name = fmt::format("{}/{}", graph.name, ops.front());
  out.tensors.resize(graph.tensors.size());
  auto keep = [&](int32_t t) { out.tensors[static_cast<size_t>(t)] = graph.tensor(t); };
  const auto made = [&](int32_t t) {
    return std::ranges::any_of(out.ops,
                               [&](const ir::Op& op) { return std::ranges::count(op.outputs, t) > 0; });
  };
  for (const size_t index : ops) {
    const ir::Op& op = graph.ops[index];
    for (const int32_t t : op.inputs) {
      if (t == ir::kAbsent) continue;
      keep(t);
      if (!graph.tensor(t).is_constant && !made(t) && std::ranges::count(out.inputs, t) == 0)
        out.inputs.push_back(t);
    }
    for (const int32_t t : op.outputs) keep(t);
    out.ops.push_back(op);
  }
  out.outputs = graph.ops[ops.back()].outputs;
  return out;
}

}  // namespace peraxis::compiler
