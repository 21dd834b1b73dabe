// The mixed plan starts with the cheapest candidate of every layer. While the expected mismatch is above the
// budget, the step with the most mismatch removed for each estimated millisecond is taken. Candidates beyond
// the cheapest are made only for layers that matter: those with most expected differences first.
#include "plan/planner.hpp"

#include <algorithm>
#include <numeric>

#include "ir/operands.hpp"
#include "plan/candidates.hpp"
#include "plan/fused_sums.hpp"
#include "plan/partition.hpp"
#include "plan/placing.hpp"

namespace peraxis::plan {
namespace {

using requant::Strategy;

struct Choice {
  size_t entry = 0;  // index in Plan::layers
  LayerCandidates candidates;
  std::vector<Candidate> options;  // [0]: the cheapest; the rest once expanded
  bool expanded = false;
  size_t chosen = 0;

  const Candidate& now() const { return options[chosen]; }
};

class Mixer {
 public:
  Mixer(std::vector<Choice>& choices, const PlannerOptions& options) : choices_(choices), options_(options) {
    for (const Choice& choice : choices_) outputs_ += choice.candidates.outputs();
  }

  Status run(std::vector<ParetoPoint>& pareto) {
    const bool fast = !options_.max_mismatch;
    const double share = fast ? kFastMismatch : *options_.max_mismatch / kBudgetMargin;
    const double budget = share * static_cast<double>(outputs_);
    const auto most_tasks = static_cast<int64_t>(static_cast<double>(tasks()) * kFastTaskRatio);
    pareto.push_back(point());
    while (differing() > budget) {
      PERAXIS_TRY(expand(fast));
      const auto step = best_step(fast ? most_tasks : INT64_MAX, fast);
      if (!step) break;
      choices_[step->first].chosen = step->second;
      pareto.push_back(point());
    }
    return {};
  }

  // The rest of the way to exact everywhere, for the table; the choices are put back.
  Status continue_pareto(std::vector<ParetoPoint>& pareto) {
    std::vector<size_t> chosen;
    chosen.reserve(choices_.size());
    for (const Choice& choice : choices_) chosen.push_back(choice.chosen);
    for (Choice& choice : choices_) PERAXIS_TRY(expand(choice));
    while (const auto step = best_step(INT64_MAX, false)) {
      choices_[step->first].chosen = step->second;
      pareto.push_back(point());
    }
    for (size_t i = 0; i < chosen.size(); ++i) choices_[i].chosen = chosen[i];
    return {};
  }

 private:
  double differing() const {
    double sum = 0;
    for (const Choice& choice : choices_) sum += choice.now().differing;
    return sum;
  }
  int64_t tasks() const {
    int64_t sum = 0;
    for (const Choice& choice : choices_) sum += choice.now().cost.tasks;
    return sum;
  }

  ParetoPoint point() const {
    ParetoPoint out;
    for (const Choice& choice : choices_) {
      out.ms += choice.now().cost.ms();
      if (choice.now().params.strategy == Strategy::Exact) ++out.exact_layers;
    }
    out.tasks = tasks();
    out.expected = outputs_ > 0 ? differing() / static_cast<double>(outputs_) : 0;
    return out;
  }

  Status expand(Choice& choice) {
    if (choice.expanded) return {};
    choice.expanded = true;
    auto more = PERAXIS_TRY(choice.candidates.better_than(choice.options[0]));
    std::move(more.begin(), more.end(), std::back_inserter(choice.options));
    return {};
  }

  // `fast`: the layers that hold the most expected differences, a few at a time; else all of them.
  Status expand(bool fast) {
    std::vector<size_t> order(choices_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return choices_[a].now().differing > choices_[b].now().differing; });
    const size_t count = fast ? std::min<size_t>(order.size(), kExpandedAtOnce) : order.size();
    for (size_t i = 0; i < count; ++i) PERAXIS_TRY(expand(choices_[order[i]]));
    return {};
  }

