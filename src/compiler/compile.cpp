// Walks the operators in order. A tensor is on the host (dense NHWC), on the device (a cube), or both. CPU
// operators take either form where their kernels can; uploads and downloads are inserted where an operator
// needs the other form. Tasks of neighbouring NPU operators join one chain. Addresses stay symbolic until
// every lifetime is known; then memory is planned and words are emitted.
#include "compiler/compile.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/cpu_operands.hpp"
#include "compiler/program.hpp"
#include "exe/names.hpp"
#include "ir/operands.hpp"
#include "lower/convolution.hpp"
#include "lower/device_op.hpp"
#include "lower/packed_input.hpp"
#include "requant/strategy.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::compiler {
namespace {

using requant::HostWork;
using requant::Strategy;

// A tensor on the device: a placement, and in which slots of it the channels are.
struct Cube {
  View view;
  int32_t placement = -1;
  lower::Layout layout;
};

// A tensor whose channel sets lie where the tasks wrote them, and that the plan does not let its readers take
// so. Made plain (by the host) only when an NPU operator needs it.
struct Scattered {
  View view;
  int32_t placement = -1;
  exe::HostStep gather;  // without regions
  std::vector<lower::Region> regions;
};

struct TensorState {
  bool on_host = false;
  std::vector<Cube> on_device;
  int32_t packed = -1;  // placement of packed pixels
  std::optional<Scattered> scattered;
};

class Compiler {
 public:
  Compiler(const ir::Graph& graph, const Options& options, const plan::Plan& plan)
      : graph_(graph),
        options_(options),
        chosen_(plan),
        states_(graph.tensors.size()),
        layer_of_(graph.ops.size(), nullptr),
        on_npu_(views_read_on_npu(graph, plan)) {
    for (const plan::LayerPlan& layer : plan.layers) layer_of_[layer.op] = &layer;
    order_ = plan.order;
    for (size_t op = order_.size(); op < graph.ops.size(); ++op) order_.push_back(op);
  }

  Result<Compiled> run() {
    for (const int32_t t : graph_.inputs) state(t).on_host = true;
    for (const ir::KeptState& kept : graph_.states) state(kept.before).on_host = true;
    for (size_t t = 0; t < graph_.tensors.size(); ++t)
      if (graph_.tensors[t].is_constant) states_[t].on_host = true;
    const std::vector<bool> dead = ir::dead_operators(graph_);
    for (const size_t op : order_) {
      if (dead[op]) {
        keep_sizes(op);
        continue;
      }
      if (Status ok = lower_op(op); !ok)
        return with_note(std::move(ok).error(), fmt::format("while compiling {}", graph_.op_label(op)));
      ++clock_;
    }
    for (const int32_t t : graph_.outputs) {
      to_host(t);
      if (graph_.tensor(t).is_constant) cpu_constants_.insert(t);
    }
    for (const ir::KeptState& kept : graph_.states) to_host(kept.after);
    return finish();
  }

 private:
  TensorState& state(int32_t tensor) { return states_[static_cast<size_t>(tensor)]; }

  Status lower_op(size_t op) {
    if (!ir::is_convolution_like(graph_.ops[op].kind)) {
      if (const int32_t by = chosen_.sum_of(op); by >= 0)
        return lower_npu(*layer_of_[static_cast<size_t>(by)]);
      if (chosen_.runs_on_device(op)) return lower_on_device(op);
      if (options_.no_fallback && computes_inside(op))
        return fail(ErrorCode::Unsupported, "{} would run on the CPU: {}", graph_.op_label(op),
                    op < chosen_.refusals.size() ? chosen_.refusals[op] : "the plan has no place for it");
      run_on_cpu(op);
      return {};
    }
    const plan::LayerPlan* layer = layer_of_[op];
    if (layer == nullptr)
      return fail(ErrorCode::InvalidArgument, "the plan has no layer for operator {}", op);
    if (layer->on_npu()) return layer->sum >= 0 ? Status() : lower_npu(*layer);
    if (options_.no_fallback)
      return fail(ErrorCode::Unsupported, "{} would run on the CPU: {}", graph_.op_label(op), layer->refusal);
    run_on_cpu(op);
    plan_.layers.push_back(layer_record(*layer));
    return {};
  }

