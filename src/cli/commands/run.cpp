// peraxis run: inputs in, outputs, boxes and a picture out, on the machine model or on the CPU kernels.
#include "engine/run.hpp"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/table.hpp"
#include "cli/cli.hpp"
#include "cli/inputs.hpp"
#include "cli/layers.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/warnings.hpp"
#include "device/open.hpp"
#include "engine/calibration.hpp"
#include "engine/facts.hpp"
#include "engine/outputs.hpp"
#include "runtime/program.hpp"
#include "vision/draw.hpp"

namespace peraxis::cli {
namespace {

struct RunOptions {
  ModelOptions reading;
  std::string model;
  BuildOptions build;
  InputOptions inputs;
  InfoOptions info;
  std::string device = "auto";
  std::string output_dir, dump;
  bool json = false;
  int threads = 1;
};

// Everything a report is made of.
struct Run {
  ir::Graph graph;
  std::string accuracy, reference, strategy;
  Execution execution;
  std::optional<PictureInput> picture;
  std::optional<Interpretation> interpretation;  // with --image, or where a head was asked for
  vision::SourcedInfo info;
  std::vector<std::string> files;  // by output; empty without --output-dir
  std::string annotated;
  double load_ms = 0, compile_ms = 0, total_ms = 0;
  std::vector<std::string> warnings;
};

CliStatus check_usage(const RunOptions& options, const Loaded& loaded) {
  if (loaded.executable) {
    if (!options.build.given.empty())
      return usage("{} is already compiled ({}, {}, strategy {}); {} cannot change that", options.model,
                   loaded.executable->accuracy, loaded.executable->reference, loaded.executable->strategy,
                   options.build.given.front());
    if (options.device == "cpu")
      return usage("{} is compiled for the NPU and cannot run with --device cpu; give the model",
                   options.model);
    if (options.build.chosen.no_fallback)
      return usage("--no-fallback is a choice of compilation; {} is already compiled", options.model);
  }
  if (options.device != "cpu") return {};
  if (options.build.chosen.no_fallback) return usage("--no-fallback and --device cpu exclude each other");
  for (const std::string& name : options.build.given)
    if (name != "--reference" && name != "--accuracy")
      return usage("{} says how the NPU is used; --device cpu runs the reference kernels alone", name);
  return {};
}

std::string device_of(const std::string& asked) {
  if (asked != "auto") return asked;
  print_notice("peraxis: this version has no NPU driver; using the machine model\n");
  return "sim";
}

Status make_output_dir(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path, error))
    return fail(ErrorCode::Io, "cannot make the output directory {}: {}", path,
                error ? error.message() : "it is not a directory");
  return {};
}

std::string in_dir(const std::string& dir, const std::string& name) {
  return (std::filesystem::path(dir) / name).string();
}

Status write_outputs(const RunOptions& options, const std::optional<vision::Image>& picture, Run& run) {
  for (size_t i = 0; i < run.execution.outputs.size(); ++i) {
    const std::string path = in_dir(options.output_dir, fmt::format("{}.npy", i));
    PERAXIS_TRY(base::write_npy(
        path, tensor_array(run.graph.tensor(run.graph.outputs[i]), run.execution.outputs[i])));
    run.files.push_back(path);
  }
  if (!picture) return {};
  const std::span<const vision::Detection> boxes =
      run.interpretation ? std::span<const vision::Detection>(run.interpretation->detections)
                         : std::span<const vision::Detection>();
  const vision::Image drawn = PERAXIS_TRY(vision::draw_detections(*picture, boxes));
  run.annotated = in_dir(options.output_dir, "annotated.png");
  return base::write_file(run.annotated, std::span<const uint8_t>(PERAXIS_TRY(vision::encode_png(drawn))));
}

// t<index> for every activation that came by; "removed" lists those that did not.
Status write_dump(const std::string& path, const ir::Graph& graph,
                  const std::map<int32_t, std::vector<uint8_t>>& seen) {
  base::ArrayMap arrays;
  std::vector<int64_t> removed;
  const std::vector<bool> wanted = activations(graph);
  for (size_t t = 0; t < wanted.size(); ++t) {
    if (!wanted[t]) continue;
    const auto found = seen.find(static_cast<int32_t>(t));
    if (found == seen.end())
      removed.push_back(static_cast<int64_t>(t));
    else
      arrays[fmt::format("t{}", t)] = tensor_array(graph.tensor(found->first), found->second);
  }
  arrays["removed"] = base::make_array<int64_t>({static_cast<int64_t>(removed.size())}, removed);
  return base::write_npz(path, arrays);
}