  // The step of one layer with the most differences removed for each millisecond.
  std::optional<std::pair<size_t, size_t>> best_step(int64_t most_tasks, bool no_exact) const {
    std::optional<std::pair<size_t, size_t>> best;
    double best_rate = 0;
    const int64_t all = tasks();
    for (size_t l = 0; l < choices_.size(); ++l) {
      const Choice& choice = choices_[l];
      for (size_t o = 1; o < choice.options.size(); ++o) {
        const Candidate& candidate = choice.options[o];
        if (no_exact && candidate.params.strategy == Strategy::Exact) continue;
        if (all - choice.now().cost.tasks + candidate.cost.tasks > most_tasks) continue;
        const double gained = choice.now().differing - candidate.differing;
        const double paid = std::max(1e-9, candidate.cost.ms() - choice.now().cost.ms());
        if (gained > 0 && gained / paid > best_rate) {
          best_rate = gained / paid;
          best = {l, o};
        }
      }
    }
    return best;
  }

  static constexpr size_t kExpandedAtOnce = 4;

  std::vector<Choice>& choices_;
  const PlannerOptions& options_;
  int64_t outputs_ = 0;
};

void sum_up(const Network& network, Plan& plan) {
  const ir::Graph& graph = network.graph;
  const PlannerOptions& options = network.options;
  double outputs = 0, differing = 0;
  for (const LayerPlan& layer : plan.layers) {
    plan.cost.add(layer.cost);
    if (!layer.on_npu()) continue;
    outputs += static_cast<double>(layer.outputs());
    differing += layer.certificate.expected() * static_cast<double>(layer.outputs());
  }
  plan.expected = outputs > 0 ? differing / outputs : 0;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (ir::is_convolution_like(graph.ops[op].kind) || network.dead[op] || plan.sum_of(op) >= 0) continue;
    if (plan.on_device[op])
      plan.device.add(device_cost(graph, op, plan.forms[op], plan.placing, options.cost));
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

}  // namespace

Result<Plan> make_plan(const ir::Graph& graph, const PlannerOptions& options) {
  Plan plan;
  std::vector<Choice> choices;
  const Network network(graph, options);
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (options.progress) options.progress(static_cast<int64_t>(op), static_cast<int64_t>(graph.ops.size()));
    if (!ir::is_convolution_like(graph.ops[op].kind) || network.dead[op]) continue;
    LayerPlan entry;
    entry.op = op;
    entry.geometry = lower::geometry(graph, op);
    entry.refusal = network.refusals[op];
    if (!entry.refusal.empty()) {
      entry.cost = cpu_cost(graph, op, options.cost);
      plan.layers.push_back(std::move(entry));
      continue;
    }
    Choice choice{
        plan.layers.size(),
        PERAXIS_TRY_NOTE(LayerCandidates::create(network, op), "while planning {}", graph.op_label(op)),
        {}};
    choice.options.push_back(PERAXIS_TRY_NOTE(
        options.mixed() ? choice.candidates.cheapest(entry.reason) : choice.candidates.single(entry.reason),
        "while planning {}", graph.op_label(op)));
    plan.layers.push_back(std::move(entry));
    choices.push_back(std::move(choice));
  }
  if (options.mixed()) {
    Mixer mixer(choices, options);
    PERAXIS_TRY(mixer.run(plan.pareto));
    if (options.pareto) PERAXIS_TRY(mixer.continue_pareto(plan.pareto));
  }
  for (Choice& choice : choices) {
    LayerPlan& entry = plan.layers[choice.entry];
    Candidate& candidate = choice.options[choice.chosen];
    entry.certificate = options.mixed() ? requant::certify(choice.candidates.layer(), candidate.params, true)
                                        : std::move(candidate.certificate);
    entry.layer = choice.candidates.layer();
    entry.params = std::move(candidate.params);
    entry.cost = candidate.cost;
  }
  plan.on_device = network.on_device;
  plan.forms = network.forms;
  plan.refusals = network.refusals;
  plan.order = execution_order(graph, network.sides());
  PERAXIS_TRY(fuse_sums(network, plan));
  if (Status placed = place_tensors(network, plan); !placed) {
    // Slots without channels can make an input too large for its reader.
    if (options.plain_layouts) return tl::make_unexpected(std::move(placed).error());
    PlannerOptions plain = options;
    plain.plain_layouts = true;
    return make_plan(graph, plain);
  }
  sum_up(network, plan);
  return plan;
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
