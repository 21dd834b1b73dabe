// See warnings.hpp.
#include "cli/warnings.hpp"

#include "ir/ranges.hpp"

namespace peraxis::cli {
namespace {

// `values` went into a common scale with wider ones.
std::string crowded_text(const ir::Graph& graph, const ir::CrowdedInput& input) {
  const ir::Op& op = graph.ops[input.op];
  const ir::Tensor& part = graph.tensor(op.inputs[input.slot]);
  const ir::Tensor& joined = graph.tensor(op.outputs[0]);
  const std::string maker =
      input.maker < 0 ? std::string("the model's input") : graph.op_label(static_cast<size_t>(input.maker));
  return fmt::format(
      "{}: input {} ('{}', values {:.4g} to {:.4g}) has {} of 256 levels in the common scale {:.4g}; this is "
      "the "
      "model's own loss: give the values of {} an output of their own",
      graph.op_label(input.op), input.slot, part.name, input.values.low, input.values.high, input.levels,
      joined.quant.scale[0], maker);
}

}  // namespace

std::vector<std::string> model_warnings(const ir::Graph& graph, const Loaded& loaded) {
  std::vector<std::string> out = loaded.warnings;
  for (const ir::CrowdedInput& input : ir::crowded_inputs(graph)) out.push_back(crowded_text(graph, input));
  return out;
}

std::vector<std::string> strategy_warnings(const ir::Graph& graph,
                                           const std::vector<exe::LayerPlan>& layers) {
  std::vector<std::string> out;
  for (const exe::LayerPlan& layer : layers) {
    const auto op = static_cast<size_t>(layer.op);
    if (op < graph.ops.size() && layer.device == "npu" && !layer.reason.empty())
      out.push_back(fmt::format("{} runs by {}: {}", graph.op_label(op), layer.strategy, layer.reason.str()));
  }
  return out;
}

void print_warnings(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += "warning: " + printable(warning) + "\n";
  if (!text.empty()) print_notice(text);
}

}  // namespace peraxis::cli
