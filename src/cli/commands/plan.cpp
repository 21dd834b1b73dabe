// peraxis plan: what a model will cost and how exact it will be, before anything runs.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/progress.hpp"
#include "base/table.hpp"
#include "cli/cli.hpp"
#include "cli/inputs.hpp"
#include "cli/layers.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/plan_operators.hpp"
#include "cli/progress.hpp"
#include "cli/uploads.hpp"
#include "cli/warnings.hpp"
#include "engine/calibration.hpp"
#include "engine/layer_compare.hpp"
#include "engine/strategy_table.hpp"

namespace peraxis::cli {
namespace {

struct PlanOptions {
  ModelOptions reading;
  std::string model;
  BuildOptions build;
  InputOptions inputs;
  bool all_strategies = false, json = false, csv = false;
  int threads = 0;
};

// What the command found; the parts that were not asked for are empty.
struct Report {
  ir::Graph graph;
  std::vector<passes::Change> changes;  // what passes did to it
  plan::Plan plan;
  std::vector<std::optional<Difference>> isolated;  // by layer of the plan, when inputs were given
  std::optional<OperatorDifferences> operators;     // the same of other operators
  std::vector<StrategyRow> rows;
  bool synthetic = false;  // the rows were measured on synthetic inputs
  std::vector<std::string> warnings;
  compiler::Compiled compiled;  // by the plan
};

constexpr size_t kParetoRows = 12;  // printed for people; JSON and CSV have all

std::string constants_text(const rk3588::CostConstants& c) {
  return fmt::format(
      "times are estimates, no board was measured: clock {:g} GHz, memory {:g} GB/s, {:g} us a task; host: "
      "{:g} us a stop, {:g} ns a copied and {:g} ns a requantized value, {:g} ns an output element of other "
      "operators, {:g} GMAC/s\n",
      c.clock_ghz, c.bandwidth_gbs, c.task_us, c.host_step_us, c.host_copy_ns, c.host_requantize_ns,
      c.host_element_ns, c.host_gmacs);
}

Json constants_json(const rk3588::CostConstants& c) {
  return {{"clock_ghz", c.clock_ghz},
          {"bandwidth_gbs", c.bandwidth_gbs},
          {"task_us", c.task_us},
          {"host_step_us", c.host_step_us},
          {"host_copy_ns", c.host_copy_ns},
          {"host_requantize_ns", c.host_requantize_ns},
          {"host_element_ns", c.host_element_ns},
          {"host_gmacs", c.host_gmacs}};
}

Json cost_json(const plan::Cost& cost) {
  return {{"tasks", cost.tasks},
          {"mac_cycles", cost.mac_cycles},
          {"bytes", cost.bytes},
          {"host_values", cost.host_values},
          {"estimated_npu_ms", cost.npu_ms},
          {"estimated_host_ms", cost.host_ms},
          {"estimated_ms", cost.ms()}};
}

// --- one plan, layer by layer

Json layer_json(const Report& report, size_t i) {
  const plan::LayerPlan& layer = report.plan.layers[i];
  Json out = layer_head_json(report.graph, report.compiled.executable.layers[i]);
  out["sets"] = layer.params.sets.size();
  out["macs"] = layer.geometry.macs();
  out["gathered"] = layer.gathered.empty() ? Json(nullptr) : Json(layer.gathered);
  // The ADD that the layer's tasks do too: the certificate is that of both operators.
  out["sum"] = layer.sum >= 0 ? Json(layer.sum) : Json(nullptr);
  out.update(cost_json(layer.cost));
  if (layer.on_npu()) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (const requant::ChannelCertificate& channel : layer.certificate.channels) {
      low = std::min(low, channel.acc_min);
      high = std::max(high, channel.acc_max);
    }
    out["certificate"] = {{"acc_min", low},
                          {"acc_max", high},
                          {"values", layer.certificate.values()},
                          {"differing", layer.certificate.differing()},
                          {"max", layer.certificate.max()},
                          {"every_tie_reading", layer.certificate.every_reading},
                          {"max_any_tie_reading", layer.certificate.max_any_reading}};
    out["expected_mismatch_percent"] = 100 * layer.certificate.expected();
  }
  if (!report.isolated.empty())
    out["isolated"] = report.isolated[i] ? difference_json(*report.isolated[i]) : Json(nullptr);
  return out;
}

Json pareto_json(const plan::Plan& plan) {
  Json out = Json::array();
  for (const plan::ParetoPoint& point : plan.pareto)
    out.push_back({{"tasks", point.tasks},
                   {"estimated_ms", point.ms},
                   {"expected_mismatch_percent", 100 * point.expected},
                   {"exact_layers", point.exact_layers}});
  return out;
}

void print_plan(const PlanOptions& options, const Report& report) {
  const plan::Plan& plan = report.plan;
  std::string text = fmt::format(
      "{}: accuracy {}, strategy {}, against the {} kernels\n{}\n", printable(options.model),
      options.build.max_mismatch ? fmt::format("at most {:g} %", *options.build.max_mismatch)
                                 : options.build.accuracy,
      options.build.chosen.strategy, options.build.reference, constants_text(options.build.chosen.cost));
  const bool measured = !report.isolated.empty();
  std::vector<std::string> header{"op",         "kind",  "strategy",  "sets",         "tasks",
                                  "MAC cycles", "bytes", "est. ms",   "accumulators", "differing %",
                                  "max",        "ties",  "expected %"};
  if (measured) header.emplace_back("measured %");
  header.emplace_back("name");
  base::Table table(std::move(header));
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const plan::LayerPlan& layer = plan.layers[i];
    const requant::LayerCertificate& certificate = layer.certificate;
    std::vector<std::string> row{std::to_string(layer.op), ir::op_name(report.graph.ops[layer.op].kind)};
    if (layer.on_npu()) {
      row.insert(row.end(),
                 {requant::strategy_name(layer.params.strategy), std::to_string(layer.params.sets.size()),
                  base::with_thousands(layer.cost.tasks), base::with_thousands(layer.cost.mac_cycles),
                  base::with_thousands(layer.cost.bytes), fmt::format("{:.3f}", layer.cost.ms()),
                  fmt::format("{:.3g}", certificate.values()),
                  share_text(certificate.differing() / std::max(1.0, certificate.values())),
                  std::to_string(certificate.max()), certificate.every_reading ? "any" : "open",
                  share_text(certificate.expected())});
    } else {
      row.insert(row.end(),
                 {"cpu", "", "", "", "", fmt::format("{:.3f}", layer.cost.ms()), "", "", "", "", ""});
    }
    if (measured)
      row.push_back(report.isolated[i] ? fmt::format("{:.4f}", report.isolated[i]->percent()) : "");
    row.push_back(short_name(op_output_name(report.graph, layer.op)));
    table.add_row(std::move(row));
  }
  const OperatorDifferences* others = report.operators ? &*report.operators : nullptr;
  text += table.text() + operators_table(report.graph, plan, others);
  text += fallback_text(report.graph, report.compiled.executable.layers);
  text += operators_text(report.graph, report.compiled.executable.operators);
  const auto on_device = static_cast<size_t>(std::ranges::count(plan.on_device, true));
  const size_t on_cpu = report.graph.ops.size() - plan.layers.size() - on_device;
  text += fmt::format(
      "\ntotal: {} tasks, {} MAC cycles, {} bytes; estimated {:.2f} ms: NPU {:.2f}, host {:.2f}\n",
      base::with_thousands(plan.cost.tasks), base::with_thousands(plan.cost.mac_cycles),
      base::with_thousands(plan.cost.bytes), plan.cost.ms(), plan.cost.npu_ms, plan.cost.host_ms);
  text += fmt::format(
      "expected mismatch: {} % of the outputs of the NPU's convolutions and of its other "
      "operators that can differ\n",
      share_text(plan.expected));
  const double convolutions = plan::pool_of_layers(plan).share();
  if (convolutions != plan.expected)
    text += fmt::format("expected mismatch of the convolutions alone: {} %\n", share_text(convolutions));
  if (on_device > 0)
    text += fmt::format("other operators on the NPU: {}, in {} tasks\n", on_device, plan.device.tasks);
  if (on_cpu > 0)
    text += fmt::format("other operators on the CPU: {}, {:.2f} ms of the host's time\n", on_cpu,
                        plan.cpu.host_ms);
  text += splitting_text(report.compiled) + uploads_text(report.graph, report.compiled.executable);
  text += changes_text(report.changes);
  if (plan.pareto.size() > 1) {
    text += "\ntime against mismatch, from the cheapest plan to exact\n";
    base::Table pareto({"est. ms", "tasks", "expected %", "exact layers"});
    const size_t rows = std::min(kParetoRows, plan.pareto.size());
    for (size_t r = 0; r < rows; ++r) {
      const plan::ParetoPoint& point = plan.pareto[r * (plan.pareto.size() - 1) / (rows - 1)];
      pareto.add_row({fmt::format("{:.2f}", point.ms), base::with_thousands(point.tasks),
                      share_text(point.expected), std::to_string(point.exact_layers)});
    }
    text += pareto.text();
  }
  print_text(text);
}

