// See execute.hpp.
#include "cli/execute.hpp"

#include <unistd.h>

#include <memory>

#include "base/progress.hpp"
#include "cli/facts.hpp"
#include "cli/output.hpp"
#include "device/open.hpp"
#include "runtime/session.hpp"

namespace peraxis::cli {
namespace {

// `observer`, and a count of the activations that came by. An observed run copies every activation once, so
// without a terminal to draw on nothing is added.
Observer with_progress(const Observer& observer, int64_t operators, base::Progress& progress) {
  if (operators == 0 || ::isatty(STDERR_FILENO) != 1) return observer;
  return [observer, &progress, done = int64_t{0}](int32_t tensor, std::span<const uint8_t> values) mutable {
    progress.update(done++);
    if (observer) observer(tensor, values);
  };
}

}  // namespace

Result<compiler::Compiled> compile_with_progress(const ir::Graph& graph, compiler::Options options) {
  base::Progress progress("compiling operators", static_cast<int64_t>(graph.ops.size()));
  options.progress = [&progress](int64_t done, int64_t) { progress.update(done); };
  const plan::PlannerOptions planning = PERAXIS_TRY(compiler::planner_options(options));
  const plan::Plan plan = PERAXIS_TRY(plan::make_plan(graph, planning));
  return compiler::compile_measured(graph, options, plan);
}

Result<Execution> run_on_cpu(const ir::Graph& graph, InputSpans inputs, const kernels::Options& options,
                             const Observer& observer, int64_t operators) {
  Execution out;
  out.device = "cpu";
  const double start = now_ms();
  {
    base::Progress progress("running operators", operators);
    out.outputs =
        PERAXIS_TRY(kernels::run_graph(graph, inputs, options, with_progress(observer, operators, progress)));
  }
  out.run_ms = out.cpu_ms = milliseconds_since(start);
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
                                int threads, const Observer& observer, int64_t operators) {
  Execution out;
  out.device = device_name;
  out.layers = executable.layers;
  const std::unique_ptr<device::Device> device = PERAXIS_TRY(device::open_device(device_name));
  runtime::SessionOptions options;
  options.threads = threads;
  base::Progress progress("running operators", operators);
  options.observer = with_progress(observer, operators, progress);
  const std::unique_ptr<runtime::Session> session =
      PERAXIS_TRY(runtime::Session::create(std::move(executable), *device, options));
  const double start = now_ms();
  out.outputs = PERAXIS_TRY(session->run(inputs));
  out.run_ms = milliseconds_since(start);
  const runtime::RunCounters& counters = session->counters();
  out.tasks = counters.tasks;
  out.macs = counters.macs;
  out.cpu_ms = counters.cpu_ms;
  out.npu_ms = counters.device_ms;
  out.upload_bytes = counters.upload_bytes;
  out.upload_ms = counters.upload_ms;
  return out;
}

}  // namespace peraxis::cli
