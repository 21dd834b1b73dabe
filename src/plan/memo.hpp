// What is found out about single operators, once: the whole may be planned several times, whenever something
// turns out not to fit (planner.cpp).
#pragma once

#include <map>
#include <tuple>

#include "plan/planner.hpp"

namespace peraxis::plan {

// Parameters of a layer under one strategy, and what is proved of them.
struct Certified {
  requant::LayerParams params;
  requant::LayerCertificate certificate;
};

class Memo {
 public:
  Memo(const ir::Graph& graph, const PlannerOptions& options);

  // How the NPU runs an operator that is no convolution; `exact`: equal to the reference.
  Result<lower::DeviceForm> form(size_t op, bool exact);
  Result<lower::DeviceForm> silu(size_t logistic, size_t mul);
  const std::vector<int32_t>& silu_partners() const { return partners_; }
  Result<Certified> parameters(size_t op, const requant::Layer& layer, requant::Strategy strategy,
                               const requant::StrategyOptions& options);

 private:
  const ir::Graph& graph_;
  const PlannerOptions& options_;
  std::vector<int32_t> partners_;
  std::map<std::pair<size_t, bool>, lower::DeviceForm> forms_;
  std::map<size_t, lower::DeviceForm> silus_;  // by MUL
  // By operator, strategy and the one setting that differs between candidates of a layer.
  std::map<std::tuple<size_t, requant::Strategy, double>, Result<Certified>> parameters_;
};

}  // namespace peraxis::plan