void print_plan_csv(const Report& report) {
  std::string text =
      "op,kind,device,strategy,sets,tasks,mac_cycles,bytes,host_values,estimated_ms,values,differing,max,"
      "every_tie_reading,expected_mismatch_percent,isolated_percent\n";
  for (size_t i = 0; i < report.plan.layers.size(); ++i) {
    const plan::LayerPlan& layer = report.plan.layers[i];
    text += fmt::format("{},{},{},{},{},{},{},{},{},{:.6g},", layer.op,
                        ir::op_name(report.graph.ops[layer.op].kind), layer.on_npu() ? "npu" : "cpu",
                        layer.on_npu() ? requant::strategy_name(layer.params.strategy) : "",
                        layer.params.sets.size(), layer.cost.tasks, layer.cost.mac_cycles, layer.cost.bytes,
                        layer.cost.host_values, layer.cost.ms());
    if (layer.on_npu())
      text += fmt::format("{:.0f},{:.0f},{},{},{:.6g},", layer.certificate.values(),
                          layer.certificate.differing(), layer.certificate.max(),
                          layer.certificate.every_reading ? 1 : 0, 100 * layer.certificate.expected());
    else
      text += ",,,,,";
    if (!report.isolated.empty() && report.isolated[i])
      text += fmt::format("{:.6g}", report.isolated[i]->percent());
    text += "\n";
  }
  text += operators_csv(report.graph, report.plan, report.operators ? &*report.operators : nullptr);
  print_text(text);
}

