// peraxis inspect: what is in a model (operators, shapes, quantization, weight scales, multiplications) or in
// an executable (layers, tasks, buffers).
#include <map>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "cli/arguments.hpp"
#include "cli/cli.hpp"
#include "cli/layers.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/steps.hpp"
#include "cli/uploads.hpp"
#include "cli/warnings.hpp"
#include "engine/facts.hpp"
#include "exe/names.hpp"
#include "ir/operands.hpp"
#include "lower/geometry.hpp"
#include "runtime/program.hpp"

namespace peraxis::cli {
namespace {

struct InspectOptions {
  ModelOptions reading;
  std::string file;
  bool json = false;
};

Json tensors_json(const ir::Graph& graph, const std::vector<int32_t>& tensors) {
  Json out = Json::array();
  for (const int32_t index : tensors) {
    if (index == ir::kAbsent) {
      out.push_back(nullptr);
      continue;
    }
    Json entry{{"tensor", index}};
    entry.update(tensor_json(graph.tensor(index)));
    entry["constant"] = graph.tensor(index).is_constant;
    out.push_back(std::move(entry));
  }
  return out;
}

Json model_json(const InspectOptions& options, const Loaded& loaded) {
  const ir::Graph& graph = *loaded.model;
  Json out;
  out["model"] = options.file;
  out["kind"] = "model";
  out["xxh64"] = fmt::format("{:016x}", loaded.hash);
  out["signatures"] = Json::array();
  for (const import::Signature& signature : loaded.signatures)
    out["signatures"].push_back({{"key", signature.key}, {"subgraph", signature.subgraph}});
  out["inputs"] = tensors_json(graph, graph.inputs);
  out["outputs"] = tensors_json(graph, graph.outputs);
  out["macs"] = graph_macs(graph);
  out["operators"] = Json::array();
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    Json entry;
    entry["op"] = op;
    entry["kind"] = ir::op_name(graph.ops[op].kind);
    entry["name"] = op_output_name(graph, op);
    entry["inputs"] = tensors_json(graph, graph.ops[op].inputs);
    entry["outputs"] = tensors_json(graph, graph.ops[op].outputs);
    entry["macs"] = op_macs(graph, op);
    if (const auto spread = scale_spread(graph, op))
      entry["weight_scales"] = {{"channels", spread->channels},
                                {"all_zero", spread->dead},
                                {"min", spread->min},
                                {"max", spread->max},
                                {"ratio", spread->ratio}};
    if (ir::is_convolution_like(graph.ops[op].kind)) {
      const std::string refusal = lower::npu_refusal(graph, op);
      entry["device"] = refusal.empty() ? "npu" : "cpu";
      entry["reason"] = refusal.empty() ? Json(nullptr) : Json(refusal);
    }
    out["operators"].push_back(std::move(entry));
  }
  return out;
}

std::string scales_text(const ScaleSpread& spread) {
  return spread.channels == 1 ? "per-tensor" : fmt::format("per-axis {}", spread.channels);
}

// A file with one entry needs no name for it.
std::string signatures_text(const std::vector<import::Signature>& signatures) {
  if (signatures.size() < 2) return {};
  std::string text = "signatures (--signature KEY):";
  for (const import::Signature& signature : signatures)
    text += fmt::format(" '{}' (subgraph {})", printable_name(signature.key), signature.subgraph);
  return text + "\n";
}

void print_model(const InspectOptions& options, const Loaded& loaded) {
  const ir::Graph& graph = *loaded.model;
  std::string text = fmt::format("{}: {} operators, {} multiplications\n", printable(options.file),
                                 graph.ops.size(), base::with_thousands(graph_macs(graph))) +
                     signatures_text(loaded.signatures);
  const auto list = [&](const char* what, const std::vector<int32_t>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const ir::Tensor& tensor = graph.tensor(tensors[i]);
      text += fmt::format("{} {}: '{}' {} {}, scale (zero point) {}\n", what, i, printable_name(tensor.name),
                          ir::data_type_name(tensor.type), shape_text(tensor), quant_text(tensor.quant));
    }
  };
  list("input", graph.inputs);
  list("output", graph.outputs);
  base::Table table({"op", "kind", "input", "weights", "output", "type", "output scale (zp)", "weight scales",
                     "ratio", "all-zero", "MACs", "device", "name"});
  std::string reasons;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const ir::Op& o = graph.ops[op];
    const bool convolution =
        ir::is_convolution_like(o.kind) && o.inputs.size() > 1 && o.inputs[1] != ir::kAbsent;
    const auto spread = scale_spread(graph, op);
    const std::string refusal = convolution ? lower::npu_refusal(graph, op) : std::string();
    const int32_t input = convolution        ? ir::conv_operands(o).input
                          : o.inputs.empty() ? ir::kAbsent
                                             : o.inputs[0];
    const ir::Tensor* output = o.outputs.empty() ? nullptr : &graph.tensor(o.outputs.front());
    table.add_row(
        {std::to_string(op), ir::op_name(o.kind), input == ir::kAbsent ? "" : shape_text(graph.tensor(input)),
         convolution ? shape_text(graph.tensor(o.inputs[1])) : "", output ? shape_text(*output) : "",
         output ? ir::data_type_name(output->type) : "", output ? quant_text(output->quant) : "",
         spread ? scales_text(*spread) : "", spread ? fmt::format("{:.4g}", spread->ratio) : "",
         spread ? std::to_string(spread->dead) : "",
         convolution ? base::with_thousands(op_macs(graph, op)) : "",
         !convolution      ? ""
         : refusal.empty() ? "npu"
                           : "cpu",
         short_name(op_output_name(graph, op))});
    if (!refusal.empty())
      reasons +=
          fmt::format("  {} on cpu: {}\n", printable_message(graph.op_label(op)), printable_message(refusal));
  }
  print_text(text + table.text() + reasons);
}