Json run_json(const RunOptions& options, const Run& run) {
  Json out;
  out["model"] = options.model;
  out["device"] = run.execution.device;
  out["accuracy"] = run.accuracy;
  out["reference"] = run.reference;
  out["strategy"] = run.strategy.empty() ? Json(nullptr) : Json(run.strategy);
  out["outputs"] = Json::array();
  for (size_t i = 0; i < run.graph.outputs.size(); ++i) {
    const Json tensor = tensor_json(run.graph.tensor(run.graph.outputs[i]));
    Json entry;
    entry["name"] = tensor["name"];
    entry["file"] = run.files.empty() ? Json(nullptr) : Json(run.files[i]);
    for (const char* key : {"shape", "dtype", "scale", "zero_point"}) entry[key] = tensor[key];
    out["outputs"].push_back(std::move(entry));
  }
  const auto label = [](const std::optional<std::string>& name) {
    return name ? Json(*name) : Json(nullptr);
  };
  if (run.picture)
    out["picture"] = {{"input", run.picture->input},
                      {"width", run.picture->width},
                      {"height", run.picture->height},
                      {"layout", run.picture->channels_first ? "nchw" : "nhwc"},
                      {"resized", "letterbox"},
                      {"pixels", vision::pixel_range_text(run.picture->rule)},
                      {"pixels_because", run.picture->because}};
  if (run.interpretation && run.interpretation->choice.head != nullptr)
    out["head"] = {{"name", std::string(run.interpretation->choice.head->name)},
                   {"chosen_by", run.interpretation->choice.by_shapes ? "shapes" : "name"}};
  if (run.interpretation) {
    const auto source = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
    out["assumed"] = run.interpretation->assumed;
    out["model_info_from"] = source(run.info.source);
    out["labels_from"] = source(run.info.labels_source);
  }
  if (run.interpretation && run.interpretation->detects()) {
    out["detections"] = Json::array();
    for (const vision::Detection& d : run.interpretation->detections)
      out["detections"].push_back(
          {{"class", d.class_id}, {"label", label(d.label)}, {"score", d.score}, {"box", d.box}});
  } else if (run.interpretation && run.interpretation->classifies()) {
    out["top"] = Json::array();
    for (const vision::ClassScore& c : run.interpretation->top)
      out["top"].push_back({{"class", c.class_id}, {"label", label(c.label)}, {"score", c.score}});
  }
  if (!run.annotated.empty()) out["annotated"] = run.annotated;
  out["npu"] = npu_json(run.execution.tasks, run.execution.macs, graph_macs(run.graph));
  out["upload"] = {{"bytes", run.execution.upload_bytes}, {"ms", run.execution.upload_ms}};
  out["timing_ms"] = {{"load", run.load_ms},         {"compile", run.compile_ms},
                      {"run", run.execution.run_ms}, {"npu", run.execution.npu_ms},
                      {"cpu", run.execution.cpu_ms}, {"total", run.total_ms}};
  out["layers"] = layers_json(run.graph, run.execution.layers);
  out["warnings"] = run.warnings;
  return out;
}

std::string interpretation_text(const Interpretation& found, const vision::SourcedInfo& info) {
  if (found.choice.head == nullptr) return {};
  std::string head = fmt::format("head {} ({})\n", found.choice.head->name,
                                 found.choice.by_shapes ? "told by the outputs' shapes" : "by name");
  for (const std::string& text : found.assumed) head += fmt::format("assumed: {}\n", printable(text));
  if (!info.source.empty()) head += fmt::format("model info: {}\n", printable(info.source));
  if (!info.labels_source.empty()) head += fmt::format("labels: {}\n", printable(info.labels_source));
  if (found.detects()) {
    if (found.detections.empty()) return head + "no detections\n";
    base::Table table({"class", "score", "x1", "y1", "x2", "y2"});
    table.align(0, base::Table::Align::Left);
    for (const vision::Detection& d : found.detections)
      table.add_row({d.label ? printable_name(*d.label) : std::to_string(d.class_id),
                     fmt::format("{:.3f}", d.score), fmt::format("{:.1f}", d.box[0]),
                     fmt::format("{:.1f}", d.box[1]), fmt::format("{:.1f}", d.box[2]),
                     fmt::format("{:.1f}", d.box[3])});
    return head + table.text();
  }
  if (!found.classifies()) return head;
  base::Table table({"class", "label", "score"});
  for (const vision::ClassScore& c : found.top)
    table.add_row({std::to_string(c.class_id), c.label ? printable_name(*c.label) : "-",
                   fmt::format("{:.4f}", c.score)});
  return head + table.text();
}