// --- strategies beside each other

Json row_json(const StrategyRow& row) {
  if (row.error) return {{"strategy", row.name}, {"error", row.error->text()}};
  return {{"strategy", row.name},
          {"tasks", row.cost.tasks},
          {"bytes", row.cost.bytes},
          {"mac_cycles", row.cost.mac_cycles},
          {"estimated_ms", row.cost.ms()},
          {"expected_mismatch_percent", 100 * row.expected},
          {"isolated_mismatch_percent", row.isolated.percent()},
          {"isolated_max", row.isolated.max},
          {"end_to_end_max", row.end_to_end.max},
          {"end_to_end_mean", row.end_to_end.mean()}};
}

void print_rows(const PlanOptions& options, const Report& report) {
  std::string text =
      fmt::format("{}: every strategy, against the {} kernels, on {} inputs\n{}\n", printable(options.model),
                  options.build.reference, report.synthetic ? "synthetic" : "the given",
                  constants_text(options.build.chosen.cost));
  base::Table table({"strategy", "tasks", "bytes", "est. ms", "isolated %", "max", "end to end max", "mean"});
  std::string failures;
  for (const StrategyRow& row : report.rows)
    if (row.error)
      failures += fmt::format("{}: {}\n", row.name, printable(row.error->text()));
    else if (row.left_out.empty())
      table.add_row({row.name, base::with_thousands(row.cost.tasks), base::with_thousands(row.cost.bytes),
                     fmt::format("{:.2f}", row.cost.ms()), share_text(row.isolated.percent() / 100),
                     fmt::format("{:g}", row.isolated.max), fmt::format("{:g}", row.end_to_end.max),
                     fmt::format("{:.4f}", row.end_to_end.mean())});
  print_text(text + table.text() + failures);
}

