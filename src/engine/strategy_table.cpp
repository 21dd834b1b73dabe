// See strategy_table.hpp.
#include "engine/strategy_table.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "engine/inputs.hpp"
#include "engine/operator_compare.hpp"

namespace peraxis::engine {

std::vector<std::string> strategy_rows() {
  std::vector<std::string> names = compiler::strategy_names();
  names.insert(std::find(names.begin(), names.end(), "exact"), "fast");
  return names;
}

Result<StrategyRow> measure_strategy(const TableInput& input, const compiler::Options& base_options,
                                     const std::string& name) {
  StrategyRow row;
  row.name = name;
  compiler::Options build = base_options;
  build.strategy = name == "fast" ? "auto" : name;
  build.accuracy = compiler::Accuracy::Fast;
  build.max_mismatch.reset();
  build.progress = nullptr;
  const plan::PlannerOptions planning = PERAXIS_TRY(compiler::planner_options(build));
  const plan::Plan plan = PERAXIS_TRY(plan::make_plan(input.graph, planning));
  const auto fits = [](const plan::LayerPlan& layer) { return layer.on_npu() && layer.reason.empty(); };
  const auto on_npu = [](const plan::LayerPlan& layer) { return layer.on_npu(); };
  if (std::any_of(plan.layers.begin(), plan.layers.end(), on_npu) &&
      std::none_of(plan.layers.begin(), plan.layers.end(), fits)) {
    row.left_out = std::find_if(plan.layers.begin(), plan.layers.end(), on_npu)->reason;
    return row;
  }
  row.cost = plan.cost;
  row.expected = plan.expected;
  {
    CompiledModel compiled = PERAXIS_TRY(CompiledModel::create(input.graph, build, plan, 1));
    const auto outputs = PERAXIS_TRY(compiled.run(spans(input.inputs), nullptr));
    for (size_t n = 0; n < outputs.size(); ++n) {
      const int32_t tensor = input.graph.outputs[n];
      const auto want = input.reference.find(tensor);
      if (want != input.reference.end())
        row.end_to_end.add(difference(input.graph.tensor(tensor).type, outputs[n], want->second));
    }
  }
  for (const plan::LayerPlan& layer : plan.layers) {
    if (!layer.on_npu()) continue;
    const LayerComparison one =
        PERAXIS_TRY_NOTE(compare_isolated(input.graph, layer.op, input.reference, build, plan, 1),
                         "while running {} alone", input.graph.op_label(layer.op));
    if (one.isolated) row.isolated.add(*one.isolated);
  }
  const OperatorDifferences others =
      PERAXIS_TRY(measure_operators(input.graph, input.reference, build, plan, 1));
  for (const auto& [op, difference] : others)
    if (!plan.certificate_of(op)->equal()) row.isolated.add(difference);
  return row;
}

std::vector<StrategyRow> measure_strategies(const TableInput& input, const compiler::Options& build,
                                            int threads, const Progress& progress) {
  const std::vector<std::string> names = strategy_rows();
  std::vector<Result<StrategyRow>> results(names.size());
  std::atomic<size_t> next = 0, done = 0;
  std::mutex drawing;
  const auto report = [&](size_t rows) {
    if (progress) progress(static_cast<int64_t>(rows), static_cast<int64_t>(names.size()));
  };
  report(0);
  const auto work = [&] {
    for (size_t i = next++; i < names.size(); i = next++) {
      results[i] = measure_strategy(input, build, names[i]);
      const std::lock_guard lock(drawing);
      report(++done);
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int t = 1; t < threads && static_cast<size_t>(t) < names.size(); ++t) helpers.emplace_back(work);
    work();
  }
  std::vector<StrategyRow> rows;
  for (size_t i = 0; i < names.size(); ++i) {
    rows.push_back(results[i] ? *std::move(results[i]) : StrategyRow{});
    rows.back().name = names[i];
    if (!results[i]) rows.back().error = std::move(results[i]).error();
  }
  return rows;
}

std::vector<std::vector<uint8_t>> synthetic_inputs(const ir::Graph& graph) {
  std::mt19937 random(1);  // NOLINT: the same inputs everywhere
  std::vector<std::vector<uint8_t>> out;
  for (const int32_t input : graph.inputs) {
    const ir::Tensor& tensor = graph.tensor(input);
    const auto elements = static_cast<size_t>(tensor.elements());
    const size_t channels = tensor.shape.empty() ? 1 : static_cast<size_t>(tensor.shape.back());
    const size_t width =
        tensor.shape.size() < 2 ? 1 : static_cast<size_t>(tensor.shape[tensor.shape.size() - 2]);
    std::vector<uint8_t> values(static_cast<size_t>(tensor.bytes()));
    const size_t size = elements == 0 ? 1 : values.size() / elements;
    for (size_t i = 0; i < elements; ++i) {
      const size_t c = i % channels, x = i / channels % width, y = i / channels / width;
      const double wave =
          std::sin(0.05 * static_cast<double>(x + 3 * c)) * std::cos(0.07 * static_cast<double>(y));
      const double noise = static_cast<double>(random() % 1024) / 1024 - 0.5;
      const double value = std::clamp(0.4 * wave + 0.4 * noise, -0.5, 0.5);
      if (tensor.type == ir::DataType::Float32) {
        const auto real = static_cast<float>(value + 0.5);
        std::memcpy(values.data() + i * size, &real, sizeof real);
      } else {
        // int8 and uint8 alike: the bytes of stored values; wider integers stay small.
        const int offset = tensor.type == ir::DataType::UInt8 ? 128 : 0;
        values[i * size] = static_cast<uint8_t>(static_cast<int>(std::lround(value * 254)) + offset);
        if (size > 1) values[i * size] &= 0x7F;
      }
    }
    out.push_back(std::move(values));
  }
  return out;
}

}  // namespace peraxis::engine
