// Walks the operators in order. A tensor is on the host (dense NHWC), on the device (a cube), or both. CPU
// operators take either form where their kernels can; uploads and downloads are inserted where an operator
// needs the other form. Tasks of neighbouring NPU operators join one chain. Addresses stay symbolic until
// every lifetime is known; then memory is placed, long chains are cut and the edges are drawn.
#include "plan/place_program.hpp"

#include <algorithm>
#include <set>

#include "base/hash.hpp"
#include "ir/operands.hpp"
#include "lower/output_layouts.hpp"
#include "lower/packed_input.hpp"
#include "plan/cpu_operands.hpp"
#include "plan/describe.hpp"
#include "plan/device_tensors.hpp"
#include "program/chains.hpp"
#include "program/edges.hpp"

namespace peraxis::plan {
namespace {

using lower::ChannelOrder;
using program::Map;
using program::StepKind;
using program::TaskKind;
using requant::HostWork;
using rk3588::SymbolicAddress;

// What the host does with each channel of a layer after its tasks.
program::HostWork host_work_of(const LayerPlan& chosen, const lower::LoweredLayer& lowered) {
  const requant::Layer& layer = chosen.layer;
  program::HostWork host;
  host.op = static_cast<int32_t>(chosen.op);
  host.regions = lowered.regions;
  host.rounding = static_cast<program::HostRounding>(layer.rounding);
  host.zero_point = layer.z_out;
  host.low = layer.low;
  host.high = layer.high;
  for (size_t c = 0; c < layer.channels.size(); ++c) {
    const lower::ChannelSource& source = lowered.channels[c];
    program::HostChannel channel;
    channel.region = source.region;
    channel.slot = source.slot;
    if (chosen.params.host == HostWork::Requantize) {
      channel.addend = layer.channels[c].addend;
      channel.sum_slot = source.sum_slot;
      channel.sum_factor = source.sum_slot >= 0 ? -layer.z_w : 0;
      channel.mantissa = layer.channels[c].fixed.mantissa;
      channel.exponent = layer.channels[c].fixed.exponent;
      channel.multiplier = layer.channels[c].multiplier;
    } else if (chosen.params.host == HostWork::Correct) {
      channel.multiplier = chosen.params.correction[c];
    }
    host.channels.push_back(channel);
  }
  return host;
}

class ProgramMaker {
 public:
  ProgramMaker(const ir::Graph& graph, const Plan& plan, const PlannerOptions& options)
      : graph_(graph),
        plan_(plan),
        options_(options),
        tensors_(graph, plan.placing, program_),
        layer_of_(graph.ops.size(), nullptr),
        on_npu_(views_read_on_npu(graph, plan)),
        operands_(graph.ops.size()) {
    for (const LayerPlan& layer : plan.layers) layer_of_[layer.op] = &layer;
    for (const size_t op : plan.order) program_.order.push_back(static_cast<int32_t>(op));
    for (size_t op = program_.order.size(); op < graph.ops.size(); ++op)
      program_.order.push_back(static_cast<int32_t>(op));
    program_.model = graph.name;
    program_.operators = describe_operators(graph, plan, options.cost);
  }

  Result<PlacedProgram> run() {
    for (size_t place = 0; place < program_.order.size(); ++place) {
      const auto op = static_cast<size_t>(program_.order[place]);
      tensors_.set_place(static_cast<int32_t>(place));
      PERAXIS_TRY_NOTE(place_operator(op), "while compiling {}", graph_.op_label(op));
    }
    tensors_.set_place(static_cast<int32_t>(program_.order.size()));
    for (const int32_t t : graph_.outputs) {
      tensors_.to_host(t);
      if (graph_.tensor(t).is_constant) constants_.insert(t);
    }
    for (const ir::KeptState& kept : graph_.states) tensors_.to_host(kept.after);
    return finish();
  }