void print_rows_csv(const Report& report) {
  std::string text =
      "strategy,tasks,bytes,mac_cycles,estimated_ms,expected_mismatch_percent,isolated_mismatch_percent,"
      "isolated_max,end_to_end_max,end_to_end_mean\n";
  for (const StrategyRow& row : report.rows)
    if (row.error)
      text += row.name + ",,,,,,,,,\n";  // the reason is among the warnings
    else if (row.left_out.empty())
      text +=
          fmt::format("{},{},{},{},{:.6g},{:.6g},{:.6g},{:g},{:g},{:.6g}\n", row.name, row.cost.tasks,
                      row.cost.bytes, row.cost.mac_cycles, row.cost.ms(), 100 * row.expected,
                      row.isolated.percent(), row.isolated.max, row.end_to_end.max, row.end_to_end.mean());
  print_text(text);
}

// --- the command

CliResult<Report> make_report(const PlanOptions& options) {
  compiler::Options build = PERAXIS_TRY(compiler_options(options.build, 0));
  Loaded loaded = PERAXIS_TRY(load_model(options.model, options.reading));
  Report report;
  report.graph = std::move(*loaded.model);
  report.changes = std::move(loaded.changes);
  report.warnings = model_warnings(report.graph, loaded);
  const int threads = options.threads > 0
                          ? options.threads
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const bool given = !options.inputs.inputs.empty() || !options.inputs.image.empty();
  std::vector<std::vector<uint8_t>> inputs;
  if (given) inputs = PERAXIS_TRY(bind_inputs(report.graph, options.inputs)).values;
  PERAXIS_TRY(
      calibrate(report.graph, options.build.calibrate, threads, build, drawn_progress("calibrating")));
  report.synthetic = options.all_strategies && !given;
  if (report.synthetic) inputs = synthetic_inputs(report.graph);
  TensorMap reference;
  if (!inputs.empty())
    reference = PERAXIS_TRY(
        reference_activations(report.graph, spans(inputs), kernel_options(options.build.reference, threads)));
  if (options.all_strategies) {
    report.rows =
        measure_strategies({report.graph, inputs, reference}, build, threads, drawn_progress("strategies"));
    for (const StrategyRow& row : report.rows)
      if (!row.left_out.empty())
        report.warnings.push_back(
            fmt::format("{} is left out: it fits no layer ({})", row.name, row.left_out));
    for (const StrategyRow& row : report.rows)
      if (row.error)
        report.warnings.push_back(
            fmt::format("{} failed, its row has no figures: {}", row.name, row.error->text()));
    if (report.synthetic)
      report.warnings.emplace_back("no --input or --image: the strategies were measured on synthetic inputs");
    return report;
  }
  {
    plan::PlannerOptions planning = PERAXIS_TRY(compiler::planner_options(build));
    planning.pareto = true;
    base::Progress progress("planning", static_cast<int64_t>(report.graph.ops.size()));
    planning.progress = [&progress](int64_t done, int64_t) { progress.update(done); };
    report.plan = PERAXIS_TRY(plan::make_plan(report.graph, planning));
  }
  report.compiled = PERAXIS_TRY(compiler::compile_measured(report.graph, build, report.plan));
  for (std::string& warning : strategy_warnings(report.graph, report.compiled.executable.layers))
    report.warnings.push_back(std::move(warning));
  if (inputs.empty()) return report;
  for (const plan::LayerPlan& layer : report.plan.layers)
    report.isolated.push_back(layer.on_npu() ? PERAXIS_TRY(compare_isolated(report.graph, layer.op, reference,
                                                                            build, report.plan, threads))
                                                   .isolated
                                             : std::nullopt);
  report.operators = PERAXIS_TRY(measure_operators(report.graph, reference, build, report.plan, threads));
  return report;
}

