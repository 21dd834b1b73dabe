// The mixed plan starts with the cheapest candidate of every layer. While the expected mismatch is above the
// budget, the step with the most mismatch removed for each estimated millisecond is taken. Candidates beyond
// the cheapest are made only for layers that matter: those with most expected differences first.
//
// A budget counts other operators too: those that can differ take the form that equals the reference, or go
// to the CPU, where that is the better step. `fast` has a limit for the layers alone and leaves them as they
// are.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "plan/candidates.hpp"

namespace peraxis::plan {

struct Choice {
  size_t entry = 0;  // index in Plan::layers
  LayerCandidates candidates;
  std::vector<Candidate> options;  // [0]: the cheapest; the rest once expanded
  bool expanded = false;
  size_t chosen = 0;

  const Candidate& now() const { return options[chosen]; }
};

// A way of running an operator that is no convolution and that can differ from the reference.
struct Variant {
  enum class Kind : uint8_t { AsItIs, Equal, Cpu };
  Kind kind = Kind::AsItIs;
  double differing = 0;  // output values expected to differ
  int64_t tasks = 0;
  double ms = 0;  // estimate; on the CPU with what further crossings cost
};
struct OperatorChoice {
  size_t op = 0;
  int64_t outputs = 0;
  std::vector<Variant> options;  // [0]: as it is
  size_t chosen = 0;

  const Variant& now() const { return options[chosen]; }
};
// All operators of the NPU that can differ.
Result<std::vector<OperatorChoice>> operator_choices(const Network& network);

class Mixer {
 public:
  Mixer(std::vector<Choice>& choices, std::vector<OperatorChoice>& operators, const PlannerOptions& options);

  Status run(std::vector<ParetoPoint>& pareto);
  // The rest of the way to exact everywhere, for the table; the choices are put back.
  Status continue_pareto(std::vector<ParetoPoint>& pareto);

 private:
  struct Step {
    size_t part = 0, option = 0;
    bool other = false;  // of operators_, not of choices_
    double rate = 0;     // differing outputs removed for each millisecond
  };
  // What steps may be taken.
  struct Limits {
    int64_t most_tasks = INT64_MAX;
    bool fast = false;  // no exact layer
  };

  Status run_fast(std::vector<ParetoPoint>& pareto);
  Status run_budget(std::vector<ParetoPoint>& pareto);
  double differing() const;         // of the layers
  double differing_others() const;  // of other operators
  int64_t tasks() const;
  ParetoPoint point() const;
  Status expand(Choice& choice);
  Status expand(bool fast);
  std::optional<Step> best_step(const Limits& limits) const;
  std::optional<Step> best_operator_step() const;
  void take(const Step& step);

  std::vector<Choice>& choices_;
  std::vector<OperatorChoice>& operators_;
  const PlannerOptions& options_;
  int64_t outputs_ = 0, outputs_others_ = 0;
};

}  // namespace peraxis::plan
