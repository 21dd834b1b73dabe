// See schedule.hpp. Executables come from files, so every rule here is an error, never a check.
#include "runtime/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/layout.hpp"

namespace peraxis::runtime {
namespace {

bool is_index(int64_t index, size_t count) {
  return index >= 0 && index < static_cast<int64_t>(count);
}

constexpr int64_t kMaxSide = int64_t{1} << 24;

Status check_cube(const exe::Executable& executable, const exe::Cube& cube, int32_t element_bytes,
                  const std::string& what) {
  if (!is_index(cube.buffer, executable.buffers.size()))
    return fail(ErrorCode::InvalidModel, "{} lies in buffer {}, the executable has {}", what, cube.buffer,
                executable.buffers.size());
  if (cube.element_bytes != element_bytes)
    return fail(ErrorCode::InvalidModel, "{} has elements of {} bytes, {} are needed", what,
                cube.element_bytes, element_bytes);
  const int64_t lanes = element_bytes == 1 ? kInt8Lanes : kInt32Lanes;
  if (cube.h < 1 || cube.w < 1 || cube.channels < 1 || cube.h > kMaxSide || cube.w > kMaxSide ||
      cube.channels > kMaxSide || cube.channels % lanes != 0)
    return fail(ErrorCode::InvalidModel, "{} is {} x {} with {} channel slots; slots come in blocks of {}",
                what, cube.h, cube.w, cube.channels, lanes);
  const int64_t size = executable.buffers[static_cast<size_t>(cube.buffer)].size;
  const __int128 bytes = static_cast<__int128>(cube.h) * cube.w * cube.channels * element_bytes;
  if (cube.offset < 0 || cube.offset > size || bytes > size - cube.offset)
    return fail(ErrorCode::InvalidModel, "{} at offset {} leaves its buffer of {} bytes", what, cube.offset,
                size);
  return {};
}

Status check_packed(const exe::Executable& executable, const exe::Placement& p, const std::string& what) {
  const exe::Cube& cube = p.cube;
  if (!is_index(cube.buffer, executable.buffers.size()))
    return fail(ErrorCode::InvalidModel, "{} lies in buffer {}, the executable has {}", what, cube.buffer,
                executable.buffers.size());
  if (cube.h < 1 || cube.w < 1 || cube.h > kMaxSide || p.pitch > kMaxSide || p.pitch < cube.w || p.c < 1 ||
      p.c > exe::kMaxPackedChannels || cube.channels != p.c || !p.slot_of.empty())
    return fail(ErrorCode::InvalidModel, "{} is {} x {} packed pixels of {} bytes, {} from row to row", what,
                cube.h, cube.w, p.c, p.pitch);
  const int64_t size = executable.buffers[static_cast<size_t>(cube.buffer)].size;
  if (cube.offset < 0 || cube.offset > size || placement_bytes(p) > size - cube.offset)
    return fail(ErrorCode::InvalidModel, "{} at offset {} leaves its buffer of {} bytes", what, cube.offset,
                size);
  return {};
}

Status check_placement(const exe::Executable& executable, const ir::Graph& graph, size_t index) {
  const exe::Placement& placement = executable.placements[index];
  if (!is_index(placement.tensor, graph.tensors.size()))
    return fail(ErrorCode::InvalidModel, "placement {} names tensor {}, the graph has {}", index,
                placement.tensor, graph.tensors.size());
  const std::string what = fmt::format("the cube of tensor {}", placement.tensor);
  PERAXIS_TRY(placement.packed() ? check_packed(executable, placement, what)
                                 : check_cube(executable, placement.cube, 1, what));
  const ir::Tensor& tensor = graph.tensor(placement.tensor);
  const ir::DataType type = placement.is_uint8 ? ir::DataType::UInt8 : ir::DataType::Int8;
  if (tensor.type != type)
    return fail(ErrorCode::InvalidModel, "tensor {} is {}, its place on the device is made for {}",
                placement.tensor, ir::data_type_name(tensor.type), ir::data_type_name(type));
  if (placement.c < 1 || placement.c > placement.cube.channels ||
      placement.cube.h * placement.cube.w * placement.c != tensor.elements())
    return fail(ErrorCode::InvalidModel, "tensor {} has {} elements, its place on the device is {} x {} x {}",
                placement.tensor, tensor.elements(), placement.cube.h, placement.cube.w, placement.c);
  if (placement.zero_point < -128 || placement.zero_point > 127)
    return fail(ErrorCode::InvalidModel, "the place of tensor {} has zero point {}, outside int8",
                placement.tensor, placement.zero_point);
  return {};
}

Status check_host_channel(const exe::HostStep& step, exe::StepKind kind, size_t c) {
  const exe::HostChannel& channel = step.channels[c];
  if (!is_index(channel.region, step.regions.size()))
    return fail(ErrorCode::InvalidModel, "channel {} reads region {} of {}", c, channel.region,
                step.regions.size());
  const int64_t slots = step.regions[static_cast<size_t>(channel.region)].channels;
  if (channel.slot < 0 || channel.slot >= slots || channel.sum_slot < -1 || channel.sum_slot >= slots)
    return fail(ErrorCode::InvalidModel, "channel {} reads slots {} and {} of {}", c, channel.slot,
                channel.sum_slot, slots);
  if (kind == exe::StepKind::Gather) return {};
  if (!std::isfinite(channel.multiplier))
    return fail(ErrorCode::InvalidModel, "the multiplier of channel {} is not a finite number", c);
  constexpr int32_t kMaxExponent = 62;  // the rounding shifts of num/ take 0..62
  if (channel.exponent < -kMaxExponent || channel.exponent > kMaxExponent)
    return fail(ErrorCode::InvalidModel, "the multiplier of channel {} has exponent {}, limit {}", c,
                channel.exponent, kMaxExponent);
  constexpr int64_t kMaxAddend = int64_t{1} << 61;
  if (channel.addend < -kMaxAddend || channel.addend > kMaxAddend)
    return fail(ErrorCode::InvalidModel, "the addend {} of channel {} is beyond 2^61", channel.addend, c);
  return {};
}

Status check_host_step(const exe::Executable& executable, const exe::Step& step,
                       const exe::Placement& placement) {
  if (!is_index(step.host_step, executable.host_steps.size()))
    return fail(ErrorCode::InvalidModel, "host step {} of {}", step.host_step, executable.host_steps.size());
  const exe::HostStep& host = executable.host_steps[static_cast<size_t>(step.host_step)];
  const int32_t element_bytes = step.kind == exe::StepKind::Requantize ? 4 : 1;
  for (size_t i = 0; i < host.regions.size(); ++i) {
    PERAXIS_TRY(check_cube(executable, host.regions[i], element_bytes, fmt::format("region {}", i)));
    if (host.regions[i].h != placement.cube.h || host.regions[i].w != placement.cube.w)
      return fail(ErrorCode::InvalidModel, "region {} is {} x {}, the result is {} x {}", i,
                  host.regions[i].h, host.regions[i].w, placement.cube.h, placement.cube.w);
  }
  if (static_cast<int64_t>(host.channels.size()) != placement.c)
    return fail(ErrorCode::InvalidModel, "it lists {} channels, tensor {} has {}", host.channels.size(),
                placement.tensor, placement.c);
  if (host.low < -128 || host.high > 127 || host.low > host.high || host.zero_point < -128 ||
      host.zero_point > 127)
    return fail(ErrorCode::InvalidModel, "range {}..{} with zero point {} is outside int8", host.low,
                host.high, host.zero_point);
  for (size_t c = 0; c < host.channels.size(); ++c) PERAXIS_TRY(check_host_channel(host, step.kind, c));
  return {};
}

// One placement or -1 an operand, of the operand's tensor, where the kernel takes it.
Status check_operands(const exe::Executable& executable, const ir::Graph& graph, const exe::Step& step) {
  if (step.inputs.empty() && step.outputs.empty()) return {};
  const ir::Op& op = graph.ops[static_cast<size_t>(step.op)];
  const auto layouts = [&](const std::vector<int32_t>& places, const std::vector<int32_t>& tensors,
                           const char* what) -> Result<std::vector<kernels::Layout>> {
    if (places.size() != tensors.size())
      return fail(ErrorCode::InvalidModel, "it lists {} {}, operator {} has {}", places.size(), what, step.op,
                  tensors.size());
    std::vector<kernels::Layout> out(places.size());
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      if (!is_index(places[i], executable.placements.size()))
        return fail(ErrorCode::InvalidModel, "it uses placement {}, the executable has {}", places[i],
                    executable.placements.size());
      const exe::Placement& placement = executable.placements[static_cast<size_t>(places[i])];
      if (placement.tensor != tensors[i])
        return fail(ErrorCode::InvalidModel, "placement {} is of tensor {}, the operator's is tensor {}",
                    places[i], placement.tensor, tensors[i]);
      out[i] = kernel_layout(placement);
    }
    return out;
  };
  const auto inputs = PERAXIS_TRY(layouts(step.inputs, op.inputs, "inputs"));
  const auto outputs = PERAXIS_TRY(layouts(step.outputs, op.outputs, "outputs"));
  if (!kernels::takes_layouts(graph, static_cast<size_t>(step.op), inputs, outputs))
    return fail(ErrorCode::InvalidModel, "{} does not run on cubes that lie so",
                graph.op_label(static_cast<size_t>(step.op)));
  return {};
}

Status check_step(const exe::Executable& executable, const ir::Graph& graph, const exe::Step& step) {
  switch (step.kind) {
    case exe::StepKind::Cpu:
      if (!is_index(step.op, graph.ops.size()))
        return fail(ErrorCode::InvalidModel, "it runs operator {}, the graph has {}", step.op,
                    graph.ops.size());
      return check_operands(executable, graph, step);
    case exe::StepKind::Job:
      if (step.first_task < 0 || step.task_count < 1 ||
          int64_t{step.first_task} + step.task_count > static_cast<int64_t>(executable.tasks.size()))
        return fail(ErrorCode::InvalidModel, "it runs tasks {} to {}, the executable has {}", step.first_task,
                    int64_t{step.first_task} + step.task_count - 1, executable.tasks.size());
      return {};
    default:
      break;
  }
  if (!is_index(step.placement, executable.placements.size()))
    return fail(ErrorCode::InvalidModel, "it uses placement {}, the executable has {}", step.placement,
                executable.placements.size());
  if (step.kind == exe::StepKind::Upload || step.kind == exe::StepKind::Download) return {};
  return check_host_step(executable, step, executable.placements[static_cast<size_t>(step.placement)]);
}

// Host arrays as they come and go: present[t] is set while tensor t has one.
class HostArrays {
 public:
  explicit HostArrays(const ir::Graph& graph)
      : graph_(graph), present_(graph.tensors.size(), false), last_use_(graph.tensors.size(), -1) {
    for (const int32_t t : graph.inputs) write(t, -1);
  }

