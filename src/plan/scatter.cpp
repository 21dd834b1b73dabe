// Channel sets that stay where their tasks wrote them: who can read them so, and what that costs the readers.
#include <algorithm>
#include <numeric>

#include "ir/operands.hpp"
#include "lower/convolution.hpp"
#include "lower/output_layouts.hpp"
#include "lower/tiling.hpp"
#include "plan/placing.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::plan {
namespace {

using lower::ChannelOrder;
using lower::Layout;
using rk3588::kAtomBytes;

// Readers looked at for one scattered output: graphs can join a tensor with itself again and again.
constexpr int kMostReaders = 64;

// What readers of a layout pay against readers of plain channels.
class Penalty {
 public:
  explicit Penalty(const Network& network) : network_(network) {}

  // Why a reader cannot take the layout; empty when all can.
  Result<std::string> add_readers(int32_t tensor, const Layout& layout) {
    for (const size_t op : network_.npu_readers[static_cast<size_t>(tensor)]) {
      if (++readers_ > kMostReaders)
        return fmt::format("it has more than {} readers, one behind the other", kMostReaders);
      std::string why =
          PERAXIS_TRY(network_.on_device[op] ? add_device_op(op, tensor, layout) : add_layer(op, layout));
      if (!why.empty()) return why;
    }
    return std::string();
  }

  const Cost& cost() const { return cost_; }

 private:
  std::string cannot(size_t op, const std::string& why) const {
    return fmt::format("{} cannot read them where they lie: {}", network_.graph.op_label(op), why);
  }

  Result<std::string> add_layer(size_t op, const Layout& layout) {
    const lower::Geometry g = lower::geometry(network_.graph, op);
    // One int8 set: what tiles look like does not depend on the parameters.
    requant::LayerParams params;
    params.sets.resize(1);
    params.sets[0].dpu.multiply = true;
    params.sets[0].channels.resize(static_cast<size_t>(g.out_c));
    std::iota(params.sets[0].channels.begin(), params.sets[0].channels.end(), 0);
    params.sets[0].params.resize(static_cast<size_t>(g.out_c));
    const PlannerOptions& options = network_.options;
    const auto cost_with = [&](const lower::InputCube& input) -> Result<Cost> {
      lower::MemoryPlan scratch;
      const lower::LoweredLayer lowered =
          PERAXIS_TRY(lower::lower_convolution({.graph = network_.graph,
                                                .op = op,
                                                .layer = {},
                                                .params = params,
                                                .input = input,
                                                .cutting = {options.limits, options.cost}},
                                               scratch));
      return layer_cost(lowered, g, params.host, options.cost);
    };
    auto plain = cost_with(lower::plain_input(g, {0, 0})), scattered = cost_with({{0, 0}, layout});
    for (auto* cost : {&plain, &scattered}) {
      if (*cost) continue;
      if (!lower::is_refusal(cost->error().code)) return tl::make_unexpected(std::move(*cost).error());
      return cannot(op, cost->error().message);
    }
    cost_.tasks += scattered->tasks - plain->tasks;
    cost_.mac_cycles += scattered->mac_cycles - plain->mac_cycles;
    cost_.bytes += scattered->bytes - plain->bytes;
    cost_.npu_ms += scattered->npu_ms - plain->npu_ms;
    return std::string();
  }

  // Why the operator's tasks cannot be made with one input so; empty when they can.
  Result<std::string> misfit(size_t index, int32_t tensor, const Layout& layout, const Layout& output) const {
    const ir::Graph& graph = network_.graph;
    Placing placing = plain_placing(graph);
    placing.layouts[static_cast<size_t>(tensor)] = layout;
    placing.layouts[static_cast<size_t>(graph.ops[index].outputs[0])] = output;
    auto cost = device_cost(graph, index, network_.forms[index], placing, network_.options.cost);
    if (cost) return std::string();
    if (!lower::is_refusal(cost.error().code)) return tl::make_unexpected(std::move(cost).error());
    return cannot(index, cost.error().message);
  }

