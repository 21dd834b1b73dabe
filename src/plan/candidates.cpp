#include "plan/candidates.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "ir/operands.hpp"
#include "lower/packed_input.hpp"
#include "plan/partition.hpp"
#include "plan/placing.hpp"

namespace peraxis::plan {
namespace {

using requant::Strategy;
using requant::StrategyOptions;

// Scale ratios at which the chip's multiplier is given a further set: fewer lost factor bits, one more task.
constexpr std::array kSplitRatios = {16.0, 4.0};
// How much a millisecond of the host counts against one of the NPU when an operator could run on either: the
// host has pictures to decode and results to use.
constexpr double kHostWeight = 2;

std::string not_expressed(Strategy strategy, const Error& error) {
  return fmt::format("{} cannot express it: {}", requant::strategy_name(strategy), error.message);
}

}  // namespace

Network::Network(const ir::Graph& network, const PlannerOptions& planning, Memo& known,
                 const Adjustments& found)
    : graph(network),
      options(planning),
      memo(known),
      adjustments(found),
      refusals(network.ops.size()),
      npu_readers(network.tensors.size()),
      on_device(network.ops.size()),
      forms(network.ops.size()),
      made_on_npu(network.tensors.size()),
      any_order(network.tensors.size()),
      dead(ir::dead_operators(network)),
      packed(network.tensors.size()) {}

Result<Network> Network::create(const ir::Graph& graph, const PlannerOptions& options, Memo& memo,
                                const Adjustments& adjustments) {
  Network out(graph, options, memo, adjustments);
  PERAXIS_TRY(out.find_forms());
  out.any_order = readers_take_any_order(out);
  for (size_t index = 0; index < graph.ops.size(); ++index)
    if (!ir::is_convolution_like(graph.ops[index].kind) && out.refusals[index].empty())
      out.refusals[index] = out.settle_order(graph.ops[index], index);
  PERAXIS_TRY(out.choose_sides());
  out.find_readers();
  if (options.packed_input) out.find_packed();
  return out;
}

void Network::find_readers() {
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const ir::Op& op = graph.ops[index];
    if (!refusals[index].empty()) continue;
    if (ir::is_convolution_like(op.kind)) {
      npu_readers[static_cast<size_t>(ir::conv_operands(op).input)].push_back(index);
    } else if (forms[index].part_of < 0) {
      for (const int32_t t : lower::device_inputs(graph, index, forms[index]))
        npu_readers[static_cast<size_t>(t)].push_back(index);
    }
    for (const int32_t t : op.outputs) made_on_npu[static_cast<size_t>(t)] = true;
  }
}

// What the host has, and nothing but convolutions that can read it so read on the NPU: others need a cube,
// which then serves all.
void Network::find_packed() {
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    packed[t] =
        !made_on_npu[t] && !npu_readers[t].empty() && std::ranges::all_of(npu_readers[t], [&](size_t op) {
          return !on_device[op] && lower::takes_packed_input(graph, op);
        });
}

std::vector<bool> Network::sides() const {
  std::vector<bool> out;
  out.reserve(refusals.size());
  for (const std::string& refusal : refusals) out.push_back(refusal.empty());
  return out;
}

// A task more in a job that runs anyway costs next to nothing in the vendor's driver: what it moves decides.
// Not so where every image of a batch is tasks of its own.
Result<double> Network::weighed_device_ms(size_t op, const Placing& plain,
                                          const rk3588::CostConstants& weighed) const {
  const Cost cost = PERAXIS_TRY(device_cost(graph, op, forms[op], plain, weighed));
  // Parts of a concatenation are mostly written in place.
  if (options.prefer_npu || graph.ops[op].kind == ir::OpKind::Concatenation) return 0.0;
  const ir::Tensor& input = graph.tensor(graph.ops[op].inputs[0]);
  const int64_t images = input.shape.size() == 4 ? std::max<int64_t>(1, ir::nhwc(input).n) : 1;
  const int64_t further = cost.tasks - (cost.tasks + images - 1) / images;
  return cost.ms() + static_cast<double>(further) * options.cost.task_us * 1e-3;
}

