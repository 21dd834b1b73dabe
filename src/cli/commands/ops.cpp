// peraxis ops: every operator, where it can run and under which conditions; with a model, its operators and
// where each runs. The facts are those of the lists that decide: ir/ops.def, lower/device_op.cpp,
// lower/constraints.cpp, kernels/kernels.def. docs/operators.md is made from the JSON.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "cli/cli.hpp"
#include "cli/layers.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/warnings.hpp"
#include "import/import.hpp"
#include "kernels/facts.hpp"
#include "lower/device_op.hpp"
#include "lower/geometry.hpp"
#include "plan/describe.hpp"

namespace peraxis::cli {
namespace {

struct OpsOptions {
  ModelOptions reading;
  std::string model;
  BuildOptions build;
  bool json = false;
};

struct OpEntry {
  ir::OpKind kind;
  const char* name;
};
constexpr std::array kEntries = {
#define PERAXIS_OP(kind, name, rule, attributes) OpEntry{ir::OpKind::kind, name},
#include "ir/ops.def"
#undef PERAXIS_OP
};

std::string conditions_of(const lower::DeviceText& text) {
  return text.conditions == nullptr ? std::string() : text.conditions();
}

// --- every operator

Json operator_facts_json(const OpEntry& entry) {
  Json out;
  out["name"] = entry.name;
  out["tflite_code"] = import::operator_code(entry.kind);
  out["convolution"] = ir::is_convolution_like(entry.kind);
  out["npu"] = Json::array();
  for (const lower::DeviceText& text : lower::device_texts(entry.kind))
    out["npu"].push_back(
        {{"tasks", text.tasks}, {"accuracy", text.accuracy}, {"conditions", conditions_of(text)}});
  const kernels::KernelFacts cpu = kernels::kernel_facts(entry.kind);
  Json types = Json::array();
  for (const ir::DataType type : cpu.types) types.push_back(ir::data_type_name(type));
  out["cpu"] = {{"types", types}, {"types_text", kernels::types_text(cpu.types)}, {"note", cpu.note}};
  return out;
}

Json conditions_json() {
  Json refusals = Json::array();
  for (const lower::NpuRefusal& refusal : lower::npu_refusals())
    refusals.push_back({{"sentence", refusal.sentence},
                        {"limit", refusal.limit > 0 ? Json(refusal.limit) : Json(nullptr)},
                        {"field", refusal.field.empty() ? Json(nullptr) : Json(refusal.field)}});
  return {{"convolution_refusals", refusals}, {"other_operators", lower::map_conditions()}};
}

void print_all() {
  base::Table npu({"operator", "tasks of the NPU", "against the reference", "conditions"});
  base::Table cpu({"operator", "types on the CPU", "note"});
  for (const OpEntry& entry : kEntries) {
    for (const lower::DeviceText& text : lower::device_texts(entry.kind))
      npu.add_row({entry.name, text.tasks, text.accuracy,
                   ir::is_convolution_like(entry.kind) ? "see below" : conditions_of(text)});
    const kernels::KernelFacts facts = kernels::kernel_facts(entry.kind);
    cpu.add_row({entry.name, kernels::types_text(facts.types), facts.note});
  }
  std::string text =
      npu.text() + "\nOn the NPU an operator other than a convolution wants data that are there already; " +
      lower::map_conditions() + ".\n\nWhat keeps a convolution off the NPU (N: a number or a type):\n";
  for (const lower::NpuRefusal& refusal : lower::npu_refusals()) text += "  " + refusal.sentence + "\n";
  print_text(text + "\n" + cpu.text());
}

// --- the operators of a model

struct KindCount {
  int64_t count = 0, npu = 0;
  std::map<std::string, int64_t> reasons;  // of those on the CPU
};
using Counts = std::map<ir::OpKind, KindCount>;

CliResult<Counts> count(const ir::Graph& graph, const BuildOptions& options,
                        std::vector<std::string>& warnings) {
  const compiler::Options build = PERAXIS_TRY(compiler_options(options, 0));
  const plan::PlannerOptions planning = PERAXIS_TRY(compiler::planner_options(build));
  const plan::Plan plan = PERAXIS_TRY(plan::make_plan(graph, planning));
  Counts out;
  const auto add = [&](int32_t op, const std::string& device, const std::string& reason) {
    KindCount& kind = out[graph.ops[static_cast<size_t>(op)].kind];
    ++kind.count;
    if (device == "npu")
      ++kind.npu;
    else
      ++kind.reasons[reason];
  };
  const std::vector<program::Operator> operators = plan::describe_operators(graph, plan, planning.cost);
  const std::vector<exe::LayerPlan> layers = compiler::layer_records(graph, operators);
  for (const exe::LayerPlan& layer : layers) add(layer.op, layer.device, layer.reason);
  for (std::string& warning : strategy_warnings(graph, layers)) warnings.push_back(std::move(warning));
  for (const exe::OperatorPlan& o : compiler::operator_records(graph, operators))
    add(o.op, o.device, o.reason);
  return out;
}

Json operator_counts_json(const Counts& counts) {
  Json out = Json::array();
  for (const OpEntry& entry : kEntries) {
    const auto found = counts.find(entry.kind);
    if (found == counts.end()) continue;
    Json facts = operator_facts_json(entry);
    facts["count"] = found->second.count;
    facts["on_npu"] = found->second.npu;
    facts["on_cpu"] = found->second.count - found->second.npu;
    facts["reasons"] = Json::array();
    for (const auto& [reason, times] : found->second.reasons)
      facts["reasons"].push_back({{"reason", reason}, {"count", times}});
    out.push_back(std::move(facts));
  }
  return out;
}

void print_counts(const OpsOptions& options, const Counts& counts) {
  base::Table table({"operator", "count", "NPU", "CPU"});
  std::string reasons;
  for (const OpEntry& entry : kEntries) {
    const auto found = counts.find(entry.kind);
    if (found == counts.end()) continue;
    const KindCount& kind = found->second;
    table.add_row({entry.name, std::to_string(kind.count), std::to_string(kind.npu),
                   std::to_string(kind.count - kind.npu)});
    for (const auto& [reason, times] : kind.reasons)
      reasons += fmt::format("  {} {} on cpu: {}\n", times, entry.name, printable_message(reason));
  }
  print_text(fmt::format("{}: accuracy {}, strategy {}\n\n", printable(options.model), options.build.accuracy,
                         options.build.chosen.strategy) +
             table.text() + reasons);
}

// --- the operators of a file that is not read

Json file_json(const OpsOptions& options, const std::vector<import::OperatorCount>& operators) {
  Json out;
  out["model"] = options.model;
  out["operators"] = Json::array();
  for (const import::OperatorCount& entry : operators)
    out["operators"].push_back({{"name", entry.name},
                                {"custom", entry.custom},
                                {"tflite_code", entry.code},
                                {"version", entry.version},
                                {"count", entry.count},
                                {"first", entry.first},
                                {"supported", entry.refusal.empty()},
                                {"reason", entry.refusal.empty() ? Json(nullptr) : Json(entry.refusal)}});
  return out;
}

void print_file(const OpsOptions& options, const std::vector<import::OperatorCount>& operators) {
  base::Table table({"operator", "version", "count", "first", "read"});
  std::string reasons;
  for (const import::OperatorCount& entry : operators) {
    const std::string name = printable(entry.custom         ? fmt::format("custom '{}'", entry.name)
                                       : entry.name.empty() ? fmt::format("code {}", entry.code)
                                                            : entry.name);
    table.add_row({name, std::to_string(entry.version), std::to_string(entry.count),
                   std::to_string(entry.first), entry.refusal.empty() ? "yes" : "no"});
    if (!entry.refusal.empty()) reasons += fmt::format("  {} {}: {}\n", entry.count, name, entry.refusal);
  }
  print_text(fmt::format("{}: not read\n\n", printable(options.model)) + table.text() + reasons);
}

// All operators of a file when some of them are why it is not read.
void report_unread(const OpsOptions& options) {
  const auto operators = count_operators(options.model, options.reading);
  if (!operators || std::ranges::all_of(
                        *operators, [](const import::OperatorCount& entry) { return entry.refusal.empty(); }))
    return;
  if (options.json)
    print_json(file_json(options, *operators));
  else
    print_file(options, *operators);
}

CliStatus ops_command(const OpsOptions& options) {
  if (options.model.empty()) {
    if (options.reading.given()) return usage("--signature and --shape are of a model; give a model");
    if (!options.build.given.empty())
      return usage("{} says how a model is planned; give a model", options.build.given.front());
    if (!options.json) {
      print_all();
      return {};
    }
    Json out;
    out["operators"] = Json::array();
    for (const OpEntry& entry : kEntries) out["operators"].push_back(operator_facts_json(entry));
    out["conditions"] = conditions_json();
    print_json(out);
    return {};
  }
  CliResult<Loaded> read = load_model(options.model, options.reading);
  if (!read) {
    if (!read.error().usage) report_unread(options);
    return tl::make_unexpected(std::move(read).error());
  }
  const Loaded loaded = std::move(*read);
  std::vector<std::string> warnings = model_warnings(*loaded.model, loaded);
  const Counts counts = PERAXIS_TRY(count(*loaded.model, options.build, warnings));
  print_warnings(warnings);
  if (!options.json) {
    print_counts(options, counts);
    return {};
  }
  Json out;
  out["model"] = options.model;
  out["accuracy"] = options.build.accuracy;
  out["strategy"] = options.build.chosen.strategy;
  out["operators"] = operator_counts_json(counts);
  out["conditions"] = conditions_json();
  out["warnings"] = warnings;
  print_json(out);
  return {};
}

}  // namespace

void add_ops(const Arguments& arguments) {
  const auto options = std::make_shared<OpsOptions>();
  arguments.option("MODEL", options->model, "a TFLite model: its operators only, and where they run")
      .not_empty();
  add_build_options(arguments, options->build);
  add_model_options(arguments, options->reading);
  arguments.flag("--json", options->json, "one JSON document on stdout");
  arguments.runs([options] { return ops_command(*options); });
}

}  // namespace peraxis::cli
