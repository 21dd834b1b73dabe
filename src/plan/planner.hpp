// Chooses, for every convolution-like operator, how its per-axis scales are applied: by one strategy for all,
// or mixed, so that the estimated time is least while the expected share of differing outputs stays under a
// budget. Every candidate is a parameter set of requant/ with its certificate and a lowering of lower/ with
// its real tiles; nothing is guessed but the time (an estimate) and how outputs are distributed
// (OutputDensity, or calibration).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lower/device_op.hpp"
#include "num/reference.hpp"
#include "plan/cost.hpp"
#include "requant/certificate.hpp"
#include "requant/strategy.hpp"

namespace peraxis::plan {

// `fast`: expected share of a model's convolution outputs (pooled) above which it spends further tasks, and
// how many times the tasks of the cheapest plan it may take for that.
inline constexpr double kFastMismatch = 0.001;
inline constexpr double kFastTaskRatio = 1.25;
// The expected share is an average over networks. A budget is a promise, so the planner aims below it by this
// factor; what was measured against it: tests/python/mismatch_budget_test.py.
inline constexpr double kBudgetMargin = 1.5;

struct PlannerOptions {
  std::optional<requant::Strategy> forced;  // this strategy wherever it can express the layer
  bool exact = false;                       // int32 sums everywhere
  std::optional<double> max_mismatch;       // share, 0..1; default: kFastMismatch with kFastTaskRatio
  num::Reference reference = num::Reference::LitertRef;
  requant::StrategyOptions strategy_options;  // of the forced strategy
  rk3588::CostConstants cost;
  lower::TileLimits limits;
  bool convolutions_only = false;  // the host runs every other operator
  bool prefer_npu = false;         // operators run on the NPU wherever they can, whatever the estimate says
  // Operators through the chip's look-up table, equal to the reference for all 256 values. The table is in
  // vendor streams for int8 and measured for fp16. That it works for int8 on this chip is an open question
  // (E9, docs/hardware/dpu.md#guessed); false does without tables.
  bool tables = true;
  bool ppu = true;  // false: no task of the PPU (docs/hardware/ppu.md#what-the-compiler-makes-of-it)
  // Pictures are read as they lie. The vendor's compiler does so for int8 on this chip; nobody published a
  // measurement (docs/hardware/cna.md#pictures).
  bool packed_input = true;
  // An ADD behind a convolution in the convolution's tasks (plan/fused_sums.hpp), where not exact.
  bool fused_adds = true;
  bool cubes_on_cpu = true;  // CPU operators read and write cubes; false: dense host arrays only
  int64_t memory_gap = 0;    // for tests: lower::MemoryPlan::keep_apart
  bool pareto = false;       // also walk on to exact everywhere, for Plan::pareto
  // Calibration by operator: how often each output value was seen, [channel][256] (requant::set_histograms).
  std::map<int32_t, std::vector<int64_t>> histograms;
  // Calibration of operators that are functions of one or two 8-bit values, by operator: how often each
  // combination was seen (requant::SeenOperands).
  std::map<int32_t, std::vector<int64_t>> seen_operands;
  // Called before every operator is looked at; may be empty.
  std::function<void(int64_t done, int64_t total)> progress;

  bool mixed() const { return !exact && !forced; }  // each layer by a strategy of its own
  // Arithmetic other than convolutions goes to the NPU only where it is proved equal to the reference.
  bool exact_elsewhere() const { return exact || forced == requant::Strategy::Exact; }
};

struct LayerPlan {
  size_t op = 0;
  std::string refusal;  // why it runs on the CPU; the rest is then empty but `cost`
  std::string reason;   // why the strategy is not the one asked for; empty when it is
  requant::Layer layer;
  requant::LayerParams params;
  requant::LayerCertificate certificate;
  lower::Geometry geometry;
  Cost cost;
  // The layer's sets stay where the tasks wrote them: every consumer reads its input channels by their slots,
  // so that nothing is gathered.
  bool scattered = false;
  std::string gathered;  // why the host gathers them; empty when it does not
  // The ADD that its tasks do as well, and the activation that they add; -1: none. What the layer makes is
  // the output of the ADD then, at its place in the order of execution, `params` has the sum and
  // `certificate` is that of both operators (requant/fused_sum.hpp).
  int32_t sum = -1, addend = -1;

  bool on_npu() const { return refusal.empty(); }
  // The operator whose output the tasks write.
  size_t last_op() const { return sum >= 0 ? static_cast<size_t>(sum) : op; }
  int64_t outputs() const { return geometry.outputs(); }
};

// Outputs that could differ from the reference's, pooled: of the NPU's layers, and of its other operators
// whose certificate is not 0.
struct Pool {
  double outputs = 0, differing = 0;
  double share() const { return outputs > 0 ? differing / outputs : 0; }
  void add(double more, double expected) {
    outputs += more;
    differing += expected * more;
  }
};

// A point on the way from the cheapest plan to `exact`: the estimated time of the layers and of the operators
// that can differ, and the expected share of their outputs that does.
struct ParetoPoint {
  double ms = 0;
  double expected = 0;  // 0..1
  int64_t tasks = 0;
  int64_t exact_layers = 0;
};

struct Plan {
  std::vector<LayerPlan> layers;         // convolution-like operators in graph order
  std::vector<bool> on_device;           // by operator: not a convolution, and tasks of the NPU
  std::vector<lower::DeviceForm> forms;  // by operator: of these
  std::vector<std::string> refusals;     // by operator: why it runs on the CPU; else empty
  std::vector<size_t> order;  // operators as they are executed (partition.hpp); empty: as they stand
  Placing placing;
  Cost cost;                        // of the layers and the other operators
  Cost device;                      // the part of other operators on the NPU
  Cost cpu;                         // the part of other operators on the CPU
  double expected = 0;              // Pool::share, 0..1
  std::vector<ParetoPoint> pareto;  // of mixed plans; empty when a strategy is forced

  std::vector<int32_t> summed_by;  // by operator: the convolution whose tasks do it (LayerPlan::sum), or -1
  std::vector<std::string> unsummed;  // by operator: why no convolution does it; empty where there is none
  std::vector<Cost> device_costs;     // by operator: of those on the NPU that are no convolution

  // A plan made by hand may say nothing of operators other than convolutions: they are then on the CPU.
  bool runs_on_device(size_t op) const { return op < on_device.size() && on_device[op]; }
  // The operator whose tasks compute `op` as well, so that its output is nowhere; -1: none.
  int32_t part_of(size_t op) const { return runs_on_device(op) ? forms[op].part_of : -1; }
  // The convolution whose tasks do the ADD `op` and write its output; -1: it has tasks of its own.
  int32_t sum_of(size_t op) const { return op < summed_by.size() ? summed_by[op] : -1; }
  // What is proved of an operator that is no convolution and has tasks of its own; null: it has none.
  const requant::OperatorCertificate* certificate_of(size_t op) const {
    return runs_on_device(op) && part_of(op) < 0 && sum_of(op) < 0 ? &forms[op].certificate : nullptr;
  }
};

Pool pool_of(const ir::Graph& graph, const Plan& plan);
Pool pool_of_layers(const Plan& plan);  // of the layers alone

// The graph must have passed ir::verify. Errors name the operator.
Result<Plan> make_plan(const ir::Graph& graph, const PlannerOptions& options);

// The layer of operator `op` as the plan of a graph that has only this operator; of a convolution with an ADD
// in its tasks, of a graph of these two.
Plan plan_of_operator(const Plan& plan, size_t op);

}  // namespace peraxis::plan
