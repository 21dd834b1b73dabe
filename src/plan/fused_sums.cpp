#include "plan/fused_sums.hpp"

#include <algorithm>
#include <utility>

#include "ir/operands.hpp"
#include "lower/tiling.hpp"
#include "requant/fused_sum.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::plan {
namespace {

using requant::Strategy;

// The share of the sum's outputs expected to differ may be so many times that of the convolution alone, or
// kFastMismatch where that is more.
constexpr double kMostMoreMismatch = 1.5;

// What a layer becomes.
struct Fusion {
  LayerPlan* layer = nullptr;
  int32_t addend = -1;
  requant::FusedSum sum;
  Cost cost;

  // Of two fusions of one ADD the lower is taken.
  std::pair<int32_t, double> rank() const { return {sum.certificate.max(), cost.ms()}; }
};

class Fuser {
 public:
  Fuser(const Network& network, Plan& plan)
      : network_(network),
        graph_(network.graph),
        plan_(plan),
        layer_that_makes_(graph_.tensors.size(), nullptr),
        readers_(graph_.tensors.size()),
        joined_(graph_.tensors.size()) {
    for (LayerPlan& layer : plan.layers)
      layer_that_makes_[static_cast<size_t>(graph_.ops[layer.op].outputs[0])] = &layer;
    for (size_t op = 0; op < graph_.ops.size(); ++op)
      for (const int32_t t : graph_.ops[op].inputs) {
        if (network.dead[op] || t == ir::kAbsent) continue;
        ++readers_[static_cast<size_t>(t)];
        if (graph_.ops[op].kind == ir::OpKind::Concatenation) joined_[static_cast<size_t>(t)] = true;
      }
    for (const int32_t t : graph_.outputs) ++readers_[static_cast<size_t>(t)];
    // A part of a map lies in the map's place, wherever that is, and a map where all its parts are joined.
    for (size_t op = graph_.ops.size(); op-- > 0;) {
      if (!network.on_device[op] || !is_view(op)) continue;
      for (const int32_t t : graph_.ops[op].outputs) {
        if (joined_[static_cast<size_t>(t)])
          for (const int32_t whole : lower::device_inputs(graph_, op, network.forms[op]))
            joined_[static_cast<size_t>(whole)] = true;
        joined_[static_cast<size_t>(t)] = true;
      }
    }
  }

  Status run() {
    plan_.summed_by.assign(graph_.ops.size(), -1);
    plan_.unsummed.assign(graph_.ops.size(), {});
    for (size_t op = 0; op < graph_.ops.size(); ++op) {
      if (!is_candidate(op)) continue;
      std::optional<Fusion> best;
      for (const size_t main : {size_t{0}, size_t{1}}) {
        auto fusion = fuse(op, main);
        if (!fusion && !lower::is_refusal(fusion.error().code))
          return with_note(std::move(fusion).error(), fmt::format("while planning {}", graph_.op_label(op)));
        if (!fusion)
          plan_.unsummed[op] = std::move(fusion).error().message;
        else if (!best || fusion->rank() < best->rank())
          best = *std::move(fusion);
      }
      if (!best) continue;
      plan_.unsummed[op].clear();
      LayerPlan& layer = *best->layer;
      plan_.summed_by[op] = static_cast<int32_t>(layer.op);
      layer.sum = static_cast<int32_t>(op);
      layer.addend = best->addend;
      layer.params = std::move(best->sum.params);
      layer.certificate = std::move(best->sum.certificate);
      layer.cost = best->cost;
      layer.reason.clear();  // the strategy is hw-multiply
    }
    return {};
  }

 private:
  bool is_view(size_t op) const {
    const lower::ChannelOrder order = lower::channel_order(graph_, op, network_.forms[op]);
    return order == lower::ChannelOrder::Parts || order == lower::ChannelOrder::Flat;
  }

  // An ADD of two maps of the output's shape, by a task of the DPU alone.
  bool is_candidate(size_t index) const {
    const ir::Op& op = graph_.ops[index];
    if (op.kind != ir::OpKind::Add || !network_.on_device[index] || network_.dead[index]) return false;
    const lower::DeviceForm& form = network_.forms[index];
    if (form.table != nullptr || form.part_of >= 0 || op.inputs[0] == op.inputs[1]) return false;
    const ir::Nhwc map = ir::nhwc(graph_.tensor(op.outputs[0]));
    return std::ranges::all_of(op.inputs, [&](int32_t t) {
      return !graph_.tensor(t).is_constant && ir::nhwc(graph_.tensor(t)) == map;
    });
  }