void print_run(const RunOptions& options, const Run& run) {
  std::string text = fmt::format("{} on {}", printable(options.model), run.execution.device);
  if (!run.strategy.empty()) text += fmt::format(", accuracy {}, strategy {}", run.accuracy, run.strategy);
  text += fmt::format(", reference {}\n\n", run.reference);
  if (run.picture)
    text += fmt::format("picture: letterboxed to {}x{}, RGB{}, pixels as {} ({})\n", run.picture->width,
                        run.picture->height, run.picture->channels_first ? ", channels first" : "",
                        vision::pixel_range_text(run.picture->rule), run.picture->because);
  if (run.interpretation) {
    const std::string found = interpretation_text(*run.interpretation, run.info);
    if (!found.empty()) text += found + "\n";
  }
  base::Table table({"output", "name", "shape", "type", "scale (zero point)", "file"});
  for (size_t i = 0; i < run.graph.outputs.size(); ++i) {
    const ir::Tensor& tensor = run.graph.tensor(run.graph.outputs[i]);
    table.add_row({std::to_string(i), printable_name(tensor.name), shape_text(tensor),
                   ir::data_type_name(tensor.type), quant_text(tensor.quant),
                   run.files.empty() ? "-" : printable(run.files[i])});
  }
  text += table.text();
  if (!run.annotated.empty()) text += fmt::format("annotated picture: {}\n", printable(run.annotated));
  if (run.execution.device != "cpu") {
    text += "\n" + npu_text(run.execution.tasks, run.execution.macs, graph_macs(run.graph));
    const std::string strategies = strategies_text(run.execution.layers);
    if (!strategies.empty()) text += fmt::format("layers: {}\n", strategies);
    text += fallback_text(run.graph, run.execution.layers);
    text += fmt::format("uploads: {} bytes in {:.3f} ms\n", base::with_thousands(run.execution.upload_bytes),
                        run.execution.upload_ms);
  }
  text += fmt::format(
      "time: load {:.0f} ms, compile {:.0f} ms, run {:.0f} ms (machine model {:.0f} ms, CPU {:.0f} ms)\n",
      run.load_ms, run.compile_ms, run.execution.run_ms, run.execution.npu_ms, run.execution.cpu_ms);
  print_text(text);
}

CliStatus prepare(const RunOptions& options, Loaded& loaded, Run& run) {
  const double start = now_ms();
  loaded = PERAXIS_TRY(load(options.model, options.reading));
  PERAXIS_TRY(check_usage(options, loaded));
  if (loaded.model) {
    if (options.device != "cpu") simplify(loaded);
    run.graph = std::move(*loaded.model);
    run.accuracy = options.build.accuracy;
    run.reference = options.build.reference;
    if (options.device != "cpu") run.strategy = options.build.chosen.strategy;
  } else {
    run.graph = PERAXIS_TRY(runtime::load_graph(*loaded.executable));
    run.accuracy = loaded.executable->accuracy;
    run.reference = loaded.executable->reference;
    run.strategy = loaded.executable->strategy;
  }
  run.warnings = model_warnings(run.graph, loaded);
  run.load_ms = milliseconds_since(start);
  return {};
}

Result<Execution> execute(const RunOptions& options, const compiler::Options& build, Loaded& loaded,
                          const BoundInputs& inputs, const Observer& observer, Run& run) {
  const std::string device = device_of(options.device);
  const std::vector<std::span<const uint8_t>> values = spans(inputs.values);
  const Watching watching{observer, drawn_progress("running operators")};
  if (device == "cpu")
    return run_on_cpu(run.graph, values, kernel_options(run.reference, options.threads), watching);
  exe::Executable executable;
  if (loaded.executable) {
    executable = std::move(*loaded.executable);
  } else {
    const double start = now_ms();
    executable =
        PERAXIS_TRY(engine::build(run.graph, build, drawn_progress("compiling operators"))).executable;
    run.compile_ms = milliseconds_since(start);
  }
  return run_on_device(device, std::move(executable), values, options.threads, watching);
}

