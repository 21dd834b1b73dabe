// See run.hpp.
#include "engine/run.hpp"

#include <chrono>
#include <memory>

#include "device/open.hpp"
#include "engine/facts.hpp"
#include "runtime/session.hpp"

namespace peraxis::engine {
namespace {

// The observer, and a count of the activations that came by. An observed run copies every activation once, so
// without progress to show nothing is added.
Observer watched(const Watching& watching, size_t operators) {
  if (!watching.progress) return watching.observer;
  return [watching, total = static_cast<int64_t>(operators), done = int64_t{0}](
             int32_t tensor, std::span<const uint8_t> values) mutable {
    watching.progress(done++, total);
    if (watching.observer) watching.observer(tensor, values);
  };
}

double now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace

Result<compiler::Compiled> build(const ir::Graph& graph, compiler::Options options,
                                 const Progress& progress) {
  options.progress = progress;
  const plan::PlannerOptions planning = PERAXIS_TRY(compiler::planner_options(options));
  const plan::Plan plan = PERAXIS_TRY(plan::make_plan(graph, planning));
  return compiler::compile_measured(graph, options, plan);
}

Result<Execution> run_on_cpu(const ir::Graph& graph, InputSpans inputs, const kernels::Options& options,
                             const Watching& watching) {
  Execution out;
  out.device = "cpu";
  const double start = now_ms();
  out.outputs = PERAXIS_TRY(kernels::run_graph(graph, inputs, options, watched(watching, graph.ops.size())));
  out.run_ms = out.cpu_ms = now_ms() - start;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (!ir::is_convolution_like(graph.ops[op].kind)) continue;
    exe::LayerPlan layer;
    layer.op = static_cast<int32_t>(op);
    layer.device = "cpu";
    layer.reason = "the whole model was asked to run on the CPU";
    layer.macs = op_macs(graph, op);
    out.layers.push_back(std::move(layer));
  }
  return out;
}

Result<Execution> run_on_device(const std::string& device_name, exe::Executable executable, InputSpans inputs,
                                int threads, const Watching& watching) {
  Execution out;
  out.device = device_name;
  out.layers = executable.layers;
  const std::unique_ptr<device::Device> device = PERAXIS_TRY(device::open_device(device_name));
  runtime::SessionOptions options;
  options.threads = threads;
  options.observer = watched(watching, executable.layers.size() + executable.operators.size());
  const std::unique_ptr<runtime::Session> session =
      PERAXIS_TRY(runtime::Session::create(std::move(executable), *device, options));
  const double start = now_ms();
  out.outputs = PERAXIS_TRY(session->run(inputs));
  out.run_ms = now_ms() - start;
  const runtime::RunCounters& counters = session->counters();
  out.tasks = counters.tasks;
  out.macs = counters.macs;
  out.cpu_ms = counters.cpu_ms;
  out.npu_ms = counters.device_ms;
  out.upload_bytes = counters.upload_bytes;
  out.upload_ms = counters.upload_ms;
  return out;
}

}  // namespace peraxis::engine
