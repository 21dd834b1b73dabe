#include "plan/describe.hpp"

namespace peraxis::plan {
namespace {

using lower::ChannelOrder;
using program::Operator;
using program::Variant;

Operator of_layer(const LayerPlan& layer) {
  Operator op;
  op.cost = layer.cost;
  if (!layer.on_npu()) {
    op.variant = Variant::Cpu;
    op.reason = layer.refusal;
    return op;
  }
  op.variant = Variant::Convolution;
  op.reason = layer.reason;
  op.strategy = requant::strategy_name(layer.params.strategy);
  const requant::LayerCertificate& proved = layer.certificate;
  op.certificate = {proved.max(), proved.expected(), proved.every_reading, proved.channels};
  return op;
}

Operator computed_by(Variant variant, int32_t other) {
  Operator op;
  op.variant = variant;
  op.by = other;
  return op;
}

Operator of_other(const ir::Graph& graph, const Plan& plan, size_t index,
                  const rk3588::CostConstants& constants) {
  if (const int32_t sum = plan.sum_of(index); sum >= 0) return computed_by(Variant::Sum, sum);
  if (const int32_t whole = plan.part_of(index); whole >= 0) return computed_by(Variant::Part, whole);
  Operator op;
  if (!plan.runs_on_device(index)) {
    op.variant = Variant::Cpu;
    if (index < plan.refusals.size()) op.reason = plan.refusals[index];
    op.cost = cpu_cost(graph, index, constants);
    return op;
  }
  const lower::DeviceForm& form = plan.forms[index];
  const ChannelOrder order = lower::channel_order(graph, index, form);
  const bool view = order == ChannelOrder::Parts || order == ChannelOrder::Flat;
  op.variant = view ? Variant::View : Variant::Tasks;
  op.certificate = {form.certificate.max, form.certificate.expected, form.certificate.every_reading, {}};
  if (index < plan.device_costs.size()) op.cost = plan.device_costs[index];
  return op;
}

}  // namespace

std::vector<Operator> describe_operators(const ir::Graph& graph, const Plan& plan,
                                         const rk3588::CostConstants& constants) {
  std::vector<const LayerPlan*> layer_of(graph.ops.size(), nullptr);
  for (const LayerPlan& layer : plan.layers) layer_of[layer.op] = &layer;
  const std::vector<bool> dead = ir::dead_operators(graph);
  std::vector<Operator> out(graph.ops.size());
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    if (dead[index]) continue;  // Variant::Unused
    out[index] =
        layer_of[index] != nullptr ? of_layer(*layer_of[index]) : of_other(graph, plan, index, constants);
  }
  return out;
}

}  // namespace peraxis::plan