Status Network::choose_sides() {
  rk3588::CostConstants weighed = options.cost;
  weighed.task_us = 0;
  weighed.host_step_us *= kHostWeight;
  weighed.host_copy_ns *= kHostWeight;
  std::vector<SideCosts> costs(graph.ops.size());
  const Placing plain = plain_placing(graph);
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    SideCosts& cost = costs[index];
    const ir::OpKind kind = graph.ops[index].kind;
    if (!refusals[index].empty() || ir::is_convolution_like(kind)) {
      cost.side = refusals[index].empty() ? Side::Npu : Side::Cpu;
      continue;
    }
    auto npu_ms = weighed_device_ms(index, plain, weighed);
    if (!npu_ms && !lower::is_refusal(npu_ms.error().code))
      return with_note(std::move(npu_ms).error(), fmt::format("while planning {}", graph.op_label(index)));
    if (!npu_ms) {
      refusals[index] = std::move(npu_ms).error().message;
      cost.side = Side::Cpu;
      continue;
    }
    cost.npu_ms = *npu_ms;
    cost.with = forms[index].part_of;
    cost.cpu_ms = kHostWeight * cpu_cost(graph, index, options.cost).ms();
    if (options.prefer_npu) cost.side = Side::Npu;
  }
  // What another operator's tasks compute goes where that one goes.
  for (size_t index = 0; index < graph.ops.size(); ++index)
    if (const int32_t whole = forms[index].part_of; whole >= 0 && refusals[index].empty())
      if (const std::string& why = refusals[static_cast<size_t>(whole)]; !why.empty()) {
        refusals[index] = why;
        costs[index].side = Side::Cpu;
      }
  const std::vector<bool> npu = cheapest_partition(graph, costs, weighed);
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    if (!refusals[index].empty() || ir::is_convolution_like(graph.ops[index].kind)) continue;
    on_device[index] = npu[index];
    if (!npu[index])
      refusals[index] = "by the estimate the whole is faster with it on the CPU, where its data are";
  }
  return {};
}

// How every operator could run, wherever its data are.
Status Network::find_forms() {
  const std::vector<int32_t>& partners = memo.silu_partners();
  const auto refused = [&](size_t op) { return adjustments.refused.contains(op); };
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const int32_t partner = partners[index];
    if (ir::is_convolution_like(graph.ops[index].kind)) {
      refusals[index] = lower::npu_refusal(graph, index);
      if (refused(index)) refusals[index] = adjustments.refused.at(index);
    } else if (dead[index]) {
      refusals[index] = "nothing reads it";
    } else if (options.convolutions_only) {
      refusals[index] = "the NPU was to run convolutions only";
    } else if (refused(index)) {
      refusals[index] = adjustments.refused.at(index);
    } else if (options.tables && partner > static_cast<int32_t>(index) &&
               !refused(static_cast<size_t>(partner)) &&
               PERAXIS_TRY(join_silu(index, static_cast<size_t>(partner)))) {
      forms[index].part_of = partner;
    } else if (forms[index].table == nullptr) {  // else found with its partner
      const bool equal = options.exact_elsewhere() || adjustments.equal_form.contains(index);
      forms[index] = PERAXIS_TRY_NOTE(memo.form(index, equal), "while planning {}", graph.op_label(index));
      refusals[index] = std::move(forms[index].refusal);
    }
  }
  return {};
}

// The MUL's form becomes that of both, if there is one.
Result<bool> Network::join_silu(size_t logistic, size_t mul) {
  lower::DeviceForm form =
      PERAXIS_TRY_NOTE(memo.silu(logistic, mul), "while planning {}", graph.op_label(mul));
  if (!form.refusal.empty()) return false;
  forms[mul] = std::move(form);
  return true;
}

std::string Network::settle_order(const ir::Op& op, size_t index) {
  if (std::ranges::all_of(op.outputs, [&](int32_t t) { return any_order[static_cast<size_t>(t)]; }))
    return {};
  const std::string why = lower::misaligned(graph, index, forms[index]);
  if (!why.empty() && lower::order_by_tasks(graph, index, forms[index])) return {};
  return why.empty() ? why : why + ", and a reader of the output takes channels in their order only";
}

Result<LayerCandidates> LayerCandidates::create(const Network& network, size_t op) {
  LayerCandidates out(network, op);
  out.geometry_ = lower::geometry(network.graph, op);
  out.layer_ = PERAXIS_TRY(requant::describe(network.graph, op, network.options.reference));
  const auto histogram = network.options.histograms.find(static_cast<int32_t>(op));
  if (histogram != network.options.histograms.end())
    PERAXIS_TRY(requant::set_histograms(out.layer_, histogram->second));
  requant::keep_thresholds(out.layer_);
  return out;
}

