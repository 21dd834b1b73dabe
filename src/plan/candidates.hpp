// The ways one layer can be run, with what each costs and how far it is from the reference.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/memo.hpp"

namespace peraxis::plan {

// What earlier attempts at a plan have found out about operators.
struct Adjustments {
  std::map<size_t, std::string> refused;  // they must run on the CPU, and why
  std::set<size_t> in_order;              // on the NPU they take channels in their order only
  std::set<size_t> equal_form;            // on the NPU they take the form that equals the reference
};

// A graph under the planner's options, and what is asked of it again and again.
struct Network {
  const ir::Graph& graph;
  const PlannerOptions& options;
  Memo& memo;
  const Adjustments& adjustments;
  std::vector<std::string> refusals;             // by operator: why it runs on the CPU; else empty
  std::vector<std::vector<size_t>> npu_readers;  // by tensor: operators on the NPU that read it
  std::vector<bool> on_device;                   // by operator: not a convolution, and tasks of the NPU
  std::vector<lower::DeviceForm> forms;          // by operator: of these
  std::vector<bool> made_on_npu;                 // by tensor
  std::vector<bool> any_order;                   // by tensor: readers_take_any_order
  std::vector<bool> dead;                        // by operator: nothing reads what it makes
  std::vector<bool> packed;                      // by tensor: Placing::packed

  static Result<Network> create(const ir::Graph& graph, const PlannerOptions& options, Memo& memo,
                                const Adjustments& adjustments);
  std::vector<bool> sides() const;  // by operator: on the NPU

 private:
  Network(const ir::Graph& graph, const PlannerOptions& options, Memo& memo, const Adjustments& adjustments);
  Status find_forms();
  Status choose_sides();
  Result<double> weighed_device_ms(size_t op, const Placing& plain,
                                   const rk3588::CostConstants& weighed) const;
  void find_readers();
  void find_packed();
  Result<bool> join_silu(size_t logistic, size_t mul);
  // Why the output's channels are in an order that its readers cannot take; empty when they can, or when the
  // operator's tasks put them in order.
  std::string settle_order(const ir::Op& op, size_t index);
};

struct Candidate {
  requant::LayerParams params;
  requant::LayerCertificate certificate;
  Cost cost;
  double differing = 0;  // output values of the layer expected to differ
};

// One operator that can run on the NPU. Candidates are made when they are asked for.
class LayerCandidates {
 public:
  static Result<LayerCandidates> create(const Network& network, size_t op);

  // Parameters under one strategy, certified and lowered. Unsupported, with the reason, when it cannot
  // express the layer.
  Result<Candidate> make(requant::Strategy strategy, const requant::StrategyOptions& options) const;
  // The strategy all layers are to have; `exact`, with the reason, where it cannot express the layer.
  Result<Candidate> single(std::string& reason) const;
  // One set a tile, the chip's multiplier: the first choice. Falls back to what can express the layer.
  // `reason` says why it is not hw-multiply.
  Result<Candidate> cheapest(std::string& reason) const;
  // All mixed-plan candidates beside `cheapest`: those with less expected mismatch for more time, and exact.
  Result<std::vector<Candidate>> better_than(const Candidate& first) const;

  const requant::Layer& layer() const { return layer_; }
  int64_t outputs() const { return geometry_.outputs(); }

 private:
  LayerCandidates(const Network& network, size_t op) : network_(&network), op_(op) {}

  const Network* network_;
  size_t op_;
  requant::Layer layer_;
  lower::Geometry geometry_;
};

}  // namespace peraxis::plan
