// Walks the operators in order. A tensor is on the host (dense NHWC), on the device (a cube), or both;
// uploads and downloads are inserted where an operator needs the other form. Tasks of neighbouring NPU
// operators join one chain. Addresses stay symbolic until every lifetime is known; then memory is planned
// and words are emitted.
#include "compiler/compile.hpp"

#include <algorithm>
#include <set>

#include "compiler/program.hpp"
#include "lower/convolution.hpp"
#include "requant/strategy.hpp"

namespace peraxis::compiler {
namespace {

using requant::HostWork;
using requant::Strategy;

// A logical [h][w][c] view of a tensor on the device.
struct View {
  int64_t h = 0, w = 0, c = 0;
  bool operator==(const View&) const = default;
};

struct TensorState {
  bool on_host = false;
  std::vector<std::pair<View, int32_t>> on_device;  // view, placement index
};

class Compiler {
 public:
  Compiler(const ir::Graph& graph, const Options& options, Strategy strategy)
      : graph_(graph), options_(options), strategy_(strategy), states_(graph.tensors.size()) {}

  Result<exe::Executable> run() {
    for (const int32_t t : graph_.inputs) state(t).on_host = true;
    for (size_t t = 0; t < graph_.tensors.size(); ++t)
      if (graph_.tensors[t].is_constant) states_[t].on_host = true;
    for (size_t op = 0; op < graph_.ops.size(); ++op) {
      if (options_.progress)
        options_.progress(static_cast<int64_t>(op), static_cast<int64_t>(graph_.ops.size()));
      if (Status ok = lower_op(op); !ok)
        return with_note(std::move(ok).error(), fmt::format("while compiling {}", graph_.op_label(op)));
      ++clock_;
    }
    for (const int32_t t : graph_.outputs) to_host(t);
    return finish();
  }

 private:
  TensorState& state(int32_t tensor) { return states_[static_cast<size_t>(tensor)]; }

  Status lower_op(size_t op) {
    if (!ir::is_convolution_like(graph_.ops[op].kind)) {
      run_on_cpu(op);
      return {};
    }
    const std::string refusal = lower::npu_refusal(graph_, op);
    if (refusal.empty()) return lower_npu(op);
    if (options_.no_fallback)
      return fail(ErrorCode::Unsupported, "{} would run on the CPU: {}", graph_.op_label(op), refusal);
    run_on_cpu(op);
    plan_.layers.push_back(
        {static_cast<int32_t>(op), "cpu", "", refusal, 0, lower::geometry(graph_, op).macs()});
    return {};
  }

  void run_on_cpu(size_t op_index) {
    const ir::Op& op = graph_.ops[op_index];
    for (const int32_t t : op.inputs) {
      if (t == ir::kAbsent) continue;
      if (graph_.tensor(t).is_constant)
        cpu_constants_.insert(t);
      else
        to_host(t);
    }
    exe::Step step;
    step.kind = exe::StepKind::Cpu;
    step.op = static_cast<int32_t>(op_index);
    plan_.steps.push_back(step);
    for (const int32_t t : op.outputs) state(t).on_host = true;
  }

  void to_host(int32_t tensor) {
    TensorState& s = state(tensor);
    if (s.on_host || s.on_device.empty()) return;
    plan_.steps.push_back(placement_step(exe::StepKind::Download, s.on_device.front().second));
    s.on_host = true;
  }

  exe::Step placement_step(exe::StepKind kind, int32_t placement) {
    exe::Step step;
    step.kind = kind;
    step.placement = placement;
    plan_.memory.touch(plan_.placement_allocations[static_cast<size_t>(placement)], clock_);
    return step;
  }

  int32_t add_placement(int32_t tensor, const View& view, int32_t allocation, int64_t slots) {
    const ir::Tensor& t = graph_.tensor(tensor);
    exe::Placement placement;
    placement.tensor = tensor;
    placement.cube = {kActivationBuffer, 0, view.h, view.w, slots, 1};
    placement.c = view.c;
    placement.is_uint8 = t.type == ir::DataType::UInt8;
    placement.zero_point = static_cast<int32_t>(t.quant.zero_point[0]) - (placement.is_uint8 ? 128 : 0);
    plan_.placements.push_back(placement);
    plan_.placement_allocations.push_back(allocation);
    const auto index = static_cast<int32_t>(plan_.placements.size() - 1);
    state(tensor).on_device.emplace_back(view, index);
    return index;
  }

