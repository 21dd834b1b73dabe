// What goes into a compilation and out of it beside the executable: the planner's options, records of plans,
// single operators as graphs.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/compile.hpp"
#include "exe/names.hpp"

namespace peraxis::compiler {

using requant::Strategy;

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy strategy : requant::all_strategies())
    names.emplace_back(requant::strategy_name(strategy));
  return names;
}

exe::LayerPlan layer_record(const plan::LayerPlan& layer) {
  exe::LayerPlan out;
  out.op = static_cast<int32_t>(layer.op);
  out.device = layer.on_npu() ? "npu" : "cpu";
  out.reason = layer.on_npu() ? layer.reason : layer.refusal;
  out.macs = layer.geometry.macs();
  if (!layer.on_npu()) return out;
  out.strategy = requant::strategy_name(layer.params.strategy);
  out.tasks = static_cast<int32_t>(layer.cost.tasks);
  out.every_reading = layer.certificate.every_reading;
  for (const requant::ChannelCertificate& channel : layer.certificate.channels)
    out.certificate.push_back({channel.acc_min, channel.acc_max, channel.differing, channel.max});
  return out;
}

namespace {

const requant::LayerCertificate& sum_certificate(const plan::Plan& plan, int32_t convolution) {
  return std::ranges::find(plan.layers, static_cast<size_t>(convolution), &plan::LayerPlan::op)->certificate;
}

}  // namespace

std::vector<exe::OperatorPlan> operator_records(const ir::Graph& graph, const plan::Plan& plan) {
  std::vector<exe::OperatorPlan> out;
  const std::vector<bool> dead = ir::dead_operators(graph);
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (ir::is_convolution_like(graph.ops[op].kind) || dead[op]) continue;
    const bool npu = plan.runs_on_device(op);
    const int32_t whole = plan.part_of(op), sum = plan.sum_of(op);
    std::string reason;
    if (whole >= 0)
      reason = fmt::format("computed by the tasks of operator {}", whole);
    else if (sum >= 0)
      reason =
          fmt::format("computed by the tasks of operator {}, at most {} from the reference's two operators",
                      sum, sum_certificate(plan, sum).max());
    else if (op < plan.refusals.size())
      reason = plan.refusals[op];
    out.push_back({static_cast<int32_t>(op), npu ? "npu" : "cpu", std::move(reason)});
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
  plan::PlannerOptions out;
  if (options.strategy != "auto") {
    out.forced = requant::strategy_from_name(options.strategy);
    if (!out.forced)
      return fail(ErrorCode::InvalidArgument, "strategy '{}' is not known; there are: auto, {}",
                  options.strategy, fmt::join(strategy_names(), ", "));
  }
  out.exact = options.accuracy == Accuracy::Exact && !out.forced;
  out.max_mismatch = options.max_mismatch;
  out.reference = options.reference;
  out.strategy_options = options.strategy_options;
  out.cost = options.cost;
  out.limits = {options.max_tile_rows, options.max_task_channels};
  out.histograms = options.histograms;
  out.seen_operands = options.seen_operands;
  out.convolutions_only = options.convolutions_only;
  out.tables = options.tables;
  out.fused_adds = options.fused_adds;
  out.ppu = options.ppu;
  out.prefer_npu = options.prefer_npu || options.no_fallback;
  // Mesa makes a cube of every picture: its strategy is for words beside its own.
  out.packed_input = options.packed_input && out.forced != Strategy::MesaScale;
  out.progress = options.progress;
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
