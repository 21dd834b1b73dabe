// One attempt at a plan after the other, each with what the ones before found out: usually the first one
// fits.
#include "plan/planner.hpp"

#include <algorithm>

#include "ir/operands.hpp"
#include "plan/fused_sums.hpp"
#include "plan/mixer.hpp"
#include "plan/partition.hpp"
#include "plan/placing.hpp"

namespace peraxis::plan {
namespace {

// What the whole is expected to take, and to differ by.
void sum_up(const Network& network, Plan& plan) {
  const ir::Graph& graph = network.graph;
  const PlannerOptions& options = network.options;
  for (const LayerPlan& layer : plan.layers) plan.cost.add(layer.cost);
  plan.expected = pool_of(graph, plan).share();
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (ir::is_convolution_like(graph.ops[op].kind) || network.dead[op] || plan.sum_of(op) >= 0) continue;
    if (plan.on_device[op])
      plan.device.add(plan.device_costs[op]);
    else
      plan.cpu.add(cpu_cost(graph, op, options.cost));
    // Where data come from the NPU, its chain of tasks stops for the host.
    const bool stops = !plan.on_device[op] && std::ranges::any_of(graph.ops[op].inputs, [&](int32_t t) {
      return t != ir::kAbsent && network.made_on_npu[static_cast<size_t>(t)];
    });
    if (stops) plan.cpu.host_ms += options.cost.host_step_us * 1e-3;
  }
  plan.cost.add(plan.device);
  plan.cost.add(plan.cpu);
}

// A point that a later one, which differs less, beats in time too is none.
void drop_beaten(std::vector<ParetoPoint>& points) {
  std::vector<ParetoPoint> kept;
  for (size_t i = points.size(); i-- > 0;)
    if (kept.empty() || points[i].ms < kept.back().ms) kept.push_back(points[i]);
  points.assign(kept.rbegin(), kept.rend());
}

// Plans until everything fits: what does not is kept in mind for the next attempt.
class Planner {
 public:
  Planner(const ir::Graph& graph, const PlannerOptions& options)
      : graph_(graph), options_(options), memo_(graph, options) {}

  Result<Plan> run() {
    // Every attempt but the last adds to what is known of an operator, which is little.
    for (size_t attempts = 0; attempts <= 3 * graph_.ops.size() + 1; ++attempts) {
      std::optional<Plan> plan = PERAXIS_TRY(attempt());
      if (plan) return *std::move(plan);
    }
    return fail(ErrorCode::Internal, "no plan of '{}' fits, and none of its operators is at fault",
                graph_.name);
  }

 private:
  // None: something does not fit, and the next attempt knows it.
  Result<std::optional<Plan>> attempt() {
    Plan plan;
    std::vector<Choice> choices;
    const Network network = PERAXIS_TRY(Network::create(graph_, options_, memo_, adjustments_));
    PERAXIS_TRY(find_choices(network, plan, choices));
    if (options_.mixed()) {
      std::vector<OperatorChoice> operators = PERAXIS_TRY(operator_choices(network));
      Mixer mixer(choices, operators, options_);
      PERAXIS_TRY(mixer.run(plan.pareto));
      if (adjust(operators)) return std::nullopt;
      if (options_.pareto) {
        PERAXIS_TRY(mixer.continue_pareto(plan.pareto));
        drop_beaten(plan.pareto);
      }
    }
    take(choices, plan);
    plan.on_device = network.on_device;
    plan.forms = network.forms;
    plan.refusals = network.refusals;
    plan.order = execution_order(graph_, network.sides());
    PERAXIS_TRY(fuse_sums(network, plan));
    if (adjust(PERAXIS_TRY(place_tensors(network, plan)))) return std::nullopt;
    sum_up(network, plan);
    for (LayerPlan& layer : plan.layers) requant::drop_thresholds(layer.layer);
    return plan;
  }