 private:
  Status place_operator(size_t op) {
    switch (program_.operators[op].variant) {
      case program::Variant::Unused:
      case program::Variant::Part:
        keep_sizes(op);
        return {};
      case program::Variant::Sum:
        return place_layer(*layer_of_[static_cast<size_t>(program_.operators[op].by)]);
      case program::Variant::Convolution:  // one with a sum is placed where the sum is
        return layer_of_[op]->sum >= 0 ? Status() : place_layer(*layer_of_[op]);
      case program::Variant::Tasks:
      case program::Variant::View:
        keep_sizes(op);
        return place_device_operator(op);
      case program::Variant::Cpu:
        break;
    }
    if (ir::is_convolution_like(graph_.ops[op].kind) && layer_of_[op] == nullptr)
      return fail(ErrorCode::InvalidArgument, "the plan has no layer for operator {}", op);
    place_on_cpu(op);
    return {};
  }

  // Integer operands state shapes, which the graph is checked against when the executable is loaded.
  void keep_sizes(size_t index) {
    const ir::Op& op = graph_.ops[index];
    if (ir::is_convolution_like(op.kind)) return;
    const bool pads = op.kind == ir::OpKind::Pad || op.kind == ir::OpKind::PadV2;
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      const int32_t t = op.inputs[slot];
      if (t == ir::kAbsent || !graph_.tensor(t).is_constant) continue;
      const ir::DataType type = graph_.tensor(t).type;
      // Amounts of padding have any of four integer types; other constants of 8 and 16 bits are data.
      if (type == ir::DataType::Int32 || type == ir::DataType::Int64 || (pads && slot == 1))
        constants_.insert(t);
    }
  }

  void place_on_cpu(size_t index) {
    const ir::Op& op = graph_.ops[index];
    program::Step step;
    step.kind = StepKind::Cpu;
    step.op = static_cast<int32_t>(index);
    if (options_.cubes_on_cpu) place_operands(step);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const int32_t t = op.inputs[i];
      if (t == ir::kAbsent) continue;
      if (graph_.tensor(t).is_constant) {
        constants_.insert(t);
      } else if (step.inputs.empty() || step.inputs[i] < 0) {
        tensors_.to_host(t);
        step.host_reads.push_back(t);
      }
    }
    const Moment now{static_cast<int32_t>(program_.steps.size()), -1};
    for (const int32_t index_of_cube : step.inputs)
      if (index_of_cube >= 0) {
        tensors_.touch(index_of_cube);
        step.reads.push_back(index_of_cube);
      }
    for (const int32_t index_of_cube : step.outputs)
      if (index_of_cube >= 0) {
        tensors_.touch(index_of_cube);
        tensors_.set_done(index_of_cube, now);
        step.writes.push_back(index_of_cube);
      }
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (step.outputs.empty() || step.outputs[i] < 0) {
        tensors_.set_on_host(op.outputs[i]);
        step.host_writes.push_back(op.outputs[i]);
      }
    program_.steps.push_back(std::move(step));
  }

  kernels::Layout kernel_layout_of(int32_t index) const {
    const program::DeviceTensor& t = tensors_.at(index);
    return {t.map.h * t.map.w, t.map.c, t.layout.slot_of, graph_.tensor(t.tensor).type == ir::DataType::UInt8,
            0};
  }

