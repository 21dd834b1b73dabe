#include "plan/memo.hpp"

#include "lower/table.hpp"

namespace peraxis::plan {

Memo::Memo(const ir::Graph& graph, const PlannerOptions& options)
    : graph_(graph), options_(options), partners_(lower::silu_partners(graph)) {}

Result<lower::DeviceForm> Memo::form(size_t op, bool exact) {
  const auto known = forms_.find({op, exact});
  if (known != forms_.end()) return known->second;
  lower::FormRequest request{exact, {options_.tables, options_.ppu}, {}};
  if (const auto seen = options_.seen_operands.find(static_cast<int32_t>(op));
      seen != options_.seen_operands.end())
    request.seen = seen->second;
  lower::DeviceForm form = PERAXIS_TRY(lower::device_form(graph_, op, request));
  return forms_.emplace(std::pair(op, exact), std::move(form)).first->second;
}

Result<lower::DeviceForm> Memo::silu(size_t logistic, size_t mul) {
  const auto known = silus_.find(mul);
  if (known != silus_.end()) return known->second;
  lower::DeviceForm form = PERAXIS_TRY(lower::silu_form(graph_, logistic, mul));
  return silus_.emplace(mul, std::move(form)).first->second;
}

Result<Certified> Memo::parameters(size_t op, const requant::Layer& layer, requant::Strategy strategy,
                                   const requant::StrategyOptions& options) {
  const std::tuple key(op, strategy, options.max_ratio);
  const auto known = parameters_.find(key);
  if (known != parameters_.end()) return known->second;
  const auto find = [&]() -> Result<Certified> {
    Certified out;
    out.params = PERAXIS_TRY(requant::choose_parameters(layer, strategy, options));
    // Of the candidates of a mixed plan only the chosen ones are asked for the open tie rules.
    out.certificate = requant::certify(layer, out.params, !options_.mixed());
    return out;
  };
  return parameters_.emplace(key, find()).first->second;
}

}  // namespace peraxis::plan