  // The convolution that makes input `main`, when its tasks can write the sum instead.
  LayerPlan* convolution(const ir::Op& add, size_t main) const {
    const int32_t tensor = add.inputs[main];
    LayerPlan* layer = layer_that_makes_[static_cast<size_t>(tensor)];
    if (layer == nullptr || !layer->on_npu() || readers_[static_cast<size_t>(tensor)] != 1) return nullptr;
    const lower::Geometry& g = layer->geometry;
    const ir::Nhwc map = ir::nhwc(graph_.tensor(tensor));
    // No recorded stream adds a tensor in a depthwise task, and blocks of groups leave gaps between channels.
    if (g.depthwise || g.groups > 1 || g.inserts() || map != ir::Nhwc{1, g.out_rows(), g.out_w, g.out_c})
      return nullptr;
    // The tasks read the other map for dummy channels too. Behind its own they may be what the tasks write,
    // when both lie in the output of one concatenation.
    const bool dummies = lower::output_slots(g) > lower::round_up(g.out_c, rk3588::kAtomBytes);
    const bool near =
        joined_[static_cast<size_t>(add.inputs[1 - main])] && joined_[static_cast<size_t>(add.outputs[0])];
    return dummies && near ? nullptr : layer;
  }

  // An error says why not.
  Result<Fusion> fuse(size_t index, size_t main) const {
    const PlannerOptions& options = network_.options;
    const ir::Op& add = graph_.ops[index];
    LayerPlan* layer = convolution(add, main);
    if (layer == nullptr)
      return fail(ErrorCode::Unsupported, "no direct convolution whose output nothing else reads makes '{}'",
                  graph_.tensor(add.inputs[main]).name);
    if (options.forced && layer->params.sets.size() > 1)
      return fail(ErrorCode::Unsupported, "{} has {} sets of channels", graph_.op_label(layer->op),
                  layer->params.sets.size());
    const requant::ElementParams sum = PERAXIS_TRY(requant::pair_parameters(graph_, index, main));
    if (sum.operand_factor == 0)
      return fail(ErrorCode::Unsupported, "the scale of '{}' leaves nothing of it in the sum",
                  graph_.tensor(add.inputs[1 - main]).name);
    if (options.max_mismatch && sum.differing > 0)
      return fail(ErrorCode::Unsupported,
                  "{} of {} pairs give another sum than the reference, with a budget none may", sum.differing,
                  sum.inputs);
    const std::vector<int8_t> reference = PERAXIS_TRY(requant::pair_reference(graph_, index, main));
    Fusion out{
        layer, add.inputs[1 - main], PERAXIS_TRY(requant::fuse_sum(layer->layer, sum, reference, true)), {}};
    const double before = layer->certificate.expected(), after = out.sum.certificate.expected();
    const double most = options.max_mismatch ? before : kMostMoreMismatch * std::max(before, kFastMismatch);
    if (after > most)
      return fail(ErrorCode::Unsupported,
                  "{:.2g} % of the sums would be expected to differ, up to {:.2g} % are taken", 100 * after,
                  100 * most);
    lower::MemoryPlan scratch;
    const lower::LoweredLayer lowered =
        PERAXIS_TRY(lower::lower_convolution({.graph = graph_,
                                              .op = layer->op,
                                              .layer = layer->layer,
                                              .params = out.sum.params,
                                              .input = lower::plain_input(layer->geometry, {0, 0}),
                                              .cutting = {options.limits, options.cost}},
                                             scratch));
    out.cost = layer_cost(lowered, layer->geometry, requant::HostWork::None, options.cost);
    const Cost alone =
        PERAXIS_TRY(device_cost(graph_, index, network_.forms[index], plain_placing(graph_), options.cost));
    if (out.cost.ms() >= layer->cost.ms() + alone.ms())
      return fail(ErrorCode::Unsupported, "the estimate is {:.3f} ms together, {:.3f} one after the other",
                  out.cost.ms(), layer->cost.ms() + alone.ms());
    return out;
  }

  const Network& network_;
  const ir::Graph& graph_;
  Plan& plan_;
  std::vector<LayerPlan*> layer_that_makes_;  // by tensor
  std::vector<int32_t> readers_;              // by tensor; the model's output is one
  std::vector<bool> joined_;                  // by tensor: it may lie in a concatenation's output
};

}  // namespace

Status fuse_sums(const Network& network, Plan& plan) {
  const PlannerOptions& options = network.options;
  const bool multiplies =
      options.mixed() || (options.forced == Strategy::HwMultiply && !options.strategy_options.vendor);
  if (!options.fused_adds || options.exact || !multiplies) return {};
  return Fuser(network, plan).run();
}

}  // namespace peraxis::plan