  // Gives the step the cubes that its operator reads and writes, new ones for what the NPU reads.
  void place_operands(program::Step& step) {
    const auto index = static_cast<size_t>(step.op);
    const ir::Op& op = graph_.ops[index];
    std::vector<kernels::Layout> inputs(op.inputs.size()), outputs(op.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      if (const auto& view = on_npu_[static_cast<size_t>(op.outputs[i])]) {
        outputs[i].pixels = view->h * view->w;
        outputs[i].channels = view->c;
      }
    const bool for_npu = std::ranges::any_of(outputs, &kernels::Layout::cube);
    std::vector<int32_t> cubes(inputs.size(), -1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (op.inputs[i] == ir::kAbsent || graph_.tensor(op.inputs[i]).is_constant) continue;
      // For a dense result a dense operand is as good.
      if (tensors_.on_host(op.inputs[i]) && !for_npu) continue;
      cubes[i] = tensors_.cube_of(op.inputs[i]);
      if (cubes[i] >= 0) inputs[i] = kernel_layout_of(cubes[i]);
    }
    const CubeOperands chosen = choose_operands(graph_, index, inputs, outputs);
    if (!chosen.inputs && !chosen.outputs) return;
    step.inputs = chosen.inputs ? cubes : std::vector<int32_t>(inputs.size(), -1);
    step.outputs.assign(outputs.size(), -1);
    for (size_t i = 0; chosen.outputs && i < outputs.size(); ++i)
      if (outputs[i].cube())
        step.outputs[i] = tensors_.add_own(op.outputs[i], *on_npu_[static_cast<size_t>(op.outputs[i])]);
  }

  lower::InputCube input_of(const LayerPlan& chosen) {
    const lower::Geometry& g = chosen.geometry;
    const int32_t tensor = ir::conv_operands(graph_.ops[chosen.op]).input;
    if (plan_.placing.is_packed(tensor)) {
      const int32_t picture = tensors_.to_packed(tensor, g);
      read(chosen.op, picture);
      return lower::packed_input(g, tensors_.address_of(picture));
    }
    const Cube cube =
        tensors_.to_device(tensor, {g.in_rows(), g.in_w, g.in_c}, lower::takes_scattered_input(g));
    read(chosen.op, cube.index);
    if (cube.layout.plain()) return lower::plain_input(g, tensors_.address_of(cube.index));
    return {tensors_.address_of(cube.index), cube.layout};
  }

  // The activation that the layer's tasks add; nowhere: none.
  SymbolicAddress addend_of(const LayerPlan& chosen) {
    if (chosen.sum < 0) return {};
    const lower::Geometry& g = chosen.geometry;
    const Cube cube = tensors_.to_device(chosen.addend, {g.out_rows(), g.out_w, g.out_c}, false);
    read(chosen.op, cube.index);
    return tensors_.address_of(cube.index);
  }

  void read(size_t op, int32_t index) {
    tensors_.touch(index);
    operands_[op].reads.push_back(index);
  }
  void write(size_t op, int32_t index) { operands_[op].writes.push_back(index); }

  Status place_layer(const LayerPlan& chosen) {
    const ir::Op& op = graph_.ops[chosen.op];
    if (op.kind == ir::OpKind::TransposeConv) constants_.insert(op.inputs[0]);  // the output's shape
    const lower::InputCube input = input_of(chosen);
    const SymbolicAddress addend = addend_of(chosen);
    const int32_t output = graph_.ops[chosen.last_op()].outputs[0];
    const bool by_tasks = chosen.params.host == HostWork::None || chosen.scattered;
    const int32_t scratch = tensors_.memory().allocations();
    const lower::LoweredLayer lowered = PERAXIS_TRY(
        lower::lower_convolution({.graph = graph_,
                                  .op = chosen.op,
                                  .layer = chosen.layer,
                                  .params = chosen.params,
                                  .input = input,
                                  .cutting = {options_.limits, options_.cost},
                                  .pack = true,
                                  .output = by_tasks ? tensors_.home_of(output) : SymbolicAddress{},
                                  .addend = addend},
                                 tensors_.memory()));
    for (const program::Region& region : lowered.regions) tensors_.touch_allocation(region.allocation);
    tensors_.touch_since(scratch);
    open_job(lowered.tasks.size());
    for (const lower::LoweredTask& task : lowered.tasks)
      program_.tasks.push_back({static_cast<int32_t>(chosen.op), task.shape,
                                static_cast<int32_t>(task.rows.first), static_cast<int32_t>(task.rows.rows),
                                static_cast<int32_t>(task.kernel_channels), task.real_output_channels,
                                task.set, task.task});
    finish_layer(chosen, lowered);
    return {};
  }

  // Tasks of neighbouring operators join one job.
  void open_job(size_t tasks) {
    if (program_.steps.empty() || program_.steps.back().kind != StepKind::Job) {
      program::Step step;
      step.kind = StepKind::Job;
      step.first_task = static_cast<int32_t>(program_.tasks.size());
      program_.steps.push_back(std::move(step));
    }
    program_.steps.back().task_count += static_cast<int32_t>(tasks);
  }

  // After the last task so far.
  Moment after_tasks() const {
    return {static_cast<int32_t>(program_.steps.size()) - 1, static_cast<int32_t>(program_.tasks.size()) - 1};
  }

  // The output tensor: written by the tasks themselves, or made by a host step from their cubes.
  void finish_layer(const LayerPlan& chosen, const lower::LoweredLayer& lowered) {
    const lower::Geometry& g = chosen.geometry;
    const int32_t output = graph_.ops[chosen.last_op()].outputs[0];
    const Map view{g.out_rows(), g.out_w, g.out_c};
    const SymbolicAddress place{lowered.regions[0].allocation, lowered.regions[0].offset};
    const auto written = [&](int32_t index) {
      write(chosen.op, index);
      tensors_.set_done(index, after_tasks());
    };
    if (chosen.params.host == HostWork::None) {
      const int32_t index =
          tensors_.add(output, {view, -1, lower::plain_layout(view.c)}, place, tensors_.home_owner(output));
      // The tasks write whole groups: the cube holds the dummy channels too.
      tensors_.at(index).slots = lowered.regions[0].slots;
      return written(index);
    }
    program::HostWork host = host_work_of(chosen, lowered);
    if (chosen.params.host == HostWork::Gather) {
      const Cube cube{view, -1, lower::scattered_layout(lowered, g)};
      return written(chosen.scattered ? tensors_.add(output, cube, place, tensors_.home_owner(output))
                                      : tensors_.add_scattered(output, cube, std::move(host)));
    }
    tensors_.add_host_work(
        chosen.params.host == HostWork::Requantize ? StepKind::Requantize : StepKind::Correct, output, view,
        std::move(host));
  }

  // Pooling, element-wise operators, copies: maps in, one map out, no host work. Parts of a map: no task.
  Status place_device_operator(size_t index) {
    const ir::Op& op = graph_.ops[index];
    const lower::DeviceForm& form = plan_.forms[index];
    const ChannelOrder order = lower::channel_order(graph_, index, form);
    lower::DevicePlaces places{{}, {}, tensors_.memory(), {}};
    std::vector<int32_t> inputs;
    Moment done;
    for (const int32_t t : lower::device_inputs(graph_, index, form)) {
      const Map view = view_of(graph_.tensor(t));
      const Cube cube = tensors_.to_device(t, view, order != ChannelOrder::Plain);
      places.inputs.push_back({tensors_.address_of(cube.index), view.h * view.w, cube.layout.slots});
      places.layouts.push_back(cube.layout);
      inputs.push_back(cube.index);
      done = std::max(done, tensors_.done(cube.index));
    }
    if (program_.operators[index].variant == program::Variant::View) {
      add_views(index, inputs.front());
      return {};
    }
    if (order == ChannelOrder::Joined) places.first_slots = first_slots(index, places.layouts);
    const lower::Layout layout =
        lower::output_layouts(graph_, index, form, places.layouts, places.first_slots).front().layout;
    const Map view = view_of(graph_.tensor(op.outputs[0]));
    const SymbolicAddress output = tensors_.place_for(op.outputs[0], layout.slots);
    places.output = {output, view.h * view.w, layout.slots};
    const int32_t scratch = tensors_.memory().allocations();
    const std::vector<rk3588::Task> tasks = PERAXIS_TRY(lower::lower_device_op(graph_, index, form, places));
    for (const int32_t input : inputs) read(index, input);
    tensors_.touch_allocation(output.allocation);
    tensors_.touch_since(scratch);
    if (!tasks.empty()) open_job(tasks.size());
    const auto channels = static_cast<int32_t>(view.c);
    for (const rk3588::Task& task : tasks)
      program_.tasks.push_back({static_cast<int32_t>(index), rk3588::kind_of(task), 0,
                                static_cast<int32_t>(view.h), channels, channels, 0, task});
    const int32_t made =
        tensors_.add(op.outputs[0], {view, -1, layout}, output, tensors_.home_owner(op.outputs[0]));
    write(index, made);
    // Parts that were all written in place make the whole when the last of them is.
    tensors_.set_done(made, tasks.empty() ? done : after_tasks());
    return {};
  }

  // Outputs that are the input, or parts of it, where it is.
  void add_views(size_t index, int32_t input) {
    const ir::Op& op = graph_.ops[index];
    const program::DeviceTensor whole = tensors_.at(input);
    const int32_t owner = whole.owner >= 0 ? whole.owner : whole.tensor;
    const auto add = [&](int32_t tensor, const lower::Layout& layout, int64_t first_slot) {
      const Map view = view_of(graph_.tensor(tensor));
      const int64_t plane = whole.map.h * whole.map.w;
      const SymbolicAddress place{whole.address.allocation, whole.address.offset + first_slot * plane};
      tensors_.set_done(tensors_.add(tensor, {view, -1, layout}, place, owner), tensors_.done(input));
    };
    const auto outputs =
        lower::output_layouts(graph_, index, plan_.forms[index], std::span(&whole.layout, 1));
    for (size_t i = 0; i < outputs.size(); ++i) add(op.outputs[i], outputs[i].layout, outputs[i].first_slot);
  }

  // Parts lie where the plan has them; alone, an operator's lie one behind the other.
  std::vector<int64_t> first_slots(size_t index, const std::vector<lower::Layout>& parts) const {
    const auto planned = plan_.placing.joins.find(index);
    if (planned != plan_.placing.joins.end()) return planned->second;
    std::vector<int64_t> out;
    int64_t slots = 0;
    for (const lower::Layout& part : parts) {
      out.push_back(slots);
      slots += part.slots;
    }
    return out;
  }

  Result<PlacedProgram> finish() {
    tensors_.write_completions();
    PERAXIS_TRY(program::make_chains(program_));
    program::note_operands(operands_, program_);
    lower::MemoryPlan& memory = tensors_.memory();
    program::for_reaches(program_,
                         [&](int32_t allocation, int64_t end) { memory.at_least(allocation, end); });
    memory.keep_apart(options_.memory_gap);
    program_.largest_live_bytes = memory.peak_live_bytes();
    PERAXIS_TRY(memory.place());
    program_.activation_bytes = memory.activation_bytes();
    PlacedProgram out;
    program_.allocations = memory.allocation_records();
    out.constants = memory.take_constants();
    for (program::Allocation& allocation : program_.allocations)
      if (allocation.constant)
        allocation.hash = base::hash64(
            std::span<const uint8_t>(out.constants)
                .subspan(static_cast<size_t>(allocation.offset), static_cast<size_t>(allocation.bytes)));
    program_.host_constants.assign(constants_.begin(), constants_.end());
    program::draw_edges(graph_, program_);
    out.program = std::move(program_);
    return out;
  }

  const ir::Graph& graph_;
  const Plan& plan_;
  const PlannerOptions& options_;
  program::Program program_;
  DeviceTensors tensors_;
  std::vector<const LayerPlan*> layer_of_;         // by operator
  std::vector<std::optional<Map>> on_npu_;         // by tensor: as operators of the NPU read it
  std::vector<program::OperatorAccess> operands_;  // by operator, of those with tasks
  std::set<int32_t> constants_;                    // that the host reads
};

}  // namespace

Result<PlacedProgram> place_program(const ir::Graph& graph, const Plan& plan, const PlannerOptions& options) {
  return ProgramMaker(graph, plan, options).run();
}

}  // namespace peraxis::plan
