// See operator_compare.hpp.
#include "engine/operator_compare.hpp"

namespace peraxis::engine {

std::vector<size_t> counted_operators(const ir::Graph& graph, const plan::Plan& plan) {
  std::vector<size_t> out;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const requant::OperatorCertificate* certificate = plan.certificate_of(op);
    if (certificate != nullptr && (certificate->values > 0 || !certificate->equal())) out.push_back(op);
  }
  return out;
}

Result<OperatorDifferences> measure_operators(const ir::Graph& graph, const TensorMap& reference,
                                              const compiler::Options& build, const plan::Plan& plan,
                                              int threads) {
  OperatorDifferences out;
  for (const size_t op : counted_operators(graph, plan)) {
    const LayerComparison one = PERAXIS_TRY_NOTE(compare_isolated(graph, op, reference, build, plan, threads),
                                                 "while running {} alone", graph.op_label(op));
    if (one.isolated) out.emplace(op, *one.isolated);
  }
  return out;
}

}  // namespace peraxis::engine