  Status read(int32_t tensor, int32_t step) {
    const ir::Tensor& t = graph_.tensor(tensor);
    if (t.is_constant) {
      if (static_cast<int64_t>(t.data.size()) != t.bytes())
        return fail(ErrorCode::InvalidModel,
                    "it reads the constant tensor {}, whose data is not in the executable", tensor);
      return {};
    }
    if (!present_[static_cast<size_t>(tensor)])
      return fail(ErrorCode::InvalidModel, "it reads tensor {}, which no earlier step has written", tensor);
    last_use_[static_cast<size_t>(tensor)] = std::max(last_use_[static_cast<size_t>(tensor)], step);
    return {};
  }
  void write(int32_t tensor, int32_t step) {
    present_[static_cast<size_t>(tensor)] = true;
    last_use_[static_cast<size_t>(tensor)] = std::max(last_use_[static_cast<size_t>(tensor)], step);
  }
  bool present(int32_t tensor) const { return present_[static_cast<size_t>(tensor)]; }
  int32_t last_use(int32_t tensor) const { return last_use_[static_cast<size_t>(tensor)]; }

 private:
  const ir::Graph& graph_;
  std::vector<bool> present_;
  std::vector<int32_t> last_use_;
};

Status walk_step(const exe::Executable& executable, const ir::Graph& graph, int32_t index,
                 HostArrays& arrays) {
  const exe::Step& step = executable.steps[static_cast<size_t>(index)];
  if (step.kind == exe::StepKind::Cpu) {
    const ir::Op& op = graph.ops[static_cast<size_t>(step.op)];
    const auto on_device = [](const std::vector<int32_t>& places, size_t i) {
      return !places.empty() && places[i] >= 0;
    };
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (op.inputs[i] != ir::kAbsent && !on_device(step.inputs, i))
        PERAXIS_TRY_NOTE(arrays.read(op.inputs[i], index), "in step {}, {}", index,
                         graph.op_label(static_cast<size_t>(step.op)));
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (!on_device(step.outputs, i)) arrays.write(op.outputs[i], index);
  } else if (step.kind == exe::StepKind::Upload) {
    const int32_t tensor = executable.placements[static_cast<size_t>(step.placement)].tensor;
    PERAXIS_TRY_NOTE(arrays.read(tensor, index), "in step {}, an upload", index);
  } else if (step.kind == exe::StepKind::Download) {
    arrays.write(executable.placements[static_cast<size_t>(step.placement)].tensor, index);
  }
  return {};
}

// When something is complete: after `task` of step `step`, or after all of it.
struct Moment {
  int32_t step = -1, task = -1;
  bool known() const { return step >= 0; }
  bool operator<(const Moment& other) const {
    return step != other.step ? step < other.step : task < other.task;
  }
};

// By operator: when its last task has run; and by placement: the host step that writes it.
struct Writers {
  std::vector<Moment> tasks;
  std::vector<Moment> host;            // or step of a CPU operator
  std::vector<bool> finished_by_host;  // by tensor, by a host step
  std::vector<bool> uploaded;          // by placement
  std::vector<Moment> uploads;         // by tensor: when it is on the device because the host had it
};

Writers find_writers(const exe::Executable& executable, const ir::Graph& graph) {
  Writers out{std::vector<Moment>(graph.ops.size()), std::vector<Moment>(executable.placements.size()),
              std::vector<bool>(graph.tensors.size()), std::vector<bool>(executable.placements.size()),
              std::vector<Moment>(graph.tensors.size())};
  for (size_t i = 0; i < executable.steps.size(); ++i) {
    const exe::Step& step = executable.steps[i];
    const auto placement = static_cast<size_t>(step.placement);
    switch (step.kind) {
      case exe::StepKind::Job:
        for (int32_t t = step.first_task; t < step.first_task + step.task_count; ++t)
          out.tasks[static_cast<size_t>(executable.tasks[static_cast<size_t>(t)].op)] = {
              static_cast<int32_t>(i), t};
        break;
      case exe::StepKind::Upload:
        out.uploaded[placement] = true;
        out.uploads[static_cast<size_t>(executable.placements[placement].tensor)] = {static_cast<int32_t>(i),
                                                                                     -1};
        break;
      case exe::StepKind::Cpu:
        for (const int32_t p : step.outputs)
          if (p >= 0) out.host[static_cast<size_t>(p)] = {static_cast<int32_t>(i), -1};
        break;
      case exe::StepKind::Gather:
      case exe::StepKind::Requantize:
      case exe::StepKind::Correct:
        out.host[placement] = {static_cast<int32_t>(i), -1};
        out.finished_by_host[static_cast<size_t>(executable.placements[placement].tensor)] = true;
        break;
      default:
        break;
    }
  }
  return out;
}

// By tensor: when its values are on the device. An operator without tasks of its own (a concatenation whose
// parts were written in place, a part of an uploaded map) is done when its inputs are.
std::vector<Moment> done_on_device(const exe::Executable& executable, const ir::Graph& graph,
                                   const Writers& writers) {
  std::vector<Moment> done = writers.uploads;
  std::vector<Moment> by_host(graph.tensors.size());
  std::vector<bool> placed(graph.tensors.size());
  for (size_t p = 0; p < executable.placements.size(); ++p) {
    const auto tensor = static_cast<size_t>(executable.placements[p].tensor);
    placed[tensor] = placed[tensor] || !writers.uploaded[p];
    if (writers.host[p].known()) by_host[tensor] = writers.host[p];
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::Op& op = graph.ops[i];
    Moment moment = writers.tasks[i];
    if (!moment.known() &&
        std::ranges::all_of(op.outputs, [&](int32_t t) { return placed[static_cast<size_t>(t)]; }))
      for (const int32_t t : op.inputs)
        if (t != ir::kAbsent) moment = std::max(moment, done[static_cast<size_t>(t)]);
    for (const int32_t t : op.outputs)
      if (moment.known()) done[static_cast<size_t>(t)] = moment;
    for (const int32_t t : op.outputs)
      if (by_host[static_cast<size_t>(t)].known())
        done[static_cast<size_t>(t)] = by_host[static_cast<size_t>(t)];
  }
  return done;
}

// Finds for every placement the task or host step that makes it complete.
void find_completions(const exe::Executable& executable, const ir::Graph& graph, Schedule& schedule) {
  const Writers writers = find_writers(executable, graph);
  const std::vector<Moment> done = done_on_device(executable, graph, writers);
  std::vector<int32_t> producer(graph.tensors.size(), -1);
  for (size_t op = 0; op < graph.ops.size(); ++op)
    for (const int32_t output : graph.ops[op].outputs)
      producer[static_cast<size_t>(output)] = static_cast<int32_t>(op);
  for (size_t p = 0; p < executable.placements.size(); ++p) {
    if (writers.uploaded[p]) continue;
    const exe::Placement& placement = executable.placements[p];
    const auto tensor = static_cast<size_t>(placement.tensor);
    Moment moment = writers.host[p].known() ? writers.host[p] : done[tensor];
    // Scattered sets are complete when their tasks are, whatever a host step makes of them later.
    if (!writers.host[p].known() && writers.finished_by_host[tensor]) {
      if (placement.slot_of.empty() || producer[tensor] < 0) continue;
      moment = writers.tasks[static_cast<size_t>(producer[tensor])];
    }
    if (!moment.known()) continue;
    std::vector<int32_t>& list = moment.task >= 0
                                     ? schedule.complete_after_task[static_cast<size_t>(moment.task)]
                                     : schedule.complete_after_step[static_cast<size_t>(moment.step)];
    list.push_back(static_cast<int32_t>(p));
  }
}

// Convolutions have layers, all others records of operators.
Status check_record(const ir::Graph& graph, int32_t op, bool layer) {
  if (!is_index(op, graph.ops.size()))
    return fail(ErrorCode::InvalidModel, "a record of operator {}, the graph has {}", op, graph.ops.size());
  if (ir::is_convolution_like(graph.ops[static_cast<size_t>(op)].kind) != layer)
    return fail(ErrorCode::InvalidModel, "{} has the record of {}", graph.op_label(static_cast<size_t>(op)),
                layer ? "a convolution" : "an operator that is none");
  return {};
}

}  // namespace