  // Tasks without a convolution move the slots that hold no channel too.
  Result<std::string> add_device_op(size_t index, int32_t tensor, const Layout& layout) {
    const ir::Graph& graph = network_.graph;
    const ir::Op& op = graph.ops[index];
    if (layout.slots > rk3588::kMaxCubeChannels)
      return cannot(index,
                    fmt::format("{} slots, a cube has up to {}", layout.slots, rk3588::kMaxCubeChannels));
    const ChannelOrder order = lower::channel_order(graph, index, network_.forms[index]);
    switch (order) {
      case ChannelOrder::Plain:
        return cannot(index, "it takes channels in their order only");
      case ChannelOrder::Kept: {
        if (std::string why = PERAXIS_TRY(misfit(index, tensor, layout, layout)); !why.empty()) return why;
        const ir::Nhwc in = ir::nhwc(graph.tensor(tensor)), out = ir::nhwc(graph.tensor(op.outputs[0]));
        const int64_t more = layout.slots - lower::round_up(in.c, kAtomBytes);
        const int64_t bytes = more * (pixels(in) + pixels(out));
        cost_.bytes += bytes;
        cost_.npu_ms += static_cast<double>(bytes) / network_.options.cost.bandwidth_gbs * 1e-6;
        return add_readers(op.outputs[0], layout);
      }
      case ChannelOrder::Parts:
      case ChannelOrder::Flat: {
        const auto outputs = lower::output_layouts(graph, index, network_.forms[index], {&layout, 1});
        for (size_t i = 0; i < outputs.size(); ++i) {
          std::string why = PERAXIS_TRY(add_readers(op.outputs[i], outputs[i].layout));
          if (!why.empty()) return why;
        }
        return std::string();
      }
      case ChannelOrder::Stacked:  // the others are in order, or a task more puts all of them so
      case ChannelOrder::Ordered: {
        const Layout output = plain_layout_of(graph, op.outputs[0]);
        std::string why = PERAXIS_TRY(misfit(index, tensor, layout, output));
        if (!why.empty() || order == ChannelOrder::Ordered) return why;
        return add_readers(op.outputs[0], output);
      }
      case ChannelOrder::Joined: {
        // The other parts are taken to be as wide as this one: their layouts are open yet.
        const int64_t plain = plain_layout_of(graph, tensor).slots;
        const int64_t times = (layout.slots + plain - 1) / plain;
        std::vector<lower::JoinedPart> parts;
        int64_t slots = 0;
        for (const int32_t t : op.inputs) {
          const Layout other = plain_layout_of(graph, t);
          parts.push_back({ir::nhwc(graph.tensor(t)).c, t == tensor ? layout : other, slots});
          slots += t == tensor ? layout.slots : times * other.slots;
        }
        return add_readers(op.outputs[0], lower::join(parts, slots));
      }
    }
    return std::string();
  }

  const Network& network_;
  Cost cost_;
  int readers_ = 0;
};

}  // namespace

std::vector<bool> readers_take_any_order(const Network& network) {
  const ir::Graph& graph = network.graph;
  const std::vector<std::string>& refusals = network.refusals;
  const std::vector<lower::DeviceForm>& forms = network.forms;
  const std::set<size_t>& in_order = network.adjustments.in_order;
  // Maps as their producers see them: a convolution's own view of its output may be another than the
  // tensor's.
  std::vector<ir::Nhwc> maps(graph.tensors.size(), ir::Nhwc{0, 0, 0, 0});
  for (size_t t = 0; t < maps.size(); ++t)
    if (graph.tensors[t].shape.size() <= 4) maps[t] = ir::nhwc(graph.tensors[t]);
  const auto runs = [&](size_t op) {
    return ir::is_convolution_like(graph.ops[op].kind) && refusals[op].empty();
  };
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (runs(op)) {
      const lower::Geometry g = lower::geometry(graph, op);
      maps[static_cast<size_t>(graph.ops[op].outputs[0])] = {1, g.out_rows(), g.out_w, g.out_c};
    }
  std::vector<bool> any(graph.tensors.size(), true);
  for (size_t index = graph.ops.size(); index-- > 0;) {
    const ir::Op& op = graph.ops[index];
    if (!refusals[index].empty()) continue;
    if (runs(index)) {
      const lower::Geometry g = lower::geometry(graph, index);
      const auto input = static_cast<size_t>(ir::conv_operands(op).input);
      if (in_order.contains(index) || !lower::takes_scattered_input(g) ||
          maps[input] != ir::Nhwc{1, g.in_rows(), g.in_w, g.in_c})
        any[input] = false;
      continue;
    }
    const ChannelOrder order = lower::channel_order(graph, index, forms[index]);
    const bool taken = order != ChannelOrder::Plain && !in_order.contains(index);
    if (taken && order == ChannelOrder::Ordered) continue;
    const bool passed_on =
        taken && std::ranges::all_of(op.outputs, [&](int32_t t) { return any[static_cast<size_t>(t)]; });
    if (passed_on || forms[index].part_of >= 0) continue;
    for (const int32_t t : lower::device_inputs(graph, index, forms[index]))
      any[static_cast<size_t>(t)] = false;
  }
  return any;
}

Result<Scatter> scatter_penalty(const Network& network, size_t producer, const Layout& layout) {
  const int32_t output = network.graph.ops[producer].outputs[0];
  if (!network.any_order[static_cast<size_t>(output)])
    return Scatter{{}, "a reader takes channels in their order only"};
  Penalty penalty(network);
  std::string why = PERAXIS_TRY(penalty.add_readers(output, layout));
  if (!why.empty()) return Scatter{{}, std::move(why)};
  // Worth it when the readers lose less than the host's gathering costs. A forced strategy keeps the number
  // of tasks it is known for.
  const lower::Geometry made = lower::geometry(network.graph, producer);
  const double gathering = layer_cost({}, made, requant::HostWork::Gather, network.options.cost).host_ms;
  if (network.options.forced && penalty.cost().tasks != 0)
    return Scatter{{}, fmt::format("its readers would take {} tasks more", penalty.cost().tasks)};
  if (penalty.cost().npu_ms > gathering)
    return Scatter{{},
                   fmt::format("its readers would take {:.3f} ms more, to gather them takes {:.3f}",
                               penalty.cost().npu_ms, gathering)};
  return Scatter{penalty.cost(), {}};
}

}  // namespace peraxis::plan