CliStatus plan_command(const PlanOptions& options) {
  if (options.all_strategies)
    for (const std::string& name : options.build.given)
      if (name == "--strategy" || name == "--accuracy" || name == "--max-mismatch")
        return usage("--all-strategies shows every strategy; {} chooses one", name);
  const Report report = PERAXIS_TRY(make_report(options));
  print_warnings(report.warnings);
  if (options.json) {
    Json out;
    out["model"] = options.model;
    out["reference"] = options.build.reference;
    out["estimate"] = constants_json(options.build.chosen.cost);
    if (options.all_strategies) {
      out["inputs"] = report.synthetic ? "synthetic" : "given";
      out["strategies"] = Json::array();
      for (const StrategyRow& row : report.rows)
        if (row.left_out.empty()) out["strategies"].push_back(row_json(row));
    } else {
      out["accuracy"] = options.build.accuracy;
      out["strategy"] = options.build.chosen.strategy;
      out["max_mismatch_percent"] =
          options.build.max_mismatch ? Json(*options.build.max_mismatch) : Json(nullptr);
      out["passes"] = changes_json(report.changes);
      out["layers"] = Json::array();
      for (size_t i = 0; i < report.plan.layers.size(); ++i) out["layers"].push_back(layer_json(report, i));
      out["total"] = cost_json(report.plan.cost);
      out["total"]["expected_mismatch_percent"] = 100 * report.plan.expected;
      add_splitting(out, report.compiled);
      out["uploads"] = uploads_json(report.graph, report.compiled.executable);
      out["operators"] = operators_json(report.graph, report.compiled.executable.operators);
      add_operator_plans(out["operators"], report.graph, report.plan,
                         report.operators ? &*report.operators : nullptr);
      out["other_operators"] = cost_json(report.plan.cpu);
      out["other_operators_on_npu"] = cost_json(report.plan.device);
      out["pareto"] = pareto_json(report.plan);
    }
    out["warnings"] = report.warnings;
    print_json(out);
  } else if (options.all_strategies) {
    options.csv ? print_rows_csv(report) : print_rows(options, report);
  } else {
    options.csv ? print_plan_csv(report) : print_plan(options, report);
  }
  // The others are told whole; the command has failed all the same.
  if (std::ranges::any_of(report.rows, [](const StrategyRow& row) { return row.error.has_value(); }))
    return quiet_failure();
  return {};
}

}  // namespace

void add_plan(const Arguments& arguments) {
  const auto options = std::make_shared<PlanOptions>();
  arguments.option("MODEL", options->model, "a TFLite model").required();
  add_input_options(arguments, options->inputs);
  arguments.flag("--all-strategies", options->all_strategies,
                 "every strategy planned, run on the machine model and compared");
  add_build_options(arguments, options->build);
  add_model_options(arguments, options->reading);
  const Argument json = arguments.flag("--json", options->json, "one JSON document on stdout");
  arguments.flag("--csv", options->csv, "comma-separated values on stdout").excludes(json);
  arguments.option("--threads", options->threads, "threads; 0: as many as the machine has")
      .between(0, 256)
      .shows_default();
  arguments.runs([options] { return plan_command(*options); });
}

}  // namespace peraxis::cli
