// The session: everything a run needs is settled in create(), so that run() is one walk over the steps.
// Host arrays live from the step that writes them to the last that reads them; the device's buffers live as
// long as the session. Only the bytes a step touches are synchronized with the device.
#include "runtime/session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kernels/view.hpp"
#include "runtime/check.hpp"
#include "runtime/layout.hpp"
#include "runtime/program.hpp"

namespace peraxis::runtime {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(double& total_ms) : total_ms_(total_ms) {}
  ~Stopwatch() {
    total_ms_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_ms_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class SessionImpl final : public Session {
 public:
  SessionImpl(std::shared_ptr<const Program> program, std::vector<device::Buffer> buffers,
              SessionOptions options)
      : program_(std::move(program)),
        executable_(program_->executable()),
        graph_(program_->graph()),
        buffers_(std::move(buffers)),
        device_(program_->device()),
        options_(std::move(options)),
        reference_(reference_of(executable_)),
        arrays_(graph_.tensors.size()),
        reported_(graph_.tensors.size(), false) {
    reset_states();
    if (options_.threads > 1) pool_ = std::make_unique<base::ThreadPool>(options_.threads);
  }

  const ir::Graph& graph() const override { return graph_; }
  const RunCounters& counters() const override { return counters_; }
  void reset_states() override {
    states_.clear();
    for (const ir::KeptState& state : graph_.states)
      states_.push_back(ir::initial_state(graph_.tensor(state.before)));
  }
  Result<std::vector<std::vector<uint8_t>>> run(std::span<const std::span<const uint8_t>> inputs) override;

 private:
  Status bind_inputs(std::span<const std::span<const uint8_t>> inputs);
  Status run_step(size_t index);
  Status run_cpu(const exe::Step& step);
  Status run_upload(const exe::Step& step);
  Status run_download(const exe::Step& step);
  Status run_host_step(const exe::Step& step);
  Status run_job(const exe::Step& step);
  Status run_tasks(int32_t first, int32_t count);
  void count_macs(std::span<const exe::Task> tasks, const device::Fence& fence);
  Status observe_complete(size_t step);
  Status observe_cube(int32_t placement);
  void observe_array(int32_t tensor);
  void drop_arrays() {
    for (std::vector<uint8_t>& array : arrays_) std::vector<uint8_t>().swap(array);
  }

  const exe::Placement& placement(int32_t index) const {
    return executable_.placements[static_cast<size_t>(index)];
  }
  std::vector<uint8_t>& array(int32_t tensor) { return arrays_[static_cast<size_t>(tensor)]; }
  std::span<uint8_t> cube_span(const exe::Cube& cube) const {
    return buffers_[static_cast<size_t>(cube.buffer)].bytes.subspan(static_cast<size_t>(cube.offset),
                                                                    static_cast<size_t>(cube_bytes(cube)));
  }
  std::span<uint8_t> place_span(const exe::Placement& p) const {
    return buffers_[static_cast<size_t>(p.cube.buffer)].bytes.subspan(
        static_cast<size_t>(p.cube.offset), static_cast<size_t>(placement_bytes(p)));
  }
  Status sync_to(const exe::Placement& p) {
    return device_.end_cpu_access(buffers_[static_cast<size_t>(p.cube.buffer)], p.cube.offset,
                                  placement_bytes(p));
  }
  Status sync_from(const exe::Placement& p) {
    return device_.begin_cpu_access(buffers_[static_cast<size_t>(p.cube.buffer)], p.cube.offset,
                                    placement_bytes(p));
  }
  Status sync_from(const exe::Cube& cube) {
    return device_.begin_cpu_access(buffers_[static_cast<size_t>(cube.buffer)], cube.offset,
                                    cube_bytes(cube));
  }

  std::shared_ptr<const Program> program_;
  const exe::Executable& executable_;  // parts of the program
  const ir::Graph& graph_;
  std::vector<device::Buffer> buffers_;
  device::Device& device_;
  SessionOptions options_;
  num::Reference reference_;
  std::vector<std::vector<uint8_t>> arrays_;  // by tensor, empty while there is none
  std::vector<bool> reported_;                // by tensor: the observer has seen it in this run
  std::vector<std::vector<uint8_t>> states_;  // in the order of the graph's
  RunCounters counters_;
  std::unique_ptr<base::ThreadPool> pool_;  // none for one thread
};

Status SessionImpl::bind_inputs(std::span<const std::span<const uint8_t>> inputs) {
  if (inputs.size() != graph_.inputs.size())
    return fail(ErrorCode::InvalidArgument, "the model has {} inputs, {} were given", graph_.inputs.size(),
                inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Tensor& tensor = graph_.tensor(graph_.inputs[i]);
    if (static_cast<int64_t>(inputs[i].size()) != tensor.bytes())
      return fail(ErrorCode::InvalidArgument, "input {} '{}' takes {} bytes, {} were given", i, tensor.name,
                  tensor.bytes(), inputs[i].size());
    array(graph_.inputs[i]).assign(inputs[i].begin(), inputs[i].end());
    observe_array(graph_.inputs[i]);
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    array(graph_.states[i].before) = states_[i];
    observe_array(graph_.states[i].before);
  }
  return {};
}

Result<std::vector<std::vector<uint8_t>>> SessionImpl::run(std::span<const std::span<const uint8_t>> inputs) {
  counters_ = {};
  reported_.assign(graph_.tensors.size(), false);
  drop_arrays();
  PERAXIS_TRY(bind_inputs(inputs));
  for (size_t i = 0; i < executable_.steps.size(); ++i) {
    PERAXIS_TRY(run_step(i));
    for (const int32_t tensor : executable_.steps[i].edges.frees) std::vector<uint8_t>().swap(array(tensor));
  }
  std::vector<std::vector<uint8_t>> outputs;
  for (const int32_t tensor : graph_.outputs)
    outputs.push_back(graph_.tensor(tensor).is_constant ? graph_.tensor(tensor).data : array(tensor));
  for (size_t i = 0; i < states_.size(); ++i) states_[i] = std::move(array(graph_.states[i].after));
  drop_arrays();
  return outputs;
}

Status SessionImpl::run_step(size_t index) {
  const exe::Step& step = executable_.steps[index];
  switch (step.kind) {
    case exe::StepKind::Cpu:
      PERAXIS_TRY(run_cpu(step));
      return observe_complete(index);
    case exe::StepKind::Upload:
      PERAXIS_TRY(run_upload(step));
      return observe_complete(index);
    case exe::StepKind::Download:
      return run_download(step);
    case exe::StepKind::Job:
      return run_job(step);
    case exe::StepKind::Gather:
    case exe::StepKind::Requantize:
    case exe::StepKind::Correct:
      break;
  }
  PERAXIS_TRY(run_host_step(step));
  return observe_complete(index);
}

Status SessionImpl::observe_complete(size_t step) {
  for (const exe::Completion& done : executable_.steps[step].edges.completes)
    PERAXIS_TRY(observe_cube(done.placement));
  return {};
}

Status SessionImpl::run_cpu(const exe::Step& step) {
  const Stopwatch watch(counters_.cpu_ms);
  const ir::Op& op = graph_.ops[static_cast<size_t>(step.op)];
  std::vector<kernels::InputView> inputs(op.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t tensor = op.inputs[i];
    if (tensor == ir::kAbsent) continue;
    if (!step.inputs.empty() && step.inputs[i] >= 0) {
      const exe::Placement& from = placement(step.inputs[i]);
      PERAXIS_TRY(sync_from(from));
      inputs[i] = {cube_span(from.cube), kernel_layout(from)};
    } else {
      inputs[i].bytes = graph_.tensor(tensor).is_constant
                            ? std::span<const uint8_t>(graph_.tensor(tensor).data)
                            : std::span<const uint8_t>(array(tensor));
    }
  }
  std::vector<kernels::OutputView> outputs(op.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int32_t tensor = op.outputs[i];
    if (!step.outputs.empty() && step.outputs[i] >= 0) {
      const exe::Placement& to = placement(step.outputs[i]);
      outputs[i] = {cube_span(to.cube), kernel_layout(to)};
    } else {
      array(tensor).resize(static_cast<size_t>(graph_.tensor(tensor).bytes()));
      outputs[i].bytes = array(tensor);
    }
  }
  kernels::Options options;
  options.reference = reference_;
  options.threads = options_.threads;
  options.pool = pool_.get();
  PERAXIS_TRY(kernels::run_op(graph_, static_cast<size_t>(step.op), inputs, outputs, options));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].layout.cube())
      PERAXIS_TRY(sync_to(placement(step.outputs[i])));
    else
      observe_array(op.outputs[i]);
  }
  return {};
}

