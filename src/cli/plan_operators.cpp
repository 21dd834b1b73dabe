// See plan_operators.hpp.
#include "cli/plan_operators.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "cli/layers.hpp"

namespace peraxis::cli {
namespace {

using requant::OperatorCertificate;

const Difference* found(const OperatorDifferences* measured, size_t op) {
  if (measured == nullptr) return nullptr;
  const auto at = measured->find(op);
  return at == measured->end() ? nullptr : &at->second;
}

double differing_share(const OperatorCertificate& c) {
  return c.values > 0 ? static_cast<double>(c.differing) / static_cast<double>(c.values) : 0;
}

}  // namespace

void add_operator_plans(Json& operators, const ir::Graph& graph, const plan::Plan& plan,
                        const OperatorDifferences* measured) {
  for (Json& entry : operators) {
    const auto op = entry["op"].get<size_t>();
    const OperatorCertificate* c = plan.certificate_of(op);
    if (c == nullptr) continue;
    entry["tasks"] = op < plan.device_costs.size() ? plan.device_costs[op].tasks : 0;
    entry["certificate"] = {{"values", c->values},
                            {"differing", c->differing},
                            {"max", c->max},
                            {"counted", c->counted},
                            {"every_tie_reading", c->every_reading},
                            {"max_any_tie_reading", c->max_any_reading}};
    entry["expected_mismatch_percent"] = 100 * c->expected;
    const Difference* difference = found(measured, op);
    if (measured != nullptr)
      entry["isolated"] = difference != nullptr ? difference_json(*difference) : Json(nullptr);
    if (graph.ops[op].kind != ir::OpKind::Add) continue;
    const bool said = op < plan.unsummed.size() && !plan.unsummed[op].empty();
    entry["not_fused"] = said ? Json(plan.unsummed[op]) : Json(nullptr);
  }
}

std::string operators_table(const ir::Graph& graph, const plan::Plan& plan,
                            const OperatorDifferences* measured) {
  const std::vector<size_t> ops = engine::counted_operators(graph, plan);
  if (ops.empty()) return {};
  std::vector<std::string> header{"op",     "kind",        "tasks", "bytes", "est. ms",
                                  "values", "differing %", "max",   "ties",  "expected %"};
  if (measured != nullptr) header.emplace_back("measured %");
  header.emplace_back("name");
  base::Table table(std::move(header));
  for (const size_t op : ops) {
    const OperatorCertificate& c = *plan.certificate_of(op);
    const plan::Cost& cost = plan.device_costs[op];
    std::vector<std::string> row{std::to_string(op),
                                 ir::op_name(graph.ops[op].kind),
                                 base::with_thousands(cost.tasks),
                                 base::with_thousands(cost.bytes),
                                 fmt::format("{:.3f}", cost.ms()),
                                 c.counted ? base::with_thousands(c.values) : "not counted",
                                 c.counted ? share_text(differing_share(c)) : "",
                                 std::to_string(c.max),
                                 c.every_reading ? "any" : "open",
                                 share_text(c.expected)};
    if (const Difference* difference = found(measured, op))
      row.push_back(fmt::format("{:.4f}", difference->percent()));
    else if (measured != nullptr)
      row.emplace_back();
    row.push_back(short_name(op_output_name(graph, op)));
    table.add_row(std::move(row));
  }
  return "\nother operators with arithmetic on the NPU\n" + table.text();
}

std::string operators_csv(const ir::Graph& graph, const plan::Plan& plan,
                          const OperatorDifferences* measured) {
  std::string text;
  for (const size_t op : engine::counted_operators(graph, plan)) {
    const OperatorCertificate& c = *plan.certificate_of(op);
    const plan::Cost& cost = plan.device_costs[op];
    text += fmt::format("{},{},npu,,0,{},{},{},{},{:.6g},{},{},{},{},{:.6g},", op,
                        ir::op_name(graph.ops[op].kind), cost.tasks, cost.mac_cycles, cost.bytes,
                        cost.host_values, cost.ms(), c.values, c.differing, c.max, c.every_reading ? 1 : 0,
                        100 * c.expected);
    if (const Difference* difference = found(measured, op))
      text += fmt::format("{:.6g}", difference->percent());
    text += "\n";
  }
  return text;
}

}  // namespace peraxis::cli