  // The cheapest candidate of every layer.
  Status find_choices(const Network& network, Plan& plan, std::vector<Choice>& choices) const {
    for (size_t op = 0; op < graph_.ops.size(); ++op) {
      if (options_.progress)
        options_.progress(static_cast<int64_t>(op), static_cast<int64_t>(graph_.ops.size()));
      if (!ir::is_convolution_like(graph_.ops[op].kind) || network.dead[op]) continue;
      LayerPlan entry;
      entry.op = op;
      entry.geometry = lower::geometry(graph_, op);
      entry.refusal = network.refusals[op];
      if (!entry.refusal.empty()) {
        entry.cost = cpu_cost(graph_, op, options_.cost);
        plan.layers.push_back(std::move(entry));
        continue;
      }
      Choice choice{
          plan.layers.size(),
          PERAXIS_TRY_NOTE(LayerCandidates::create(network, op), "while planning {}", graph_.op_label(op)),
          {}};
      choice.options.push_back(PERAXIS_TRY_NOTE(options_.mixed() ? choice.candidates.cheapest(entry.reason)
                                                                 : choice.candidates.single(entry.reason),
                                                "while planning {}", graph_.op_label(op)));
      plan.layers.push_back(std::move(entry));
      choices.push_back(std::move(choice));
    }
    return {};
  }

  void take(std::vector<Choice>& choices, Plan& plan) const {
    for (Choice& choice : choices) {
      LayerPlan& entry = plan.layers[choice.entry];
      Candidate& candidate = choice.options[choice.chosen];
      entry.certificate = options_.mixed()
                              ? requant::certify(choice.candidates.layer(), candidate.params, true)
                              : std::move(candidate.certificate);
      entry.layer = choice.candidates.layer();
      entry.params = std::move(candidate.params);
      entry.cost = candidate.cost;
    }
  }

  // True when an operator is to be run in another way.
  bool adjust(const std::vector<OperatorChoice>& operators) {
    bool any = false;
    for (const OperatorChoice& choice : operators) {
      if (choice.now().kind == Variant::Kind::AsItIs) continue;
      any = true;
      if (choice.now().kind == Variant::Kind::Equal) {
        adjustments_.equal_form.insert(choice.op);
        continue;
      }
      const double percent = 100 * choice.options[0].differing / static_cast<double>(choice.outputs);
      adjustments_.refused[choice.op] = fmt::format(
          "{:.2g} % of its values would be expected to differ on the NPU, and at most {:g} % of "
          "all are wanted",
          percent, 100 * options_.max_mismatch.value_or(0));
    }
    return any;
  }

  // The same of those that do not fit: first with their channels in order, else on the CPU.
  bool adjust(const std::vector<Misfit>& misfits) {
    for (const Misfit& misfit : misfits)
      if (misfit.in_order || !adjustments_.in_order.insert(misfit.op).second)
        adjustments_.refused[misfit.op] = misfit.why;
    return !misfits.empty();
  }

  const ir::Graph& graph_;
  const PlannerOptions& options_;
  Memo memo_;
  Adjustments adjustments_;
};

}  // namespace

Pool pool_of_layers(const Plan& plan) {
  Pool pool;
  for (const LayerPlan& layer : plan.layers)
    if (layer.on_npu()) pool.add(static_cast<double>(layer.outputs()), layer.certificate.expected());
  return pool;
}

Pool pool_of(const ir::Graph& graph, const Plan& plan) {
  Pool pool = pool_of_layers(plan);
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const requant::OperatorCertificate* certificate = plan.certificate_of(op);
    if (certificate == nullptr || certificate->equal()) continue;
    for (const int32_t t : graph.ops[op].outputs)
      pool.add(static_cast<double>(graph.tensor(t).elements()), certificate->expected);
  }
  return pool;
}

Result<Plan> make_plan(const ir::Graph& graph, const PlannerOptions& options) {
  return Planner(graph, options).run();
}

Plan plan_of_operator(const Plan& plan, size_t op) {
  Plan out;
  out.on_device = {plan.runs_on_device(op)};
  if (out.on_device[0]) out.forms = {plan.forms[op]};
  out.placing.packed = plan.placing.packed;
  for (const LayerPlan& layer : plan.layers)
    if (layer.op == op) {
      out.layers.push_back(layer);
      out.layers.back().op = 0;
      if (layer.sum >= 0) {
        out.layers.back().sum = 1;
        out.on_device = {false, true};
        out.forms = {{}, plan.forms[static_cast<size_t>(layer.sum)]};
        out.summed_by = {-1, 0};
      }
      out.cost = layer.cost;
      out.expected = layer.on_npu() ? layer.certificate.expected() : 0;
    }
  return out;
}

}  // namespace peraxis::plan
