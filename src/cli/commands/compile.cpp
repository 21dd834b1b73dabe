// peraxis compile: a model in, an executable out.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/file.hpp"
#include "base/table.hpp"
#include "cli/calibration.hpp"
#include "cli/cli.hpp"
#include "cli/execute.hpp"
#include "cli/facts.hpp"
#include "cli/layers.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace peraxis::cli {
namespace {

struct CompileOptions {
  std::string model, output;
  BuildOptions build;
  std::string target = "rk3588";
};

std::string summary(const CompileOptions& options, const ir::Graph& graph, const exe::Executable& executable,
                    size_t file_bytes) {
  int64_t words = 0, on_npu = 0;
  for (const exe::Task& task : executable.tasks) words += task.words;
  for (const exe::LayerPlan& layer : executable.layers)
    if (layer.device == "npu") on_npu += op_macs(graph, static_cast<size_t>(layer.op));
  const int64_t all = graph_macs(graph);
  std::string text = fmt::format(
      "{}: {} bytes, {} tasks, {} command words, {} buffers, {:.2f} % of the convolutions on the NPU\n",
      printable(options.output), base::with_thousands(static_cast<int64_t>(file_bytes)),
      executable.tasks.size(), base::with_thousands(words), executable.buffers.size(),
      all == 0 ? 0.0 : 100.0 * static_cast<double>(on_npu) / static_cast<double>(all));
  const std::string strategies = strategies_text(executable.layers);
  if (!strategies.empty()) text += fmt::format("layers: {}\n", strategies);
  const auto on_cpu = std::count_if(executable.layers.begin(), executable.layers.end(),
                                    [](const exe::LayerPlan& layer) { return layer.device != "npu"; });
  if (on_cpu > 0)
    text += fmt::format("{} of {} convolutions run on the CPU\n", on_cpu, executable.layers.size());
  return text + fallback_text(graph, executable.layers) + operators_text(graph, executable.operators);
}

CliStatus compile_command(const CompileOptions& options) {
  compiler::Options build = PERAXIS_TRY(compiler_options(options.build, 0));
  build.target = options.target;
  PERAXIS_TRY(check_output(options.output, options.model));
  const Loaded loaded = PERAXIS_TRY(load_model(options.model));
  build.model_hash = loaded.hash;
  PERAXIS_TRY(calibrate(*loaded.model, options.build.calibrate, 1, build));
  const exe::Executable executable = PERAXIS_TRY(compile_with_progress(*loaded.model, build));
  const std::vector<uint8_t> bytes = PERAXIS_TRY(exe::write(executable));
  PERAXIS_TRY(base::write_file(options.output, std::span<const uint8_t>(bytes)));
  print_text(summary(options, *loaded.model, executable, bytes.size()));
  return {};
}

}  // namespace

void add_compile(CLI::App& app, CliStatus& outcome) {
  const auto options = std::make_shared<CompileOptions>();
  app.add_option("MODEL", options->model, "a TFLite model")->required();
  not_empty(app.add_option("-o,--output", options->output, "the executable to write"))
      ->type_name("FILE")
      ->required();
  add_build_options(app, options->build);
  app.add_option("--target", options->target, "the chip")
      ->check(CLI::IsMember({"rk3588"}))
      ->capture_default_str();
  app.add_flag("--no-fallback", options->build.no_fallback,
               "fail when the multiplications of a convolution would not run on the NPU");
  app.callback([options, &outcome] { outcome = compile_command(*options); });
}

}  // namespace peraxis::cli