Status SessionImpl::run_upload(const exe::Step& step) {
  const Stopwatch watch(counters_.cpu_ms), upload_watch(counters_.upload_ms);
  const exe::Placement& to = placement(step.placement);
  counters_.upload_bytes += placement_bytes(to);
  const ir::Tensor& tensor = graph_.tensor(to.tensor);
  upload(
      tensor.is_constant ? std::span<const uint8_t>(tensor.data) : std::span<const uint8_t>(array(to.tensor)),
      to, place_span(to), pool_.get());
  return sync_to(to);
}

Status SessionImpl::run_download(const exe::Step& step) {
  const Stopwatch watch(counters_.cpu_ms);
  const exe::Placement& from = placement(step.placement);
  PERAXIS_TRY(sync_from(from));
  array(from.tensor).resize(static_cast<size_t>(graph_.tensor(from.tensor).bytes()));
  download(place_span(from), from, array(from.tensor), pool_.get());
  observe_array(from.tensor);
  return {};
}

Status SessionImpl::run_host_step(const exe::Step& step) {
  const Stopwatch watch(counters_.cpu_ms);
  const exe::HostStep& host = executable_.host_steps[static_cast<size_t>(step.host_step)];
  const exe::Placement& to = placement(step.placement);
  std::vector<std::span<const uint8_t>> regions;
  for (const exe::Cube& cube : host.regions) {
    PERAXIS_TRY(sync_from(cube));
    regions.emplace_back(cube_span(cube));
  }
  if (step.kind == exe::StepKind::Gather)
    gather(host, regions, to, place_span(to), pool_.get());
  else if (step.kind == exe::StepKind::Requantize)
    requantize(host, regions, to, place_span(to), pool_.get());
  else
    correct(host, regions, to, place_span(to), pool_.get());
  return sync_to(to);
}

