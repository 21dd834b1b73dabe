// peraxis compile: a model in, an executable out.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/table.hpp"
#include "cli/cli.hpp"
#include "cli/layers.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/uploads.hpp"
#include "cli/warnings.hpp"
#include "engine/calibration.hpp"
#include "engine/facts.hpp"
#include "engine/outputs.hpp"
#include "engine/run.hpp"
#include "program/text.hpp"
#include "runtime/session.hpp"

namespace peraxis::cli {
namespace {

struct CompileOptions {
  ModelOptions reading;
  std::string model, output;
  BuildOptions build;
  std::string target = "rk3588";
  InfoOptions info;
  bool no_model_info = false;
  bool json = false;
  bool print_program = false;
};

int64_t command_words(const exe::Executable& executable) {
  int64_t words = 0;
  for (const exe::Task& task : executable.tasks) words += task.words;
  return words;
}

// Multiplications of the convolutions that are tasks of the NPU.
int64_t macs_on_npu(const ir::Graph& graph, const exe::Executable& executable) {
  int64_t macs = 0;
  for (const exe::LayerPlan& layer : executable.layers)
    if (layer.device == "npu") macs += op_macs(graph, static_cast<size_t>(layer.op));
  return macs;
}

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json compile_json(const CompileOptions& options, const Loaded& loaded, const compiler::Compiled& compiled,
                  size_t file_bytes) {
  const ir::Graph& graph = *loaded.model;
  const exe::Executable& executable = compiled.executable;
  Json out;
  out["model"] = options.model;
  out["output"] = options.output;
  out["bytes"] = file_bytes;
  out["target"] = executable.target;
  out["accuracy"] = executable.accuracy;
  out["reference"] = executable.reference;
  out["strategy"] = executable.strategy;
  out["passes"] = changes_json(loaded.changes);
  out["tasks"] = executable.tasks.size();
  out["command_words"] = command_words(executable);
  out["steps"] = executable.steps.size();
  out["buffers"] = Json::array();
  for (const exe::Buffer& buffer : executable.buffers)
    out["buffers"].push_back({{"name", buffer.name}, {"bytes", buffer.size}});
  out["uploads"] = uploads_json(graph, executable);
  out["mac_share"] = share(macs_on_npu(graph, executable), graph_macs(graph));
  add_splitting(out, compiled);
  out["layers"] = layers_json(graph, executable.layers);
  out["operators"] = operators_json(graph, executable.operators);
  return out;
}

std::string summary(const CompileOptions& options, const Loaded& loaded, const compiler::Compiled& compiled,
                    size_t file_bytes) {
  const ir::Graph& graph = *loaded.model;
  const exe::Executable& executable = compiled.executable;
  std::string text = fmt::format(
      "{}: {} bytes, {} tasks, {} command words, {} buffers, {:.2f} % of the convolutions on the NPU\n",
      printable(options.output), base::with_thousands(static_cast<int64_t>(file_bytes)),
      executable.tasks.size(), base::with_thousands(command_words(executable)), executable.buffers.size(),
      100.0 * share(macs_on_npu(graph, executable), graph_macs(graph)));
  text += changes_text(loaded.changes);
  const std::string strategies = strategies_text(executable.layers);
  if (!strategies.empty()) text += fmt::format("layers: {}\n", strategies);
  const auto on_cpu = std::count_if(executable.layers.begin(), executable.layers.end(),
                                    [](const exe::LayerPlan& layer) { return layer.device != "npu"; });
  if (on_cpu > 0)
    text += fmt::format("{} of {} convolutions run on the CPU\n", on_cpu, executable.layers.size());
  return text + fallback_text(graph, executable.layers) + operators_text(graph, executable.operators) +
         splitting_text(compiled) + uploads_text(graph, executable);
}

std::string info_text(const vision::SourcedInfo& info) {
  std::string text;
  if (!info.source.empty()) text += fmt::format("model info: {}, stored\n", printable(info.source));
  if (!info.labels_source.empty())
    text += fmt::format("labels: {} of {}, stored\n", info.info.labels.size(), printable(info.labels_source));
  return text;
}

// What a reader gets from the file is what was compiled, and can be loaded.
Status check_stored(const exe::Executable& compiled, std::span<const uint8_t> stored) {
  const exe::Executable executable = PERAXIS_TRY(exe::read(stored));
  if (executable != compiled)
    return fail(ErrorCode::Internal, "reading the executable back gives another one than was written");
  return runtime::check_loadable(executable);
}

// What is known of the outputs' meaning, so that a run of the executable needs no file beside it.
Result<vision::SourcedInfo> info_to_store(const CompileOptions& options, const Loaded& loaded,
                                          std::vector<std::string>& warnings) {
  if (options.no_model_info) return vision::SourcedInfo();
  return find_model_info(loaded, options.info, warnings);
}

CliStatus compile_command(const CompileOptions& options) {
  compiler::Options build = PERAXIS_TRY(compiler_options(options.build, 0));
  build.target = options.target;
  if (options.output.empty() && !options.print_program)
    return usage("--output is required, or --print-program");
  if (!options.output.empty()) PERAXIS_TRY(check_output(options.output, options.model));
  const Loaded loaded = PERAXIS_TRY(load_model(options.model, options.reading));
  build.model_hash = loaded.hash;
  PERAXIS_TRY(calibrate(*loaded.model, options.build.calibrate, 1, build, drawn_progress("calibrating")));
  std::vector<std::string> warnings = model_warnings(*loaded.model, loaded);
  const vision::SourcedInfo info = PERAXIS_TRY(info_to_store(options, loaded, warnings));
  compiler::Compiled compiled =
      PERAXIS_TRY(engine::build(*loaded.model, build, drawn_progress("compiling operators")));
  PERAXIS_TRY(engine::store_model_info(info, compiled.executable));
  const std::vector<uint8_t> bytes = PERAXIS_TRY(exe::write(compiled.executable));
  const auto check = [&](std::span<const uint8_t> stored) {
    return check_stored(compiled.executable, stored);
  };
  if (!options.output.empty())
    PERAXIS_TRY_NOTE(base::write_file(options.output, bytes, check), "while writing {}", options.output);
  for (std::string& warning : strategy_warnings(*loaded.model, compiled.executable.layers))
    warnings.push_back(std::move(warning));
  print_warnings(warnings);
  if (options.print_program) {
    print_text(program::print(compiled.program, &*loaded.model));
  } else if (options.json) {
    Json out = compile_json(options, loaded, compiled, bytes.size());
    out["warnings"] = warnings;
    out["model_info_from"] = info.source.empty() ? Json(nullptr) : Json(info.source);
    out["labels_from"] = info.labels_source.empty() ? Json(nullptr) : Json(info.labels_source);
    print_json(out);
  } else {
    print_text(summary(options, loaded, compiled, bytes.size()) + info_text(info));
  }
  return {};
}

}  // namespace

void add_compile(const Arguments& arguments) {
  const auto options = std::make_shared<CompileOptions>();
  arguments.option("MODEL", options->model, "a TFLite model").required();
  arguments.option("-o,--output", options->output, "the executable to write").not_empty().type_name("FILE");
  add_build_options(arguments, options->build);
  arguments.option("--target", options->target, "the chip").one_of({"rk3588"}).shows_default();
  arguments.flag("--no-fallback", options->build.chosen.no_fallback,
                 "fail when arithmetic of the model would run on the CPU; what can runs on the NPU");
  add_model_options(arguments, options->reading);
  add_info_options(arguments, options->info);
  arguments.flag("--no-model-info", options->no_model_info,
                 "labels, head and anchors are not stored in the executable");
  const Argument json = arguments.flag("--json", options->json, "one JSON document on stdout");
  arguments
      .flag("--print-program", options->print_program,
            "the placed program as text on stdout (docs/program.md); --output may be left out")
      .excludes(json);
  arguments.runs([options] { return compile_command(*options); });
}

}  // namespace peraxis::cli
