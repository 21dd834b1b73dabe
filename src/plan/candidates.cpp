#include "plan/candidates.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace peraxis::plan {
namespace {

using requant::Strategy;
using requant::StrategyOptions;

// Scale ratios at which the chip's multiplier is given a further set: fewer lost factor bits, one more task.
constexpr std::array kSplitRatios = {16.0, 4.0};

}  // namespace

Result<LayerCandidates> LayerCandidates::create(const ir::Graph& graph, size_t op,
                                                const PlannerOptions& options) {
  LayerCandidates out(graph, op, options);
  out.geometry_ = lower::geometry(graph, op);
  out.layer_ = PERAXIS_TRY(requant::describe(graph, op, options.reference));
  const auto histogram = options.histograms.find(static_cast<int32_t>(op));
  if (histogram != options.histograms.end())
    PERAXIS_TRY(requant::set_histograms(out.layer_, histogram->second));
  return out;
}

Result<Candidate> LayerCandidates::make(Strategy strategy, const StrategyOptions& options) const {
  Candidate out;
  out.params = PERAXIS_TRY(requant::choose_parameters(layer_, strategy, options));
  out.certificate = requant::certify(layer_, out.params, false);
  lower::MemoryPlan scratch;
  const lower::LoweredLayer lowered = PERAXIS_TRY(lower::lower_convolution(
      *graph_, op_, layer_, out.params, lower::plain_input(geometry_, 0), options_->limits, scratch, false));
  std::optional<Cost> penalty;  // what the consumers pay for reading the sets where they lie
  if (out.params.host == requant::HostWork::Gather)
    penalty = scatter_penalty(*graph_, op_, lower::scattered_output(lowered, geometry_), *options_);
  out.cost =
      layer_cost(lowered, geometry_, penalty ? requant::HostWork::None : out.params.host, options_->cost);
  if (penalty) out.cost.add(*penalty);
  return out;
}

Result<Candidate> LayerCandidates::cheapest(std::string& reason) const {
  for (const Strategy strategy : {Strategy::HwMultiply, Strategy::ExponentClassesTieProof}) {
    Result<Candidate> candidate = make(strategy, {});
    if (!candidate && candidate.error().code != ErrorCode::Unsupported) return candidate;
    if (!candidate) {
      reason = fmt::format("{} cannot express it: {}", requant::strategy_name(strategy),
                           candidate.error().message);
      continue;
    }
    // Two scalar factors cost the same and have twice the bits, where the channels share one scale.
    Result<Candidate> scalar = make(Strategy::TwoScalar, {});
    if (scalar && scalar->certificate.expected() < candidate->certificate.expected() &&
        scalar->certificate.max() <= 1 && scalar->cost.ms() <= candidate->cost.ms())
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
  double expected = first.certificate.expected();
  for (Candidate& candidate : all) {
    const bool exact = candidate.params.strategy == Strategy::Exact;
    if (!exact && candidate.certificate.expected() >= expected) continue;
    if (!exact) expected = candidate.certificate.expected();
    kept.push_back(std::move(candidate));
  }
  return kept;
}

namespace {

std::vector<size_t> consumers_of(const ir::Graph& graph, int32_t tensor) {
  std::vector<size_t> out;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (std::find(graph.ops[op].inputs.begin(), graph.ops[op].inputs.end(), tensor) !=
        graph.ops[op].inputs.end())
      out.push_back(op);
  return out;
}

}  // namespace

std::vector<size_t> npu_consumers(const ir::Graph& graph, size_t op) {
  std::vector<size_t> out;
  for (const size_t consumer : consumers_of(graph, graph.ops[op].outputs[0]))
    if (ir::is_convolution_like(graph.ops[consumer].kind) && lower::npu_refusal(graph, consumer).empty())
      out.push_back(consumer);
  return out;
}

namespace {

// Whether every consumer is a direct convolution over the same map.
bool consumers_take_scattered(const ir::Graph& graph, size_t op) {
  const lower::Geometry made = lower::geometry(graph, op);
  const std::vector<size_t> consumers = npu_consumers(graph, op);
  return std::all_of(consumers.begin(), consumers.end(), [&](size_t consumer) {
    const lower::Geometry read = lower::geometry(graph, consumer);
    return lower::takes_scattered_input(read) && read.in_h == made.out_h && read.in_w == made.out_w &&
           read.in_c == made.out_c;
  });
}

}  // namespace

std::optional<Cost> scatter_penalty(const ir::Graph& graph, size_t producer, const lower::InputCube& cube,
                                    const PlannerOptions& options) {
  if (!consumers_take_scattered(graph, producer)) return std::nullopt;
  Cost penalty;
  for (const size_t op : npu_consumers(graph, producer)) {
    const lower::Geometry g = lower::geometry(graph, op);
    // One int8 set: what tiles look like does not depend on the parameters.
    requant::LayerParams params;
    params.sets.resize(1);
    params.sets[0].dpu.multiply = true;
    params.sets[0].channels.resize(static_cast<size_t>(g.out_c));
    std::iota(params.sets[0].channels.begin(), params.sets[0].channels.end(), 0);
    params.sets[0].params.resize(static_cast<size_t>(g.out_c));
    const auto cost_with = [&](const lower::InputCube& input) -> std::optional<Cost> {
      lower::MemoryPlan scratch;
      const auto lowered =
          lower::lower_convolution(graph, op, {}, params, input, options.limits, scratch, false);
      if (!lowered) return std::nullopt;
      return layer_cost(*lowered, g, params.host, options.cost);
    };
    const auto plain = cost_with(lower::plain_input(g, 0)), scattered = cost_with(cube);
    if (!plain || !scattered) return std::nullopt;
    penalty.tasks += scattered->tasks - plain->tasks;
    penalty.mac_cycles += scattered->mac_cycles - plain->mac_cycles;
    penalty.bytes += scattered->bytes - plain->bytes;
    penalty.npu_ms += scattered->npu_ms - plain->npu_ms;
  }
  // Worth it when the consumers lose less than the host's gathering costs. A forced strategy keeps the number
  // of tasks it is known for.
  const lower::Geometry made = lower::geometry(graph, producer);
  const double gathering = layer_cost({}, made, requant::HostWork::Gather, options.cost).host_ms;
  const bool worth =
      options.forced ? penalty.tasks == 0 && penalty.npu_ms <= gathering : penalty.npu_ms <= gathering;
  return worth ? std::optional(penalty) : std::nullopt;
}

}  // namespace peraxis::plan