// What boxes are measured in, where outputs are to be read as boxes or classes: of a picture always, of
// arrays where something about the head is stated. These are then in pixels of the model's input.
CliResult<std::optional<vision::InputGeometry>> read_in(const RunOptions& options, const ir::Graph& graph,
                                                        const BoundInputs& inputs) {
  const InfoOptions& info = options.info;
  if (inputs.picture) return std::optional(inputs.geometry);
  if (info.model_info.empty() && info.head.empty() && info.labels.empty()) return std::nullopt;
  const PictureInput input =
      PERAXIS_TRY(picture_input(graph, "--head, --labels and --model-info without --image"));
  return std::optional(vision::InputGeometry{input.width, input.height, {}});
}

CliStatus interpret_outputs(const RunOptions& options, const vision::InputGeometry& geometry, Run& run) {
  const bool stated = !options.info.model_info.empty() || !options.info.head.empty();
  Result<Interpretation> found = interpret(run.graph, run.execution.outputs, run.info.info, geometry, stated);
  if (found) {
    run.interpretation = std::move(*found);
    if (!run.interpretation->note.empty()) run.warnings.push_back(run.interpretation->note);
    return {};
  }
  if (stated || found.error().code != ErrorCode::Unsupported)
    return tl::make_unexpected(CliError(std::move(found).error()));
  run.warnings.push_back(found.error().message);  // the tensors are still what the user asked for
  return {};
}

CliStatus run_command(const RunOptions& options) {
  const double start = now_ms();
  Loaded loaded;
  Run run;
  const compiler::Options checked = PERAXIS_TRY(compiler_options(options.build, 0));
  PERAXIS_TRY(prepare(options, loaded, run));
  compiler::Options build = checked;
  build.model_hash = loaded.hash;
  run.info = PERAXIS_TRY(find_model_info(loaded, options.info, run.warnings));
  const BoundInputs inputs = PERAXIS_TRY(bind_inputs(run.graph, options.inputs));
  const auto geometry = PERAXIS_TRY(read_in(options, run.graph, inputs));
  PERAXIS_TRY(
      calibrate(run.graph, options.build.calibrate, options.threads, build, drawn_progress("calibrating")));
  if (!options.output_dir.empty()) PERAXIS_TRY(make_output_dir(options.output_dir));
  if (!options.dump.empty()) PERAXIS_TRY(check_output(options.dump, options.model));

  std::map<int32_t, std::vector<uint8_t>> seen;
  Observer observer;
  if (!options.dump.empty())
    observer = [&seen](int32_t tensor, std::span<const uint8_t> values) {
      seen[tensor].assign(values.begin(), values.end());
    };
  run.execution = PERAXIS_TRY(execute(options, build, loaded, inputs, observer, run));
  run.picture = inputs.taken;
  if (geometry) PERAXIS_TRY(interpret_outputs(options, *geometry, run));
  const bool decoded =
      run.interpretation && (run.interpretation->detects() || run.interpretation->classifies());
  if (!options.output_dir.empty())
    PERAXIS_TRY(write_outputs(options, decoded ? inputs.picture : std::nullopt, run));
  if (!options.dump.empty()) PERAXIS_TRY(write_dump(options.dump, run.graph, seen));
  for (std::string& warning : strategy_warnings(run.graph, run.execution.layers))
    run.warnings.push_back(std::move(warning));
  run.total_ms = milliseconds_since(start);
  print_warnings(run.warnings);
  if (options.json)
    print_json(run_json(options, run));
  else
    print_run(options, run);
  return {};
}

}  // namespace

void add_run(const Arguments& arguments) {
  const auto options = std::make_shared<RunOptions>();
  arguments.option("MODEL", options->model, "a TFLite model or a compiled executable").required();
  add_input_options(arguments, options->inputs);
  add_info_options(arguments, options->info);
  std::vector<std::string> devices = device::running_devices();
  devices.insert(devices.end(), {"cpu", "auto"});
  arguments
      .option("--device", options->device,
              "where it runs: sim, the machine model; cpu, the reference kernels alone; auto")
      .one_of(devices)
      .shows_default();
  add_build_options(arguments, options->build);
  arguments.flag("--no-fallback", options->build.chosen.no_fallback,
                 "fail when arithmetic of the model would run on the CPU; what can runs on the NPU");
  arguments.option("--output-dir", options->output_dir, "where <index>.npy and annotated.png go")
      .not_empty()
      .type_name("DIR");
  arguments.option("--dump-tensors", options->dump, "every activation by tensor index")
      .not_empty()
      .type_name("F.npz");
  add_model_options(arguments, options->reading);
  arguments.flag("--json", options->json, "one JSON document on stdout");
  add_threads_option(arguments, options->threads);
  arguments.runs([options] { return run_command(*options); });
}

}  // namespace peraxis::cli
