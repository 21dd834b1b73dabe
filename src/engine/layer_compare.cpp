// See layer_compare.hpp.
#include "engine/layer_compare.hpp"

#include <algorithm>

#include "device/open.hpp"
#include "engine/facts.hpp"

namespace peraxis::engine {
namespace {

exe::LayerPlan plan_of(const std::vector<exe::LayerPlan>& layers, const ir::Graph& graph, size_t op) {
  for (const exe::LayerPlan& layer : layers)
    if (layer.op == static_cast<int32_t>(op)) return layer;
  exe::LayerPlan cpu;
  cpu.op = static_cast<int32_t>(op);
  cpu.device = "cpu";
  cpu.macs = op_macs(graph, op);
  return cpu;
}

// The operators whose work the tasks of `op` do, the last one's output being theirs.
std::vector<size_t> operators_of(const plan::Plan& plan, size_t op) {
  for (const plan::LayerPlan& layer : plan.layers)
    if (layer.op == op && layer.sum >= 0) return {op, layer.last_op()};
  return {op};
}

}  // namespace

Result<TensorMap> reference_activations(const ir::Graph& graph, InputSpans inputs,
                                        const kernels::Options& options) {
  TensorMap out;
  PERAXIS_TRY(
      kernels::run_graph(graph, inputs, options, [&out](int32_t tensor, std::span<const uint8_t> values) {
        out[tensor].assign(values.begin(), values.end());
      }));
  return out;
}

Result<CompiledModel> CompiledModel::create(const ir::Graph& graph, const compiler::Options& build,
                                            const plan::Plan& plan, int threads) {
  exe::Executable executable = PERAXIS_TRY(compiler::compile(graph, build, plan));
  CompiledModel out;
  out.layers_ = executable.layers;
  out.device_ = PERAXIS_TRY(device::open_device("sim"));
  out.sink_ = std::make_shared<TensorMap*>(nullptr);
  runtime::SessionOptions options;
  options.threads = threads;
  options.observer = [sink = out.sink_](int32_t tensor, std::span<const uint8_t> values) {
    if (*sink != nullptr) (**sink)[tensor].assign(values.begin(), values.end());
  };
  out.session_ =
      PERAXIS_TRY(runtime::Session::create(std::move(executable), *out.device_, std::move(options)));
  return out;
}

Result<std::vector<std::vector<uint8_t>>> CompiledModel::run(InputSpans inputs, TensorMap* activations) {
  *sink_ = activations;
  auto outputs = session_->run(inputs);
  *sink_ = nullptr;
  return outputs;
}

std::optional<Difference> compare_tensor(const ir::Graph& graph, int32_t tensor, const TensorMap& got,
                                         const TensorMap& want) {
  const auto a = got.find(tensor), b = want.find(tensor);
  if (a == got.end() || b == want.end() || a->second.size() != b->second.size()) return std::nullopt;
  return difference(graph.tensor(tensor).type, a->second, b->second);
}

std::optional<Difference> compare_outputs(const ir::Graph& graph, size_t op, const TensorMap& got,
                                          const TensorMap& want) {
  std::optional<Difference> total;
  for (const int32_t output : graph.ops[op].outputs)
    if (const auto one = compare_tensor(graph, output, got, want)) {
      if (!total) total.emplace();
      total->add(*one);
    }
  return total;
}

Result<LayerComparison> compare_isolated(const ir::Graph& graph, size_t op, const TensorMap& reference,
                                         const compiler::Options& build, const plan::Plan& plan,
                                         int threads) {
  LayerComparison out;
  out.op = op;
  const bool convolution = ir::is_convolution_like(graph.ops[op].kind);
  const bool on_device = plan.runs_on_device(op);
  if (!convolution && (!on_device || plan.part_of(op) >= 0 || plan.sum_of(op) >= 0)) {
    out.plan = plan_of({}, graph, op);
    // Its output is nowhere, or compared with the convolution that writes it: nothing to compare.
    if (on_device) out.plan.device = "npu";
    return out;
  }
  const std::vector<size_t> ops = operators_of(plan, op);
  const ir::Graph alone = compiler::extract_operators(graph, ops);
  const plan::Plan single = plan::plan_of_operator(plan, op);
  exe::Executable executable = PERAXIS_TRY(compiler::compile(alone, build, single));
  out.plan = plan_of(executable.layers, alone, 0);
  out.plan.op = static_cast<int32_t>(op);
  if (on_device) {
    out.plan.device = "npu";
    out.plan.tasks = static_cast<int32_t>(executable.tasks.size());
  }
  if (out.plan.device != "npu") return out;

  std::vector<std::span<const uint8_t>> inputs;
  for (const int32_t tensor : alone.inputs) {
    const auto found = reference.find(tensor);
    if (found == reference.end())
      return fail(ErrorCode::Internal, "{}: the reference run has no tensor {}", graph.op_label(op), tensor);
    inputs.emplace_back(found->second);
  }
  const Execution run = PERAXIS_TRY(run_on_device("sim", std::move(executable), inputs, threads));
  TensorMap got;
  for (size_t i = 0; i < run.outputs.size(); ++i) got[alone.outputs[i]] = run.outputs[i];
  out.isolated = compare_outputs(graph, ops.back(), got, reference);
  return out;
}

}  // namespace peraxis::engine
