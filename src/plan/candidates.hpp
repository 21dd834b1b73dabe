// The ways one layer can be run, with what each costs and how far it is from the reference.
#pragma once

#include <optional>
#include <vector>

#include "plan/planner.hpp"

namespace peraxis::plan {

struct Candidate {
  requant::LayerParams params;
  requant::LayerCertificate certificate;
  Cost cost;
};

// One operator that can run on the NPU. Candidates are made when they are asked for.
class LayerCandidates {
 public:
  static Result<LayerCandidates> create(const ir::Graph& graph, size_t op, const PlannerOptions& options);

  // Parameters under one strategy, certified and lowered. Unsupported, with the reason, when it cannot
  // express the layer.
  Result<Candidate> make(requant::Strategy strategy, const requant::StrategyOptions& options) const;
  // One set a tile, the chip's multiplier: the first choice. Falls back to what can express the layer.
  // `reason` says why it is not hw-multiply.
  Result<Candidate> cheapest(std::string& reason) const;
  // All mixed-plan candidates beside `cheapest`: those with less expected mismatch for more time, and exact.
  Result<std::vector<Candidate>> better_than(const Candidate& first) const;

  const requant::Layer& layer() const { return layer_; }
  const lower::Geometry& geometry() const { return geometry_; }
  int64_t outputs() const { return geometry_.out_h * geometry_.out_w * geometry_.out_c; }

 private:
  LayerCandidates(const ir::Graph& graph, size_t op, const PlannerOptions& options)
      : graph_(&graph), op_(op), options_(&options) {}

  const ir::Graph* graph_;
  size_t op_;
  const PlannerOptions* options_;
  requant::Layer layer_;
  lower::Geometry geometry_;
};

// Convolutions on the NPU that read the operator's output. Others read it on the host, where its channels are
// put in order by the download.
std::vector<size_t> npu_consumers(const ir::Graph& graph, size_t op);
// What they pay when the operator's sets stay where its tasks wrote them (`cube`). None when one of them
// cannot read its channels so, or when gathering is cheaper.
std::optional<Cost> scatter_penalty(const ir::Graph& graph, size_t producer, const lower::InputCube& cube,
                                    const PlannerOptions& options);

}  // namespace peraxis::plan