// With an observer a job is cut where a tensor becomes complete: a later task of the same chain may reuse the
// memory of a tensor that only the device needed. A cut chain computes the same
// (docs/hardware/pc.md#chains-and-completion).
Status SessionImpl::run_job(const exe::Step& step) {
  const int32_t end = step.first_task + step.task_count;
  int32_t first = step.first_task;
  if (options_.observer) {
    for (const exe::Completion& done : step.edges.completes) {
      if (done.task >= first) PERAXIS_TRY(run_tasks(first, done.task + 1 - first));
      first = std::max(first, done.task + 1);
      PERAXIS_TRY(observe_cube(done.placement));
    }
  }
  return first < end ? run_tasks(first, end - first) : Status{};
}

Status SessionImpl::run_tasks(int32_t first, int32_t count) {
  const std::span<const exe::Task> tasks(executable_.tasks.data() + first, static_cast<size_t>(count));
  const device::Buffer& commands = buffers_[static_cast<size_t>(*commands_buffer(executable_))];
  device::Job job{.chains = {{.tasks = {}, .core = options_.core}},
                  .reads = {},
                  .writes = {},
                  .timeout = options_.job_timeout};
  for (const exe::Task& task : tasks)
    job.chains[0].tasks.push_back(
        {static_cast<uint32_t>(commands.address + static_cast<uint64_t>(task.first_word) * 8),
         static_cast<uint32_t>(task.words)});
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].bytes.empty()) continue;
    const bool written = executable_.buffers[i].kind == exe::BufferKind::Activations;
    (written ? job.writes : job.reads).push_back(buffers_[i]);
  }
  device::FencePtr fence;
  {
    const Stopwatch watch(counters_.device_ms);
    const auto run = [&]() -> Status {
      fence = PERAXIS_TRY(device_.submit(std::move(job)));
      return fence->wait();
    };
    PERAXIS_TRY_NOTE(run(), "while running tasks {} to {} ({})", first, first + count - 1,
                     graph_.op_label(static_cast<size_t>(tasks.front().op)));
  }
  counters_.tasks += count;
  count_macs(tasks, *fence);
  return {};
}

