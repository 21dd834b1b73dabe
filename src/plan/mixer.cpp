#include "plan/mixer.hpp"

#include <algorithm>
#include <numeric>

#include "plan/partition.hpp"

namespace peraxis::plan {
namespace {

using requant::Strategy;

constexpr size_t kExpandedAtOnce = 4;

int64_t outputs_of(const ir::Graph& graph, size_t op) {
  int64_t outputs = 0;
  for (const int32_t t : graph.ops[op].outputs) outputs += graph.tensor(t).elements();
  return outputs;
}

// The differences that a millisecond more removes.
double rate_of(double removed, double paid) {
  return removed / std::max(1e-9, paid);
}

}  // namespace

Result<std::vector<OperatorChoice>> operator_choices(const Network& network) {
  const ir::Graph& graph = network.graph;
  const rk3588::CostConstants& constants = network.options.cost;
  const Placing plain = plain_placing(graph);
  std::vector<bool> sides = network.sides();
  std::vector<OperatorChoice> out;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const lower::DeviceForm& form = network.forms[op];
    if (!network.on_device[op] || form.part_of >= 0 || form.certificate.equal()) continue;
    OperatorChoice choice{op, outputs_of(graph, op), {}, 0};
    const Cost now = PERAXIS_TRY_NOTE(device_cost(graph, op, form, plain, constants), "while planning {}",
                                      graph.op_label(op));
    choice.options.push_back({Variant::Kind::AsItIs,
                              form.certificate.expected * static_cast<double>(choice.outputs), now.tasks,
                              now.ms()});
    const lower::DeviceForm equal =
        PERAXIS_TRY_NOTE(network.memo.form(op, true), "while planning {}", graph.op_label(op));
    if (equal.refusal.empty()) {
      // What does not fit after all is no variant.
      const auto cost = device_cost(graph, op, equal, plain, constants);
      if (!cost && !lower::is_refusal(cost.error().code)) return tl::make_unexpected(cost.error());
      if (cost) choice.options.push_back({Variant::Kind::Equal, 0, cost->tasks, cost->ms()});
    }
    // Where operators are to be on the NPU, only what has no other way leaves it.
    if (network.options.prefer_npu && choice.options.size() > 1) {
      out.push_back(std::move(choice));
      continue;
    }
    const double there = crossing_cost(graph, sides, constants).ms();
    sides[op] = false;
    const double here = crossing_cost(graph, sides, constants).ms();
    sides[op] = true;
    choice.options.push_back({Variant::Kind::Cpu, 0, 0, cpu_cost(graph, op, constants).ms() + here - there});
    out.push_back(std::move(choice));
  }
  return out;
}

Mixer::Mixer(std::vector<Choice>& choices, std::vector<OperatorChoice>& operators,
             const PlannerOptions& options)
    : choices_(choices), operators_(operators), options_(options) {
  for (const Choice& choice : choices_) outputs_ += choice.candidates.outputs();
  for (const OperatorChoice& choice : operators_) outputs_others_ += choice.outputs;
}

Status Mixer::run(std::vector<ParetoPoint>& pareto) {
  pareto.push_back(point());
  return options_.max_mismatch ? run_budget(pareto) : run_fast(pareto);
}

Status Mixer::run_fast(std::vector<ParetoPoint>& pareto) {
  int64_t layer_tasks = 0;
  for (const Choice& choice : choices_) layer_tasks += choice.now().cost.tasks;
  const int64_t others = tasks() - layer_tasks;
  const auto most = static_cast<int64_t>(static_cast<double>(layer_tasks) * kFastTaskRatio);
  while (differing() > kFastMismatch * static_cast<double>(outputs_)) {
    PERAXIS_TRY(expand(true));
    const auto step = best_step({others + most, true});
    if (!step) break;
    take(*step);
    pareto.push_back(point());
  }
  return {};
}

Status Mixer::run_budget(std::vector<ParetoPoint>& pareto) {
  const double budget =
      *options_.max_mismatch / kBudgetMargin * static_cast<double>(outputs_ + outputs_others_);
  while (differing() + differing_others() > budget) {
    PERAXIS_TRY(expand(false));
    const auto layer = best_step({}), other = best_operator_step();
    if (!layer && !other) break;
    take(!layer || (other && other->rate > layer->rate) ? *other : *layer);
    pareto.push_back(point());
  }
  return {};
}