std::string_view kind_name(exe::BufferKind kind) {
  return exe::buffer_kind_names()[static_cast<size_t>(kind)];
}
std::string_view kind_name(exe::TaskKind kind) {
  return exe::task_kind_names()[static_cast<size_t>(kind)];
}

Json executable_json(const InspectOptions& options, const exe::Executable& executable,
                     const ir::Graph& graph) {
  Json out;
  out["model"] = options.file;
  out["kind"] = "executable";
  out["format_version"] = exe::format_version(executable);
  out["target"] = executable.target;
  out["compiler"] = executable.compiler;
  out["source"] = {{"name", executable.model}, {"xxh64", fmt::format("{:016x}", executable.model_hash)}};
  out["accuracy"] = executable.accuracy;
  out["reference"] = executable.reference;
  out["strategy"] = executable.strategy;
  out["inputs"] = tensors_json(graph, graph.inputs);
  out["outputs"] = tensors_json(graph, graph.outputs);
  out["layers"] = layers_json(graph, executable.layers);
  out["tasks"] = Json::array();
  for (const exe::Task& task : executable.tasks)
    out["tasks"].push_back({{"op", task.op},
                            {"kind", kind_name(task.kind)},
                            {"first_word", task.first_word},
                            {"words", task.words},
                            {"first_row", task.first_row},
                            {"rows", task.rows},
                            {"input_channels", task.real_input_channels},
                            {"output_channels", task.real_output_channels},
                            {"set", task.set}});
  out["buffers"] = Json::array();
  for (const exe::Buffer& buffer : executable.buffers)
    out["buffers"].push_back(
        {{"name", buffer.name}, {"kind", kind_name(buffer.kind)}, {"bytes", buffer.size}});
  out["operators"] = operators_json(graph, executable.operators);
  out["steps"] = executable.steps.size();
  std::map<std::string, int64_t> kinds;
  for (const exe::Step& step : executable.steps)
    ++kinds[std::string(exe::step_kind_names()[static_cast<size_t>(step.kind)])];
  out["steps_by_kind"] = kinds;
  out["step_list"] = steps_json(executable);
  out["uploads"] = uploads_json(graph, executable);
  out["relocations"] = executable.relocations.size();
  return out;
}

