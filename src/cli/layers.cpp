// See layers.hpp.
#include "cli/layers.hpp"

namespace peraxis::cli {

std::string op_output_name(const ir::Graph& graph, size_t op) {
  const std::vector<int32_t>& outputs = graph.ops[op].outputs;
  return outputs.empty() ? std::string() : graph.tensor(outputs.front()).name;
}

Json layers_json(const ir::Graph& graph, const std::vector<exe::LayerPlan>& layers) {
  Json out = Json::array();
  for (const exe::LayerPlan& layer : layers) {
    const auto op = static_cast<size_t>(layer.op);
    if (op >= graph.ops.size()) continue;
    Json entry;
    entry["op"] = layer.op;
    entry["kind"] = ir::op_name(graph.ops[op].kind);
    entry["name"] = op_output_name(graph, op);
    entry["device"] = layer.device;
    entry["strategy"] = layer.strategy.empty() ? Json(nullptr) : Json(layer.strategy);
    entry["reason"] = layer.reason.empty() ? Json(nullptr) : Json(layer.reason);
    entry["tasks"] = layer.tasks;
    entry["macs"] = layer.macs;
    out.push_back(std::move(entry));
  }
  return out;
}

std::string fallback_text(const ir::Graph& graph, const std::vector<exe::LayerPlan>& layers) {
  std::string out;
  for (const exe::LayerPlan& layer : layers) {
    const auto op = static_cast<size_t>(layer.op);
    if (op >= graph.ops.size() || layer.reason.empty()) continue;
    out += fmt::format("  {} on {}{}{}: {}\n", printable(graph.op_label(op)), layer.device,
                       layer.strategy.empty() ? "" : " by ", layer.strategy, printable(layer.reason));
  }
  return out;
}

}  // namespace peraxis::cli
