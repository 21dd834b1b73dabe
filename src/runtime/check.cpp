// See check.hpp. Executables come from files, so every rule here is an error, never a check.
#include "runtime/check.hpp"

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
  explicit HostArrays(const ir::Graph& graph) : graph_(graph), present_(graph.tensors.size(), false) {
    for (const int32_t t : graph.inputs) write(t);
    for (const ir::KeptState& state : graph.states) write(state.before);
  }

  Status read(int32_t tensor) const {
    const ir::Tensor& t = graph_.tensor(tensor);
    if (t.is_constant) {
      if (static_cast<int64_t>(t.data.size()) != t.bytes())
        return fail(ErrorCode::InvalidModel,
                    "it reads the constant tensor {}, whose data is not in the executable", tensor);
      return {};
    }
    if (!present_[static_cast<size_t>(tensor)])
      return fail(ErrorCode::InvalidModel,
                  "it reads tensor {}, which no earlier step has written, or which one has freed", tensor);
    return {};
  }
  void write(int32_t tensor) { present_[static_cast<size_t>(tensor)] = true; }
  Status free(int32_t tensor) {
    if (!is_index(tensor, present_.size()) || !present_[static_cast<size_t>(tensor)])
      return fail(ErrorCode::InvalidModel, "it frees tensor {}, which is not on the host", tensor);
    present_[static_cast<size_t>(tensor)] = false;
    return {};
  }

 private:
  const ir::Graph& graph_;
  std::vector<bool> present_;
};

Status walk_step(const exe::Executable& executable, const ir::Graph& graph, const exe::Step& step,
                 HostArrays& arrays) {
  if (step.kind == exe::StepKind::Cpu) {
    const ir::Op& op = graph.ops[static_cast<size_t>(step.op)];
    const auto on_device = [](const std::vector<int32_t>& places, size_t i) {
      return !places.empty() && places[i] >= 0;
    };
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (op.inputs[i] != ir::kAbsent && !on_device(step.inputs, i))
        PERAXIS_TRY_NOTE(arrays.read(op.inputs[i]), "{}", graph.op_label(static_cast<size_t>(step.op)));
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (!on_device(step.outputs, i)) arrays.write(op.outputs[i]);
  } else if (step.kind == exe::StepKind::Upload) {
    PERAXIS_TRY(arrays.read(executable.placements[static_cast<size_t>(step.placement)].tensor));
  } else if (step.kind == exe::StepKind::Download) {
    arrays.write(executable.placements[static_cast<size_t>(step.placement)].tensor);
  }
  for (const int32_t tensor : step.edges.frees) PERAXIS_TRY(arrays.free(tensor));
  return {};
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

Status check_host_arrays(const exe::Executable& executable, const ir::Graph& graph) {
  HostArrays arrays(graph);
  for (size_t i = 0; i < executable.steps.size(); ++i)
    PERAXIS_TRY_NOTE(walk_step(executable, graph, executable.steps[i], arrays),
                     "in step {} of the executable", i);
  for (const int32_t output : graph.outputs)
    PERAXIS_TRY_NOTE(arrays.read(output), "at the end of the run, for an output of the model");
  for (const ir::KeptState& state : graph.states)
    PERAXIS_TRY_NOTE(arrays.read(state.after), "at the end of the run, for a state of the model");
  return {};
}

}  // namespace peraxis::runtime