  // Arithmetic, other than between the model's own inputs or outputs and 8-bit values.
  bool computes_inside(size_t index) const {
    const ir::Op& op = graph_.ops[index];
    const auto is_in = [](const std::vector<int32_t>& list, int32_t t) {
      return std::ranges::count(list, t) > 0;
    };
    const bool edge = (op.kind == ir::OpKind::Quantize && is_in(graph_.inputs, op.inputs[0])) ||
                      (op.kind == ir::OpKind::Dequantize && is_in(graph_.outputs, op.outputs[0]));
    return !edge && !ir::only_moves_data(graph_, op);
  }

  void run_on_cpu(size_t op_index) {
    const ir::Op& op = graph_.ops[op_index];
    exe::Step step;
    step.kind = exe::StepKind::Cpu;
    step.op = static_cast<int32_t>(op_index);
    if (options_.cubes_on_cpu) place_operands(step);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const int32_t t = op.inputs[i];
      if (t == ir::kAbsent) continue;
      if (graph_.tensor(t).is_constant)
        cpu_constants_.insert(t);
      else if (step.inputs.empty() || step.inputs[i] < 0)
        to_host(t);
    }
    for (const int32_t p : step.inputs) touch_placement(p);
    for (const int32_t p : step.outputs) touch_placement(p);
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (step.outputs.empty() || step.outputs[i] < 0) state(op.outputs[i]).on_host = true;
    plan_.steps.push_back(std::move(step));
  }

  // A cube of the tensor: the one whose channels are the tensor's last dimension, if there is one.
  int32_t cube_of(int32_t tensor) {
    const TensorState& s = state(tensor);
    const ir::Tensor& t = graph_.tensor(tensor);
    for (const Cube& cube : s.on_device)
      if (!t.shape.empty() && cube.view.c == t.shape.back()) return cube.placement;
    if (!s.on_device.empty()) return s.on_device.front().placement;
    return s.scattered ? s.scattered->placement : -1;
  }

  kernels::Layout layout_of(int32_t placement) const {
    const exe::Placement& p = plan_.placements[static_cast<size_t>(placement)];
    return {p.cube.h * p.cube.w, p.c, p.slot_of, p.is_uint8, 0};
  }