Status check_against_graph(const exe::Executable& executable, const ir::Graph& graph) {
  for (size_t i = 0; i < executable.placements.size(); ++i)
    PERAXIS_TRY(check_placement(executable, graph, i));
  for (size_t i = 0; i < executable.tasks.size(); ++i)
    if (!is_index(executable.tasks[i].op, graph.ops.size()))
      return fail(ErrorCode::InvalidModel, "task {} belongs to operator {}, the graph has {}", i,
                  executable.tasks[i].op, graph.ops.size());
  for (const exe::LayerPlan& layer : executable.layers) PERAXIS_TRY(check_record(graph, layer.op, true));
  for (const exe::OperatorPlan& o : executable.operators) PERAXIS_TRY(check_record(graph, o.op, false));
  for (size_t i = 0; i < executable.steps.size(); ++i)
    PERAXIS_TRY_NOTE(check_step(executable, graph, executable.steps[i]), "in step {} of the executable", i);
  return {};
}

Result<Schedule> make_schedule(const exe::Executable& executable, const ir::Graph& graph) {
  Schedule schedule;
  schedule.dead_after.resize(executable.steps.size());
  schedule.complete_after_step.resize(executable.steps.size());
  schedule.complete_after_task.resize(executable.tasks.size());

  HostArrays arrays(graph);
  const auto steps = static_cast<int32_t>(executable.steps.size());
  for (int32_t i = 0; i < steps; ++i) PERAXIS_TRY(walk_step(executable, graph, i, arrays));
  for (const int32_t output : graph.outputs)
    PERAXIS_TRY_NOTE(arrays.read(output, steps), "at the end of the run, for an output of the model");
  for (int32_t t = 0; t < static_cast<int32_t>(graph.tensors.size()); ++t)
    if (arrays.present(t) && arrays.last_use(t) >= 0 && arrays.last_use(t) < steps)
      schedule.dead_after[static_cast<size_t>(arrays.last_use(t))].push_back(t);

  find_completions(executable, graph, schedule);
  return schedule;
}

}  // namespace peraxis::runtime