  int32_t to_device(int32_t tensor, const View& view) {
    for (const auto& [have, placement] : state(tensor).on_device)
      if (have == view) return placement;
    to_host(tensor);
    const int64_t slots = lower::round_up(view.c, 16);
    const int32_t allocation = plan_.memory.add_activation(view.h * view.w * slots);
    const int32_t placement = add_placement(tensor, view, allocation, slots);
    plan_.steps.push_back(placement_step(exe::StepKind::Upload, placement));
    return placement;
  }

  Result<requant::LayerParams> parameters(const requant::Layer& layer, std::string& reason) {
    Result<requant::LayerParams> params =
        requant::choose_parameters(layer, strategy_, options_.strategy_options);
    if (params || params.error().code != ErrorCode::Unsupported) return params;
    reason =
        fmt::format("{} cannot express it: {}", requant::strategy_name(strategy_), params.error().message);
    return requant::choose_parameters(layer, Strategy::Exact);
  }

  Status lower_npu(size_t op_index) {
    const ir::Op& op = graph_.ops[op_index];
    const lower::Geometry g = lower::geometry(graph_, op_index);
    const requant::Layer layer = PERAXIS_TRY(requant::describe(graph_, op_index, options_.reference));
    std::string reason;
    const requant::LayerParams params = PERAXIS_TRY(parameters(layer, reason));
    const int32_t input = to_device(op.inputs[0], {g.in_h, g.in_w, g.in_c});
    const int32_t input_allocation = plan_.placement_allocations[static_cast<size_t>(input)];
    const lower::TileLimits limits{options_.max_tile_rows, options_.max_task_channels};
    const lower::LoweredLayer lowered = PERAXIS_TRY(
        lower::lower_convolution(graph_, op_index, layer, params, input_allocation, limits, plan_.memory));
    plan_.memory.touch(input_allocation, clock_);
    for (const lower::Region& region : lowered.regions) plan_.memory.touch(region.allocation, clock_);
    add_tasks(op_index, g, lowered);
    finish_layer(op_index, g, layer, params, lowered);
    plan_.layers.push_back({static_cast<int32_t>(op_index), "npu", requant::strategy_name(params.strategy),
                            reason, static_cast<int32_t>(lowered.tasks.size()), g.macs()});
    return {};
  }

  void add_tasks(size_t op, const lower::Geometry& g, const lower::LoweredLayer& lowered) {
    if (plan_.steps.empty() || plan_.steps.back().kind != exe::StepKind::Job) {
      exe::Step step;
      step.kind = exe::StepKind::Job;
      step.first_task = static_cast<int32_t>(plan_.tasks.size());
      plan_.steps.push_back(step);
    }
    plan_.steps.back().task_count += static_cast<int32_t>(lowered.tasks.size());
    for (const lower::LoweredTask& task : lowered.tasks) {
      exe::Task info;
      info.op = static_cast<int32_t>(op);
      info.kind = task.shape == lower::TaskShape::Direct      ? exe::TaskKind::Direct
                  : task.shape == lower::TaskShape::Depthwise ? exe::TaskKind::Depthwise
                                                              : exe::TaskKind::BlockDiagonal;
      info.first_row = static_cast<int32_t>(task.rows.first);
      info.rows = static_cast<int32_t>(task.rows.rows);
      info.real_input_channels = static_cast<int32_t>(g.in_c);
      info.real_output_channels = task.real_output_channels;
      info.set = task.set;
      plan_.tasks.push_back({info, task.task});
    }
  }