Result<Candidate> LayerCandidates::make(Strategy strategy, const StrategyOptions& options) const {
  const PlannerOptions& planning = network_->options;
  Candidate out;
  Certified known = PERAXIS_TRY(network_->memo.parameters(op_, layer_, strategy, options));
  out.params = std::move(known.params);
  out.certificate = std::move(known.certificate);
  out.differing = out.certificate.expected() * static_cast<double>(outputs());
  lower::MemoryPlan scratch;
  const auto tensor = static_cast<size_t>(ir::conv_operands(network_->graph.ops[op_]).input);
  const lower::InputCube input = network_->packed[tensor] ? lower::packed_input(geometry_, {0, 0})
                                                          : lower::plain_input(geometry_, {0, 0});
  const lower::LoweredLayer lowered =
      PERAXIS_TRY(lower::lower_convolution({.graph = network_->graph,
                                            .op = op_,
                                            .layer = layer_,
                                            .params = out.params,
                                            .input = input,
                                            .cutting = {planning.limits, planning.cost}},
                                           scratch));
  std::optional<Cost> penalty;  // what the readers pay for the sets where they lie
  if (out.params.host == requant::HostWork::Gather)
    penalty =
        PERAXIS_TRY(scatter_penalty(*network_, op_, lower::scattered_layout(lowered, geometry_))).penalty;
  out.cost =
      layer_cost(lowered, geometry_, penalty ? requant::HostWork::None : out.params.host, planning.cost);
  if (penalty) out.cost.add(*penalty);
  return out;
}

Result<Candidate> LayerCandidates::single(std::string& reason) const {
  const PlannerOptions& planning = network_->options;
  const Strategy strategy = planning.exact ? Strategy::Exact : *planning.forced;
  Result<Candidate> candidate = make(strategy, planning.strategy_options);
  if (candidate || candidate.error().code != ErrorCode::Unsupported) return candidate;
  reason = not_expressed(strategy, candidate.error());
  return make(Strategy::Exact, {});
}

Result<Candidate> LayerCandidates::cheapest(std::string& reason) const {
  for (const Strategy strategy : {Strategy::HwMultiply, Strategy::ExponentClassesTieProof}) {
    Result<Candidate> candidate = make(strategy, {});
    if (!candidate && candidate.error().code != ErrorCode::Unsupported) return candidate;
    if (!candidate) {
      reason = not_expressed(strategy, candidate.error());
      continue;
    }
    // Two scalar factors cost the same and have twice the bits, where the channels share one scale.
    Result<Candidate> scalar = make(Strategy::TwoScalar, {});
    if (!scalar && scalar.error().code != ErrorCode::Unsupported) return scalar;
    if (scalar && scalar->differing < candidate->differing && scalar->certificate.max() <= 1 &&
        scalar->cost.ms() <= candidate->cost.ms())
      return scalar;
    return candidate;
  }
  return make(Strategy::Exact, {});
}

Result<std::vector<Candidate>> LayerCandidates::better_than(const Candidate& first) const {
  std::vector<Candidate> all;
  const auto consider = [&](Strategy strategy, const StrategyOptions& options) -> Status {
    Result<Candidate> candidate = make(strategy, options);
    if (candidate) {
      if (candidate->certificate.max() <= 1) all.push_back(*std::move(candidate));
    } else if (candidate.error().code != ErrorCode::Unsupported) {
      return tl::make_unexpected(candidate.error());
    }
    return {};
  };
  for (const double ratio : kSplitRatios) {
    StrategyOptions options;
    options.max_ratio = ratio;
    PERAXIS_TRY(consider(Strategy::HwMultiply, options));
  }
  if (layer_.rounding == requant::Rounding::Two) PERAXIS_TRY(consider(Strategy::ExponentClassesTieProof, {}));
  PERAXIS_TRY(consider(Strategy::Exact, {}));

  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost.ms() < b.cost.ms(); });
  // A candidate that costs more must be better. Exact always stays, and hides nobody: `fast` does without it.
  std::vector<Candidate> kept;
  double differing = first.differing;
  for (Candidate& candidate : all) {
    const bool exact = candidate.params.strategy == Strategy::Exact;
    if (!exact && candidate.differing >= differing) continue;
    if (!exact) differing = candidate.differing;
    kept.push_back(std::move(candidate));
  }
  return kept;
}

}  // namespace peraxis::plan