  // Gives the step the cubes that its operator reads and writes, new ones for what the NPU reads.
  void place_operands(exe::Step& step) {
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
      if (state(op.inputs[i]).on_host && !for_npu) continue;  // for a dense result a dense operand is as good
      cubes[i] = cube_of(op.inputs[i]);
      if (cubes[i] >= 0) inputs[i] = layout_of(cubes[i]);
    }
    const CubeOperands chosen = choose_operands(graph_, index, inputs, outputs);
    if (!chosen.inputs && !chosen.outputs) return;
    step.inputs = chosen.inputs ? cubes : std::vector<int32_t>(inputs.size(), -1);
    step.outputs.assign(outputs.size(), -1);
    for (size_t i = 0; chosen.outputs && i < outputs.size(); ++i)
      if (outputs[i].cube()) {
        const View& view = *on_npu_[static_cast<size_t>(op.outputs[i])];
        step.outputs[i] = add_own_placement(op.outputs[i], view);
      }
  }

  void touch_placement(int32_t placement) {
    if (placement < 0) return;
    plan_.memory.touch(plan_.placement_addresses[static_cast<size_t>(placement)].allocation, clock_);
  }

  void to_host(int32_t tensor) {
    TensorState& s = state(tensor);
    if (s.on_host || (s.on_device.empty() && !s.scattered)) return;
    const int32_t from = s.on_device.empty() ? s.scattered->placement : s.on_device.front().placement;
    plan_.steps.push_back(placement_step(exe::StepKind::Download, from));
    s.on_host = true;
  }

  exe::Step placement_step(exe::StepKind kind, int32_t placement) {
    exe::Step step;
    step.kind = kind;
    step.placement = placement;
    touch_placement(placement);
    return step;
  }

  // A place of the tensor's channels.
  int32_t make_placement(int32_t tensor, const View& view, rk3588::SymbolicAddress address,
                         const lower::Layout& layout) {
    const ir::Tensor& t = graph_.tensor(tensor);
    exe::Placement placement;
    placement.tensor = tensor;
    placement.cube = {kActivationBuffer, 0, view.h, view.w, layout.slots, 1};
    placement.c = view.c;
    placement.is_uint8 = t.type == ir::DataType::UInt8;
    placement.zero_point = static_cast<int32_t>(t.quant.zero_point[0]) - (placement.is_uint8 ? 128 : 0);
    placement.slot_of = layout.slot_of;
    plan_.placements.push_back(std::move(placement));
    plan_.placement_addresses.push_back(address);
    return static_cast<int32_t>(plan_.placements.size() - 1);
  }

  int32_t add_placement(int32_t tensor, const View& view, rk3588::SymbolicAddress address,
                        const lower::Layout& layout) {
    const int32_t index = make_placement(tensor, view, address, layout);
    state(tensor).on_device.push_back({view, index, layout});
    return index;
  }

  // In memory of its own, channels in their order.
  int32_t add_own_placement(int32_t tensor, const View& view) {
    const lower::Layout layout = lower::plain_layout(view.c);
    return add_placement(tensor, view, {plan_.memory.add_activation(view.h * view.w * layout.slots), 0},
                         layout);
  }

  // The tensor as a cube of the device; `any_order`: with its channels in whatever slots they are.
  Cube to_device(int32_t tensor, const View& view, bool any_order) {
    TensorState& s = state(tensor);
    if (s.scattered && s.scattered->view == view && s.on_device.empty() && !s.on_host)
      add_host_step(exe::StepKind::Gather, tensor, s.scattered->view, s.scattered->gather,
                    s.scattered->regions);
    for (const Cube& cube : s.on_device)
      if (cube.view == view && (any_order || cube.layout.plain())) return cube;
    to_host(tensor);
    plan_.steps.push_back(placement_step(exe::StepKind::Upload, add_own_placement(tensor, view)));
    return s.on_device.back();
  }

  // The tensor as a picture lies, [h][w][c], for all that read it so.
  int32_t to_packed(int32_t tensor, const lower::Geometry& g) {
    if (state(tensor).packed >= 0) return state(tensor).packed;
    to_host(tensor);
    const int32_t index =
        make_placement(tensor, {g.in_rows(), g.in_w, g.in_c},
                       {plan_.memory.add_activation(lower::packed_bytes(g)), 0}, {g.in_c, {}});
    plan_.placements[static_cast<size_t>(index)].pitch = lower::packed_pitch(g.in_w);
    plan_.steps.push_back(placement_step(exe::StepKind::Upload, index));
    return state(tensor).packed = index;
  }

  lower::InputCube input_of(const plan::LayerPlan& chosen) {
    const lower::Geometry& g = chosen.geometry;
    const int32_t tensor = ir::conv_operands(graph_.ops[chosen.op]).input;
    if (chosen_.placing.is_packed(tensor)) return lower::packed_input(g, address_of(to_packed(tensor, g)));
    const Cube cube = to_device(tensor, {g.in_rows(), g.in_w, g.in_c}, lower::takes_scattered_input(g));
    if (cube.layout.plain()) return lower::plain_input(g, address_of(cube.placement));
    return {address_of(cube.placement), cube.layout};
  }

  Status lower_npu(const plan::LayerPlan& chosen) {
    const ir::Op& op = graph_.ops[chosen.op];
    if (op.kind == ir::OpKind::TransposeConv) cpu_constants_.insert(op.inputs[0]);  // the output's shape
    const lower::InputCube input = input_of(chosen);
    const rk3588::SymbolicAddress addend = addend_of(chosen);
    const int32_t output = graph_.ops[chosen.last_op()].outputs[0];
    const bool by_tasks = chosen.params.host == HostWork::None || chosen.scattered;
    const lower::Cutting cutting{{options_.max_tile_rows, options_.max_task_channels}, options_.cost};
    const int32_t scratch = plan_.memory.allocations();
    const lower::LoweredLayer lowered = PERAXIS_TRY(
        lower::lower_convolution(graph_, chosen.op, chosen.layer, chosen.params, input, cutting, plan_.memory,
                                 true, by_tasks ? home_of(output) : rk3588::SymbolicAddress{}, addend));
    plan_.memory.touch(input.address.allocation, clock_);
    if (addend.allocation >= 0) plan_.memory.touch(addend.allocation, clock_);
    for (const lower::Region& region : lowered.regions) plan_.memory.touch(region.allocation, clock_);
    for (int32_t a = scratch; a < plan_.memory.allocations(); ++a) plan_.memory.touch(a, clock_);
    add_tasks(chosen.op, lowered);
    finish_layer(chosen, lowered);
    exe::LayerPlan record = layer_record(chosen);
    record.tasks = static_cast<int32_t>(lowered.tasks.size());  // alone, a layer's input is never scattered
    plan_.layers.push_back(std::move(record));
    return {};
  }

  // The activation that the layer's tasks add; nowhere: none.
  rk3588::SymbolicAddress addend_of(const plan::LayerPlan& chosen) {
    if (chosen.sum < 0) return {};
    const lower::Geometry& g = chosen.geometry;
    const Cube cube = to_device(chosen.addend, {g.out_rows(), g.out_w, g.out_c}, false);
    return address_of(cube.placement);
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
        cpu_constants_.insert(t);
    }
  }

  // Tasks of neighbouring operators join one job.
  void open_job(size_t tasks) {
    if (plan_.steps.empty() || plan_.steps.back().kind != exe::StepKind::Job) {
      exe::Step step;
      step.kind = exe::StepKind::Job;
      step.first_task = static_cast<int32_t>(plan_.tasks.size());
      plan_.steps.push_back(step);
    }
    plan_.steps.back().task_count += static_cast<int32_t>(tasks);
  }

  static exe::TaskKind task_kind(const rk3588::Task& task) {
    if (std::holds_alternative<rk3588::PoolTask>(task)) return exe::TaskKind::Pool;
    if (std::holds_alternative<rk3588::ElementTask>(task)) return exe::TaskKind::Element;
    if (std::holds_alternative<rk3588::TableTask>(task)) return exe::TaskKind::Table;
    if (const auto* convolution = std::get_if<rk3588::ConvTask>(&task))
      return convolution->depthwise ? exe::TaskKind::Depthwise : exe::TaskKind::Direct;
    return exe::TaskKind::Upsample;
  }

  // Pooling, element-wise operators, copies: maps in, one map out, no host work. Parts of a map: no task.
  Status lower_on_device(size_t index) {
    const ir::Op& op = graph_.ops[index];
    keep_sizes(index);
    if (chosen_.part_of(index) >= 0) return {};
    const lower::DeviceForm& form = chosen_.forms[index];
    const lower::ChannelOrder order = lower::channel_order(graph_, index, form);
    lower::DevicePlaces places{{}, {}, plan_.memory, {}};
    std::vector<lower::JoinedPart> parts;
    for (const int32_t t : lower::device_inputs(graph_, index, form)) {
      const View view = view_of(graph_.tensor(t));
      const Cube cube = to_device(t, view, order != lower::ChannelOrder::Plain);
      places.inputs.push_back({address_of(cube.placement), view.h * view.w, cube.layout.slots});
      places.layouts.push_back(cube.layout);
      parts.push_back({view.c, cube.layout, 0});
    }
    if (order == lower::ChannelOrder::Parts) {
      add_parts(op, lower::device_views(graph_, index), parts.front().layout, places.inputs.front().address);
      return {};
    }
    if (order == lower::ChannelOrder::Flat) {
      const View in = view_of(graph_.tensor(op.inputs[0]));
      add_placement(op.outputs[0], view_of(graph_.tensor(op.outputs[0])), places.inputs.front().address,
                    lower::flat_layout(parts.front().layout, in.h * in.w, in.c));
      return {};
    }
    lower::Layout layout = lower::plain_layout(ir::nhwc(graph_.tensor(op.outputs[0])).c);
    if (order == lower::ChannelOrder::Kept) layout = parts.front().layout;
    if (order == lower::ChannelOrder::Stacked)
      layout = lower::stacked_layout(places.layouts, parts.front().channels);
    if (order == lower::ChannelOrder::Joined) layout = join(index, parts, places.first_slots);
    const View view = view_of(graph_.tensor(op.outputs[0]));
    const rk3588::SymbolicAddress output = place_for(op.outputs[0], layout.slots);
    places.output = {output, view.h * view.w, layout.slots};
    const int32_t scratch = plan_.memory.allocations();
    const std::vector<rk3588::Task> tasks = PERAXIS_TRY(lower::lower_device_op(graph_, index, form, places));
    for (const lower::CubeAt& input : places.inputs) plan_.memory.touch(input.address.allocation, clock_);
    plan_.memory.touch(output.allocation, clock_);
    for (int32_t a = scratch; a < plan_.memory.allocations(); ++a) plan_.memory.touch(a, clock_);
    if (!tasks.empty()) open_job(tasks.size());
    for (const rk3588::Task& task : tasks) {
      exe::Task info;
      info.op = static_cast<int32_t>(index);
      info.kind = task_kind(task);
      info.rows = static_cast<int32_t>(view.h);
      info.real_input_channels = info.real_output_channels = static_cast<int32_t>(view.c);
      plan_.tasks.push_back({info, task});
    }
    add_placement(op.outputs[0], view, output, layout);
    return {};
  }

  // Outputs that are parts of a map, where it is.
  void add_parts(const ir::Op& op, const std::vector<int64_t>& first_channels, const lower::Layout& whole,
                 rk3588::SymbolicAddress address) {
    for (size_t i = 0; i < first_channels.size(); ++i) {
      const View part = view_of(graph_.tensor(op.outputs[i]));
      const lower::ChannelRange range = lower::channel_range(whole, first_channels[i], part.c);
      add_placement(op.outputs[i], part,
                    {address.allocation, address.offset + range.first_slot * part.h * part.w}, range.layout);
    }
  }

  // Parts lie where the plan has them; alone, an operator's lie one behind the other.
  lower::Layout join(size_t index, std::vector<lower::JoinedPart>& parts,
                     std::vector<int64_t>& first_slots) const {
    const auto planned = chosen_.placing.joins.find(index);
    int64_t slots = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i].first_slot = planned == chosen_.placing.joins.end() ? slots : planned->second[i];
      first_slots.push_back(parts[i].first_slot);
      slots = std::max(slots, parts[i].first_slot + parts[i].layout.slots);
    }
    return lower::join(parts, slots);
  }

  rk3588::SymbolicAddress address_of(int32_t placement) const {
    return plan_.placement_addresses[static_cast<size_t>(placement)];
  }

  // In the output of the concatenation that takes the tensor, or nowhere.
  rk3588::SymbolicAddress home_of(int32_t tensor) {
    const auto home = chosen_.placing.homes.find(tensor);
    if (home == chosen_.placing.homes.end()) return {};
    const View view = view_of(graph_.tensor(tensor));
    const int32_t whole = home->second.tensor;
    rk3588::SymbolicAddress place =
        place_for(whole, chosen_.placing.layouts[static_cast<size_t>(whole)].slots);
    place.offset += home->second.first_slot * view.h * view.w;
    return place;
  }

  // Where a cube of the tensor goes: its home, or one allocation of its own.
  rk3588::SymbolicAddress place_for(int32_t tensor, int64_t slots) {
    if (const rk3588::SymbolicAddress home = home_of(tensor); home.allocation >= 0) return home;
    const auto known = cubes_.find(tensor);
    if (known != cubes_.end()) return {known->second, 0};
    const View view = view_of(graph_.tensor(tensor));
    return {cubes_[tensor] = plan_.memory.add_activation(view.h * view.w * slots), 0};
  }

  void add_tasks(size_t op, const lower::LoweredLayer& lowered) {
    open_job(lowered.tasks.size());
    for (const lower::LoweredTask& task : lowered.tasks) {
      exe::Task info;
      info.op = static_cast<int32_t>(op);
      info.kind = task.shape == lower::TaskShape::Direct      ? exe::TaskKind::Direct
                  : task.shape == lower::TaskShape::Depthwise ? exe::TaskKind::Depthwise
                                                              : exe::TaskKind::BlockDiagonal;
      info.first_row = static_cast<int32_t>(task.rows.first);
      info.rows = static_cast<int32_t>(task.rows.rows);
      info.real_input_channels = static_cast<int32_t>(task.kernel_channels);
      info.real_output_channels = task.real_output_channels;
      info.set = task.set;
      plan_.tasks.push_back({info, task.task});
    }
  }

  // The output tensor: written by the tasks themselves, or made by a host step from their cubes.
  void finish_layer(const plan::LayerPlan& chosen, const lower::LoweredLayer& lowered) {
    const lower::Geometry& g = chosen.geometry;
    const requant::Layer& layer = chosen.layer;
    const requant::LayerParams& params = chosen.params;
    const int32_t output = graph_.ops[chosen.last_op()].outputs[0];
    const View view{g.out_rows(), g.out_w, g.out_c};
    if (params.host == HostWork::None) {
      const int32_t index =
          add_placement(output, view, {lowered.regions[0].allocation, lowered.regions[0].offset},
                        lower::plain_layout(view.c));
      // The tasks write whole groups: the cube holds the dummy channels too.
      plan_.placements[static_cast<size_t>(index)].cube.channels = lowered.regions[0].slots;
      return;
    }
    exe::HostStep host;
    host.op = static_cast<int32_t>(chosen.op);
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
    if (params.host == HostWork::Gather) {
      const lower::Layout layout = lower::scattered_layout(lowered, g);
      const rk3588::SymbolicAddress place{lowered.regions[0].allocation, lowered.regions[0].offset};
      if (chosen.scattered)
        add_placement(output, view, place, layout);
      else
        state(output).scattered = {view, make_placement(output, view, place, layout), std::move(host),
                                   lowered.regions};
      return;
    }
    add_host_step(params.host == HostWork::Requantize ? exe::StepKind::Requantize : exe::StepKind::Correct,
                  output, view, std::move(host), lowered.regions);
  }

  void add_host_step(exe::StepKind kind, int32_t tensor, const View& view, exe::HostStep host,
                     const std::vector<lower::Region>& regions) {
    const lower::Layout layout = lower::plain_layout(view.c);
    rk3588::SymbolicAddress place = home_of(tensor);
    if (place.allocation < 0) place = {plan_.memory.add_activation(view.h * view.w * layout.slots), 0};
    const int32_t placement = add_placement(tensor, view, place, layout);
    for (const lower::Region& region : regions) {
      host.regions.push_back({kActivationBuffer, 0, region.h, region.w, region.slots, region.element_bytes});
      plan_.host_regions.push_back({region.allocation, region.offset});
      plan_.memory.touch(region.allocation, clock_);
    }
    exe::Step step = placement_step(kind, placement);
    step.op = host.op;
    step.host_step = static_cast<int32_t>(plan_.host_steps.size());
    plan_.host_steps.push_back(std::move(host));
    plan_.steps.push_back(step);
  }

  Result<Compiled> finish() {
    // A layer with a sum is compiled where the sum is.
    std::ranges::stable_sort(plan_.layers, {}, &exe::LayerPlan::op);
    reserve(plan_);
    plan_.memory.keep_apart(options_.memory_gap);
    const int64_t largest_live_bytes = plan_.memory.peak_live_bytes();
    exe::Executable out = PERAXIS_TRY(assemble(std::move(plan_)));
    out.target = options_.target;
    out.compiler = "peraxis 0.1.0";
    out.model = graph_.name;
    out.model_hash = options_.model_hash;
    out.accuracy = exe::accuracy_names()[static_cast<size_t>(options_.accuracy)];
    out.reference = num::reference_name(options_.reference);
    out.strategy = options_.strategy;
    out.graph = ir::print(graph_);
    for (const int32_t t : cpu_constants_) out.constants.push_back({t, graph_.tensor(t).data});
    if (!chosen_.on_device.empty()) out.operators = operator_records(graph_, chosen_);
    PERAXIS_TRY_NOTE(exe::verify(out), "in an executable this compiler made");
    return Compiled{std::move(out), largest_live_bytes, order_};
  }

  const ir::Graph& graph_;
  const Options& options_;
  const plan::Plan& chosen_;
  std::vector<TensorState> states_;
  std::vector<const plan::LayerPlan*> layer_of_;  // by operator
  std::vector<size_t> order_;                     // of execution
  std::vector<std::optional<View>> on_npu_;       // by tensor: as operators of the NPU read it
  std::map<int32_t, int32_t> cubes_;              // tensor -> allocation of what place_for made
  std::set<int32_t> cpu_constants_;
  ProgramPlan plan_;
  int32_t clock_ = 0;
};

}  // namespace

Result<Compiled> compile_measured(const ir::Graph& graph, const Options& options, const plan::Plan& plan) {
  return Compiler(graph, options, plan).run();
}

Result<exe::Executable> compile(const ir::Graph& graph, const Options& options, const plan::Plan& plan) {
  return PERAXIS_TRY(compile_measured(graph, options, plan)).executable;
}

Result<exe::Executable> compile(const ir::Graph& graph, const Options& options) {
  const plan::PlannerOptions planning = PERAXIS_TRY(planner_options(options));
  const plan::Plan plan = PERAXIS_TRY(plan::make_plan(graph, planning));
  return compile(graph, options, plan);
}

}  // namespace peraxis::compiler