  // The output tensor: written by the tasks themselves, or made by a host step from their cubes.
  void finish_layer(size_t op_index, const lower::Geometry& g, const requant::Layer& layer,
                    const requant::LayerParams& params, const lower::LoweredLayer& lowered) {
    const int32_t output = graph_.ops[op_index].outputs[0];
    const View view{g.out_h, g.out_w, g.out_c};
    if (params.host == HostWork::None) {
      add_placement(output, view, lowered.regions[0].allocation, lowered.regions[0].slots);
      return;
    }
    const int64_t slots = lower::round_up(g.out_c, 16);
    const int32_t placement =
        add_placement(output, view, plan_.memory.add_activation(g.out_h * g.out_w * slots), slots);
    exe::HostStep host;
    host.op = static_cast<int32_t>(op_index);
    for (const lower::Region& region : lowered.regions) {
      host.regions.push_back({kActivationBuffer, 0, region.h, region.w, region.slots, region.element_bytes});
      plan_.host_regions.push_back(region.allocation);
    }
    host.rounding = static_cast<exe::Rounding>(layer.rounding);
    host.zero_point = layer.z_out;
    host.low = layer.low;
    host.high = layer.high;
    for (size_t c = 0; c < layer.channels.size(); ++c) {
      const lower::ChannelSource& source = lowered.channels[c];
      exe::HostChannel channel;
      channel.region = source.region;
      channel.slot = source.slot;
      if (params.host == HostWork::Requantize) {
        channel.addend = layer.channels[c].addend;
        channel.sum_slot = source.sum_slot;
        channel.sum_factor = source.sum_slot >= 0 ? -layer.z_w : 0;
        channel.mantissa = layer.channels[c].fixed.mantissa;
        channel.exponent = layer.channels[c].fixed.exponent;
        channel.multiplier = layer.channels[c].multiplier;
      } else if (params.host == HostWork::Correct) {
        channel.multiplier = params.correction[c];
      }
      host.channels.push_back(channel);
    }
    exe::Step step = placement_step(params.host == HostWork::Gather       ? exe::StepKind::Gather
                                    : params.host == HostWork::Requantize ? exe::StepKind::Requantize
                                                                          : exe::StepKind::Correct,
                                    placement);
    step.op = host.op;
    step.host_step = static_cast<int32_t>(plan_.host_steps.size());
    plan_.host_steps.push_back(std::move(host));
    plan_.steps.push_back(step);
  }

  Result<exe::Executable> finish() {
    exe::Executable out = PERAXIS_TRY(assemble(std::move(plan_)));
    out.target = options_.target;
    out.compiler = "peraxis 0.1.0";
    out.model = graph_.name;
    out.model_hash = options_.model_hash;
    out.accuracy = options_.accuracy == Accuracy::Exact ? "exact" : "fast";
    out.reference = options_.reference == num::Reference::LitertRef ? "litert-ref" : "single-rounding";
    out.strategy = requant::strategy_name(strategy_);
    out.graph = ir::print(graph_);
    for (const int32_t t : cpu_constants_) out.constants.push_back({t, graph_.tensor(t).data});
    PERAXIS_TRY_NOTE(exe::verify(out), "in an executable this compiler made");
    return out;
  }

  const ir::Graph& graph_;
  const Options& options_;
  const Strategy strategy_;
  std::vector<TensorState> states_;
  std::set<int32_t> cpu_constants_;
  ProgramPlan plan_;
  int32_t clock_ = 0;
};

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy strategy : requant::all_strategies())
    names.emplace_back(requant::strategy_name(strategy));
  return names;
}

Result<exe::Executable> compile(const ir::Graph& graph, const Options& options) {
  if (options.target != "rk3588")
    return fail(ErrorCode::InvalidArgument, "target '{}' is not known; this version has: rk3588",
                options.target);
  Strategy strategy = options.accuracy == Accuracy::Exact ? Strategy::Exact : Strategy::HwMultiply;
  if (options.strategy != "auto") {
    const auto named = requant::strategy_from_name(options.strategy);
    if (!named)
      return fail(ErrorCode::InvalidArgument, "strategy '{}' is not known; there are: auto, {}",
                  options.strategy, fmt::join(strategy_names(), ", "));
    strategy = *named;
  }
  return Compiler(graph, options, strategy).run();
}

ir::Graph extract_operator(const ir::Graph& graph, size_t op_index) {
  const ir::Op& op = graph.ops[op_index];
  ir::Graph out;
  out.name = fmt::format("{}/{}", graph.name, op_index);
  out.tensors.resize(graph.tensors.size());
  auto keep = [&](int32_t t) { out.tensors[static_cast<size_t>(t)] = graph.tensor(t); };
  for (const int32_t t : op.inputs) {
    if (t == ir::kAbsent) continue;
    keep(t);
    if (!graph.tensor(t).is_constant &&
        std::find(out.inputs.begin(), out.inputs.end(), t) == out.inputs.end())
      out.inputs.push_back(t);
  }
  for (const int32_t t : op.outputs) {
    keep(t);
    out.outputs.push_back(t);
  }
  out.ops.push_back(op);
  return out;
}

}  // namespace peraxis::compiler