Status Mixer::continue_pareto(std::vector<ParetoPoint>& pareto) {
  std::vector<size_t> chosen, chosen_others;
  chosen.reserve(choices_.size());
  chosen_others.reserve(operators_.size());
  for (const Choice& choice : choices_) chosen.push_back(choice.chosen);
  for (const OperatorChoice& choice : operators_) chosen_others.push_back(choice.chosen);
  for (Choice& choice : choices_) PERAXIS_TRY(expand(choice));
  for (;;) {
    const auto layer = best_step({}), other = best_operator_step();
    if (!layer && !other) break;
    take(!layer || (other && other->rate > layer->rate) ? *other : *layer);
    pareto.push_back(point());
  }
  for (size_t i = 0; i < chosen.size(); ++i) choices_[i].chosen = chosen[i];
  for (size_t i = 0; i < chosen_others.size(); ++i) operators_[i].chosen = chosen_others[i];
  return {};
}

double Mixer::differing() const {
  double sum = 0;
  for (const Choice& choice : choices_) sum += choice.now().differing;
  return sum;
}

double Mixer::differing_others() const {
  double sum = 0;
  for (const OperatorChoice& choice : operators_) sum += choice.now().differing;
  return sum;
}

int64_t Mixer::tasks() const {
  int64_t sum = 0;
  for (const Choice& choice : choices_) sum += choice.now().cost.tasks;
  for (const OperatorChoice& choice : operators_) sum += choice.now().tasks;
  return sum;
}

ParetoPoint Mixer::point() const {
  ParetoPoint out;
  for (const Choice& choice : choices_) {
    out.ms += choice.now().cost.ms();
    if (choice.now().params.strategy == Strategy::Exact) ++out.exact_layers;
  }
  for (const OperatorChoice& choice : operators_) out.ms += choice.now().ms;
  out.tasks = tasks();
  out.expected =
      Pool{static_cast<double>(outputs_ + outputs_others_), differing() + differing_others()}.share();
  return out;
}

Status Mixer::expand(Choice& choice) {
  if (choice.expanded) return {};
  choice.expanded = true;
  auto more = PERAXIS_TRY(choice.candidates.better_than(choice.options[0]));
  std::move(more.begin(), more.end(), std::back_inserter(choice.options));
  return {};
}

// `fast`: the layers that hold the most expected differences, a few at a time; else all of them.
Status Mixer::expand(bool fast) {
  std::vector<size_t> order(choices_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return choices_[a].now().differing > choices_[b].now().differing; });
  const size_t count = fast ? std::min<size_t>(order.size(), kExpandedAtOnce) : order.size();
  for (size_t i = 0; i < count; ++i) PERAXIS_TRY(expand(choices_[order[i]]));
  return {};
}

std::optional<Mixer::Step> Mixer::best_step(const Limits& limits) const {
  std::optional<Step> best;
  const int64_t all = tasks();
  for (size_t l = 0; l < choices_.size(); ++l) {
    const Choice& choice = choices_[l];
    for (size_t o = 1; o < choice.options.size(); ++o) {
      const Candidate& candidate = choice.options[o];
      if (limits.fast && candidate.params.strategy == Strategy::Exact) continue;
      if (all - choice.now().cost.tasks + candidate.cost.tasks > limits.most_tasks) continue;
      const double removed = choice.now().differing - candidate.differing;
      const double rate = rate_of(removed, candidate.cost.ms() - choice.now().cost.ms());
      if (removed > 0 && rate > (best ? best->rate : 0)) best = Step{l, o, false, rate};
    }
  }
  return best;
}

std::optional<Mixer::Step> Mixer::best_operator_step() const {
  std::optional<Step> best;
  for (size_t i = 0; i < operators_.size(); ++i) {
    const OperatorChoice& choice = operators_[i];
    for (size_t o = 1; o < choice.options.size(); ++o) {
      const Variant& variant = choice.options[o];
      const double removed = choice.now().differing - variant.differing;
      const double rate = rate_of(removed, variant.ms - choice.now().ms);
      if (removed > 0 && rate > (best ? best->rate : 0)) best = Step{i, o, true, rate};
    }
  }
  return best;
}

void Mixer::take(const Step& step) {
  if (step.other)
    operators_[step.part].chosen = step.option;
  else
    choices_[step.part].chosen = step.option;
}

}  // namespace peraxis::plan