void print_executable(const InspectOptions& options, const exe::Executable& executable,
                      const ir::Graph& graph) {
  std::string text = fmt::format(
      "{}: executable for {}, made by {} from '{}' (xxh64 {:016x})\n"
      "accuracy {}, reference {}, strategy {}; {} tasks, {} steps, {} relocations\n\n",
      printable(options.file), printable(executable.target), printable(executable.compiler),
      printable(executable.model), executable.model_hash, printable(executable.accuracy),
      printable(executable.reference), printable(executable.strategy), executable.tasks.size(),
      executable.steps.size(), executable.relocations.size());
  base::Table buffers({"buffer", "kind", "bytes"});
  for (const exe::Buffer& buffer : executable.buffers)
    buffers.add_row({printable_name(buffer.name), std::string(kind_name(buffer.kind)),
                     base::with_thousands(buffer.size)});
  base::Table layers(
      {"op", "kind", "device", "strategy", "tasks", "MACs", "differing %", "max", "name", "reason"});
  for (const exe::LayerPlan& layer : executable.layers) {
    const auto op = static_cast<size_t>(layer.op);
    if (op >= graph.ops.size()) continue;
    const auto certificate = certificate_cells(layer);
    layers.add_row({std::to_string(op), ir::op_name(graph.ops[op].kind), printable(layer.device),
                    printable(layer.strategy), std::to_string(layer.tasks), base::with_thousands(layer.macs),
                    certificate.first, certificate.second, short_name(op_output_name(graph, op)),
                    printable(layer.reason.str())});
  }
  base::Table tasks({"task", "op", "kind", "words", "first row", "rows", "in", "out", "set"});
  for (size_t i = 0; i < executable.tasks.size(); ++i) {
    const exe::Task& task = executable.tasks[i];
    tasks.add_row({std::to_string(i), std::to_string(task.op), std::string(kind_name(task.kind)),
                   std::to_string(task.words), std::to_string(task.first_row), std::to_string(task.rows),
                   std::to_string(task.real_input_channels), std::to_string(task.real_output_channels),
                   std::to_string(task.set)});
  }
  print_text(text + buffers.text() + uploads_text(graph, executable) + "\n" + layers.text() + "\n" +
             tasks.text() + "\n" + steps_table(graph, executable));
}

CliStatus inspect_command(const InspectOptions& options) {
  const Loaded loaded = PERAXIS_TRY(load(options.file, options.reading));
  if (loaded.model) {
    const std::vector<std::string> warnings = model_warnings(*loaded.model, loaded);
    print_warnings(warnings);
    if (options.json) {
      Json out = model_json(options, loaded);
      out["warnings"] = warnings;
      print_json(out);
    } else {
      print_model(options, loaded);
    }
    return {};
  }
  const ir::Graph graph = PERAXIS_TRY(runtime::load_graph(*loaded.executable));
  std::vector<std::string> warnings = model_warnings(graph, loaded);
  for (std::string& warning : strategy_warnings(graph, loaded.executable->layers))
    warnings.push_back(std::move(warning));
  print_warnings(warnings);
  if (options.json) {
    Json out = executable_json(options, *loaded.executable, graph);
    out["warnings"] = warnings;
    print_json(out);
  } else {
    print_executable(options, *loaded.executable, graph);
  }
  return {};
}

}  // namespace

void add_inspect(const Arguments& arguments) {
  const auto options = std::make_shared<InspectOptions>();
  arguments.option("MODEL", options->file, "a TFLite model or a compiled executable").required();
  add_model_options(arguments, options->reading);
  arguments.flag("--json", options->json, "one JSON document on stdout");
  arguments.runs([options] { return inspect_command(*options); });
}

}  // namespace peraxis::cli
