// peraxis compare: how far the compiled model is from the reference kernels, and both from stored goldens.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/progress.hpp"
#include "base/table.hpp"
#include "cli/cli.hpp"
#include "cli/difference_text.hpp"
#include "cli/inputs.hpp"
#include "cli/layers.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/warnings.hpp"
#include "engine/calibration.hpp"
#include "engine/facts.hpp"
#include "engine/golden_sets.hpp"
#include "engine/layer_compare.hpp"

namespace peraxis::cli {
namespace {

struct CompareOptions {
  ModelOptions reading;
  std::string model;
  BuildOptions build;
  InputOptions inputs;
  std::vector<std::string> goldens;
  std::string dump;
  bool json = false, keep_state = false;
  int threads = 1;
};

struct OutputDifference {
  int64_t set = -1;  // of the goldens
  size_t output = 0;
  Difference difference;
};

struct Comparison {
  ir::Graph graph;
  std::vector<LayerComparison> layers;
  std::vector<OutputDifference> end_to_end;                    // against the reference kernels
  std::vector<OutputDifference> golden_sets;                   // against o{k}_{n}
  std::vector<std::pair<int32_t, Difference>> golden_tensors;  // against t{index}
  std::vector<int32_t> removed;                                // activations the compiled run does not make
  std::optional<Difference> pooled;                            // isolated, over the NPU's convolutions
  int64_t tasks = 0;
  std::optional<int64_t> macs = 0;  // none: not counted
  bool from_dump = false;
  std::vector<std::string> warnings;
};

// The model's inputs out of a map of activations; none when one is missing.
std::optional<std::vector<std::vector<uint8_t>>> inputs_of(const ir::Graph& graph, const TensorMap& tensors) {
  std::vector<std::vector<uint8_t>> out;
  for (const int32_t input : graph.inputs) {
    const auto found = tensors.find(input);
    if (found == tensors.end()) return std::nullopt;
    out.push_back(found->second);
  }
  return out;
}

// The inputs of the comparison layer by layer: those given, else the dump's, else the first of the goldens.
CliResult<std::vector<std::vector<uint8_t>>> choose_inputs(const CompareOptions& options,
                                                           const ir::Graph& graph, const Goldens& goldens,
                                                           const TensorMap& dump) {
  if (options.inputs.inputs.empty() && options.inputs.image.empty()) {
    if (auto found = inputs_of(graph, dump)) return *found;
    if (auto found = inputs_of(graph, goldens.tensors)) return *found;
    if (!goldens.sets.empty()) return goldens.sets.front().inputs;
  }
  return PERAXIS_TRY(bind_inputs(graph, options.inputs)).values;
}

Status compare_layers(const CompareOptions& options, const compiler::Options& build, const plan::Plan& plan,
                      const TensorMap& reference, const TensorMap& got, Comparison& out) {
  base::Progress progress("comparing operators", static_cast<int64_t>(out.graph.ops.size()));
  for (size_t op = 0; op < out.graph.ops.size(); ++op) {
    progress.update(static_cast<int64_t>(op));
    LayerComparison layer;
    if (out.from_dump) {
      layer.op = op;
      layer.plan.op = static_cast<int32_t>(op);
      layer.plan.macs = op_macs(out.graph, op);
    } else {
      layer = PERAXIS_TRY_NOTE(compare_isolated(out.graph, op, reference, build, plan, options.threads),
                               "while running {} alone", out.graph.op_label(op));
    }
    layer.accumulated = compare_outputs(out.graph, op, got, reference);
    if (layer.isolated && ir::is_convolution_like(out.graph.ops[op].kind)) {
      if (!out.pooled) out.pooled.emplace();
      out.pooled->add(*layer.isolated);
    }
    out.layers.push_back(std::move(layer));
  }
  return {};
}

// A model with states begins every set anew, or with `keep_state` the first one only.
Status compare_golden_sets(CompiledModel& compiled, const Goldens& goldens, bool keep_state,
                           Comparison& out) {
  compiled.reset_states();
  base::Progress progress("running golden sets", static_cast<int64_t>(goldens.sets.size()));
  for (size_t s = 0; s < goldens.sets.size(); ++s) {
    progress.update(static_cast<int64_t>(s));
    const GoldenSet& set = goldens.sets[s];
    if (!keep_state) compiled.reset_states();
    const auto outputs =
        PERAXIS_TRY_NOTE(compiled.run(spans(set.inputs), nullptr), "in golden set {}", set.number);
    for (const auto& [n, want] : set.outputs)
      out.golden_sets.push_back(
          {set.number, n, difference(out.graph.tensor(out.graph.outputs[n]).type, outputs[n], want)});
  }
  return {};
}

CliResult<Comparison> compare(const CompareOptions& options) {
  compiler::Options build = PERAXIS_TRY(compiler_options(options.build, 0));
  const Loaded loaded = PERAXIS_TRY(load_model(options.model, options.reading));
  build.model_hash = loaded.hash;
  Comparison out;
  out.graph = *loaded.model;
  PERAXIS_TRY(
      calibrate(out.graph, options.build.calibrate, options.threads, build, drawn_progress("calibrating")));
  Goldens goldens;
  for (const std::string& path : options.goldens) {
    Goldens more = PERAXIS_TRY(read_goldens(path, out.graph));
    std::move(more.sets.begin(), more.sets.end(), std::back_inserter(goldens.sets));
    goldens.tensors.merge(more.tensors);
  }
  TensorMap got;
  out.from_dump = !options.dump.empty();
  if (out.from_dump) got = PERAXIS_TRY(read_goldens(options.dump, out.graph)).tensors;
  const std::vector<std::vector<uint8_t>> inputs =
      PERAXIS_TRY(choose_inputs(options, out.graph, goldens, got));
  const TensorMap reference = PERAXIS_TRY(reference_activations(
      out.graph, spans(inputs), kernel_options(options.build.reference, options.threads)));

  plan::Plan plan;
  if (!out.from_dump) {
    const plan::PlannerOptions planning = PERAXIS_TRY(compiler::planner_options(build));
    plan = PERAXIS_TRY(plan::make_plan(out.graph, planning));
    CompiledModel compiled = PERAXIS_TRY(CompiledModel::create(out.graph, build, plan, options.threads));
    const auto outputs = PERAXIS_TRY(compiled.run(spans(inputs), &got));
    for (size_t n = 0; n < outputs.size(); ++n) got[out.graph.outputs[n]] = outputs[n];
    out.tasks = compiled.counters().tasks;
    out.macs = compiled.counters().macs;
    PERAXIS_TRY(compare_golden_sets(compiled, goldens, options.keep_state, out));
  }
  PERAXIS_TRY(compare_layers(options, build, plan, reference, got, out));
  out.warnings = model_warnings(out.graph, loaded);
  std::vector<exe::LayerPlan> records;
  for (const LayerComparison& layer : out.layers) records.push_back(layer.plan);
  for (std::string& warning : strategy_warnings(out.graph, records))
    out.warnings.push_back(std::move(warning));
  for (size_t n = 0; n < out.graph.outputs.size(); ++n)
    if (const auto d = compare_tensor(out.graph, out.graph.outputs[n], got, reference))
      out.end_to_end.push_back({-1, n, *d});
  // Stored activations belong to their own inputs: comparing them with a run on others says nothing.
  const bool same_inputs = goldens.sets.empty() || goldens.sets.front().inputs == inputs;
  const auto stored_inputs = inputs_of(out.graph, goldens.tensors);
  if (stored_inputs ? *stored_inputs == inputs : same_inputs)
    for (const auto& [tensor, values] : goldens.tensors)
      if (const auto d = compare_tensor(out.graph, tensor, got, goldens.tensors))
        out.golden_tensors.emplace_back(tensor, *d);
  const std::vector<bool> wanted = activations(out.graph);
  for (size_t t = 0; t < wanted.size(); ++t)
    if (wanted[t] && got.find(static_cast<int32_t>(t)) == got.end())
      out.removed.push_back(static_cast<int32_t>(t));
  return out;
}

Json optional_json(const std::optional<Difference>& d) {
  return d ? difference_json(*d) : Json(nullptr);
}

Json output_json(const ir::Graph& graph, const OutputDifference& entry) {
  Json out;
  if (entry.set >= 0) out["set"] = entry.set;
  out["output"] = entry.output;
  out["name"] = graph.tensor(graph.outputs[entry.output]).name;
  out.update(difference_json(entry.difference));
  return out;
}

Json comparison_json(const CompareOptions& options, const Comparison& c) {
  Json out;
  out["model"] = options.model;
  out["device"] = c.from_dump ? "dump" : "sim";
  out["accuracy"] = options.build.accuracy;
  out["reference"] = options.build.reference;
  out["strategy"] = options.build.chosen.strategy;
  std::vector<exe::LayerPlan> plans;
  for (const LayerComparison& layer : c.layers) plans.push_back(layer.plan);
  out["layers"] = layers_json(c.graph, plans);
  int64_t isolated_layers = 0;
  for (size_t i = 0; i < c.layers.size(); ++i) {
    out["layers"][i]["isolated"] = optional_json(c.layers[i].isolated);
    out["layers"][i]["accumulated"] = optional_json(c.layers[i].accumulated);
    if (c.layers[i].isolated && ir::is_convolution_like(c.graph.ops[c.layers[i].op].kind)) ++isolated_layers;
  }
  out["isolated"] = optional_json(c.pooled);
  if (c.pooled) out["isolated"]["layers"] = isolated_layers;
  out["end_to_end"] = Json::array();
  for (const OutputDifference& entry : c.end_to_end) out["end_to_end"].push_back(output_json(c.graph, entry));
  if (!options.goldens.empty()) {
    out["goldens"] = {{"sets", Json::array()}, {"tensors", Json::array()}};
    for (const OutputDifference& entry : c.golden_sets)
      out["goldens"]["sets"].push_back(output_json(c.graph, entry));
    for (const auto& [tensor, d] : c.golden_tensors) {
      Json entry{{"tensor", tensor}, {"name", c.graph.tensor(tensor).name}};
      entry.update(difference_json(d));
      out["goldens"]["tensors"].push_back(std::move(entry));
    }
  }
  out["removed"] = c.removed;
  out["npu"] = npu_json(c.tasks, c.macs, graph_macs(c.graph));
  out["warnings"] = c.warnings;
  return out;
}

std::vector<std::string> difference_cells(const std::optional<Difference>& d) {
  if (!d) return {"", "", ""};
  return {fmt::format("{:.4f}", d->percent()), fmt::format("{:g}", d->max), histogram_text(*d)};
}

std::string outputs_text(const ir::Graph& graph, const std::vector<OutputDifference>& entries, bool sets) {
  base::Table table({"set", "output", "elements", "differing", "%", "max", "mean", "-2-/-1/0/1/2+", "name"});
  for (const OutputDifference& entry : entries)
    table.add_row(
        {sets ? std::to_string(entry.set) : "", std::to_string(entry.output),
         base::with_thousands(entry.difference.elements), base::with_thousands(entry.difference.differing),
         fmt::format("{:.4f}", entry.difference.percent()), fmt::format("{:g}", entry.difference.max),
         fmt::format("{:.5f}", entry.difference.mean()), histogram_text(entry.difference),
         short_name(graph.tensor(graph.outputs[entry.output]).name)});
  return table.text();
}

void print_comparison(const CompareOptions& options, const Comparison& c) {
  std::string text =
      fmt::format("{}: accuracy {}, strategy {}, against the {} kernels\n\n", printable(options.model),
                  options.build.accuracy, options.build.chosen.strategy, options.build.reference);
  base::Table table({"op", "kind", "device", "isolated %", "max", "-2-/-1/0/1/2+", "accumulated %", "max",
                     "-2-/-1/0/1/2+", "name"});
  std::vector<exe::LayerPlan> plans;
  for (const LayerComparison& layer : c.layers) {
    std::vector<std::string> row{std::to_string(layer.op), ir::op_name(c.graph.ops[layer.op].kind),
                                 layer.plan.strategy.empty() ? layer.plan.device : layer.plan.strategy};
    for (std::string& cell : difference_cells(layer.isolated)) row.push_back(std::move(cell));
    for (std::string& cell : difference_cells(layer.accumulated)) row.push_back(std::move(cell));
    row.push_back(short_name(op_output_name(c.graph, layer.op)));
    table.add_row(std::move(row));
    plans.push_back(layer.plan);
  }
  text += table.text();
  if (c.pooled)
    text += fmt::format(
        "\nisolated, all convolutions of the NPU: {} of {} values differ ({:.4f} %), at most by {:g}\n",
        base::with_thousands(c.pooled->differing), base::with_thousands(c.pooled->elements),
        c.pooled->percent(), c.pooled->max);
  text += fallback_text(c.graph, plans);
  text += "\nend to end, against the reference kernels\n" + outputs_text(c.graph, c.end_to_end, false);
  if (!c.golden_sets.empty())
    text += "\nend to end, against the goldens\n" + outputs_text(c.graph, c.golden_sets, true);
  if (!c.golden_tensors.empty()) {
    Difference all;
    for (const auto& [tensor, d] : c.golden_tensors) all.add(d);
    text += fmt::format("\n{} stored activations: {} of {} values differ ({:.4f} %), at most by {:g}\n",
                        c.golden_tensors.size(), base::with_thousands(all.differing),
                        base::with_thousands(all.elements), all.percent(), all.max);
  }
  print_text(text);
}

CliStatus compare_command(const CompareOptions& options) {
  const Comparison result = PERAXIS_TRY(compare(options));
  print_warnings(result.warnings);
  if (options.json)
    print_json(comparison_json(options, result));
  else
    print_comparison(options, result);
  return {};
}

}  // namespace

void add_compare(const Arguments& arguments) {
  const auto options = std::make_shared<CompareOptions>();
  arguments.option("MODEL", options->model, "a TFLite model").required();
  add_input_options(arguments, options->inputs);
  arguments
      .option("--goldens", options->goldens,
              "stored sets i<k>_<n>, o<k>_<n>, or activations t<index>; repeatable")
      .not_empty()
      .type_name("F.npz")
      .repeatable();
  arguments.option("--dump", options->dump, "activations (run --dump-tensors) to compare instead of running")
      .not_empty()
      .type_name("D.npz");
  add_build_options(arguments, options->build);
  add_model_options(arguments, options->reading);
  arguments.flag("--keep-state", options->keep_state,
                 "golden sets are steps of one sequence: a model that keeps state is not reset between them");
  arguments.flag("--json", options->json, "one JSON document on stdout");
  add_threads_option(arguments, options->threads);
  arguments.runs([options] { return compare_command(*options); });
}

}  // namespace peraxis::cli