// The model's multiplications are those of its convolutions: means that run as convolutions have none.
void SessionImpl::count_macs(std::span<const exe::Task> tasks, const device::Fence& fence) {
  const auto* seen = fence.counters();
  if (seen == nullptr || seen->empty()) counters_.macs.reset();
  if (!counters_.macs) return;
  const std::vector<device::TaskCounters>& chain = seen->front();
  for (size_t i = 0; i < tasks.size() && i < chain.size(); ++i)
    if (ir::is_convolution_like(graph_.ops[static_cast<size_t>(tasks[i].op)].kind))
      *counters_.macs += real_macs(tasks[i], chain[i]);
}

Status SessionImpl::observe_cube(int32_t index) {
  const exe::Placement& from = placement(index);
  if (!options_.observer || reported_[static_cast<size_t>(from.tensor)]) return {};
  PERAXIS_TRY(sync_from(from));
  std::vector<uint8_t> host(static_cast<size_t>(graph_.tensor(from.tensor).bytes()));
  download(place_span(from), from, host, pool_.get());
  reported_[static_cast<size_t>(from.tensor)] = true;
  options_.observer(from.tensor, host);
  return {};
}

void SessionImpl::observe_array(int32_t tensor) {
  if (!options_.observer || reported_[static_cast<size_t>(tensor)]) return;
  reported_[static_cast<size_t>(tensor)] = true;
  options_.observer(tensor, array(tensor));
}

}  // namespace

namespace {

Result<ir::Graph> checked_graph(const exe::Executable& executable) {
  PERAXIS_TRY(exe::verify(executable));
  ir::Graph graph = PERAXIS_TRY_NOTE(load_graph(executable), "in the graph of the executable");
  PERAXIS_TRY(check_against_graph(executable, graph));
  PERAXIS_TRY(check_host_arrays(executable, graph));
  return graph;
}

}  // namespace

Status check_loadable(const exe::Executable& executable) {
  PERAXIS_TRY(checked_graph(executable));
  return {};
}

Result<std::shared_ptr<const Program>> load(exe::Executable executable, device::Device& device) {
  ir::Graph graph = PERAXIS_TRY(checked_graph(executable));
  auto program = std::make_shared<Program>(std::move(executable), std::move(graph), device);
  PERAXIS_TRY(program->load_constants());
  return program;
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Program> program,
                                                 SessionOptions options) {
  std::vector<device::Buffer> buffers = PERAXIS_TRY(program->session_buffers());
  return std::make_unique<SessionImpl>(std::move(program), std::move(buffers), std::move(options));
}

Result<std::unique_ptr<Session>> Session::create(exe::Executable executable, device::Device& device,
                                                 SessionOptions options) {
  return create(PERAXIS_TRY(load(std::move(executable), device)), std::move(options));
}

}  // namespace peraxis::runtime
