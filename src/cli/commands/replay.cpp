// peraxis replay: a capture on the machine model, compared with what was recorded.
#include "trace/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.hpp"
#include "base/npy.hpp"
#include "base/table.hpp"
#include "cli/cli.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace peraxis::cli {
namespace {

struct ReplayCommandOptions {
  std::string file;
  std::string outputs;
  std::vector<std::string> inputs, switches;
  bool json = false;
};

Json replay_json(const std::string& file, const trace::Capture& capture, const trace::Replay& replay) {
  Json out{{"capture", file},
           {"name", capture.name},
           {"driver", capture.driver},
           {"tasks", replay.tasks},
           {"ok", replay.ok()},
           {"refusal", replay.refusal.empty() ? Json(nullptr) : Json(replay.refusal)},
           {"not_modelled", replay.unsupported}};
  out["tensors"] = Json::array();
  for (const trace::TensorResult& t : replay.tensors)
    out["tensors"].push_back({{"name", t.name},
                              {"origin", t.origin},
                              {"elements", t.elements},
                              {"equal", t.equal},
                              {"max", t.max},
                              {"tolerance", t.tolerance},
                              {"unwritten", t.unwritten},
                              {"ok", t.ok()}});
  out["buffers"] = Json::array();
  for (const trace::BufferResult& b : replay.buffers)
    out["buffers"].push_back({{"name", b.name},
                              {"bytes", b.bytes},
                              {"equal", b.equal},
                              {"first_difference", b.first < 0 ? Json(nullptr) : Json(b.first)}});
  out["notes"] = replay.notes;
  return out;
}

std::string replay_text(const trace::Capture& capture, const trace::Replay& replay) {
  std::string text = fmt::format("{}: {} of {} tasks executed\n", printable(capture.name), replay.tasks,
                                 capture.tasks.size());
  if (!replay.refusal.empty()) text += fmt::format("the machine stopped {}\n", printable(replay.refusal));
  base::Table table({"compared", "with", "values", "equal", "max", "allowed", "unwritten"});
  for (const trace::TensorResult& t : replay.tensors)
    table.add_row({printable(t.name), printable(t.origin), base::with_thousands(t.elements),
                   base::with_thousands(t.equal), std::to_string(t.max), std::to_string(t.tolerance),
                   base::with_thousands(t.unwritten)});
  for (const trace::BufferResult& b : replay.buffers)
    table.add_row({printable(b.name), "recorded bytes", base::with_thousands(b.bytes),
                   base::with_thousands(b.equal), "", "", ""});
  if (table.rows() > 0) text += table.text();
  for (const std::string& note : replay.notes) text += fmt::format("note: {}\n", printable(note));
  return text;
}

// Values of the input tensor `name`, [h][w][c] or flat.
CliResult<std::vector<uint8_t>> read_input(const trace::Capture& capture, const std::string& name,
                                           const std::string& path) {
  const base::Array array = PERAXIS_TRY(base::read_npy(path));
  const auto tensor = std::ranges::find_if(capture.tensors, [&](const trace::CaptureTensor& t) {
    return t.use == trace::TensorUse::Input && t.name == name;
  });
  if (tensor == capture.tensors.end())
    return usage("--input {}: the capture has no input of this name", name);
  const char* type = tensor->bias == 0 ? "int8" : "uint8";
  if (array.dtype != type)
    return usage("--input {}: the array holds {}, the tensor {}", path, array.dtype, type);
  std::vector<int64_t> shape = array.shape;
  while (shape.size() > 3 && shape.front() == 1) shape.erase(shape.begin());
  const std::vector<int64_t> wanted{tensor->h, tensor->w, tensor->c};
  if (shape != wanted && shape != std::vector<int64_t>{wanted[0] * wanted[1] * wanted[2]})
    return usage("--input {}: the array's shape is [{}], the tensor's [{}]", path,
                 fmt::join(array.shape, ", "), fmt::join(wanted, ", "));
  return array.data;
}

// What came out for every recorded result, as arrays [h][w][c] by the tensors' names.
Status save_outputs(const std::string& path, const trace::Capture& capture, const trace::Replay& replay) {
  base::ArrayMap arrays;
  for (const trace::TensorResult& t : replay.tensors) {
    const auto recorded = std::ranges::find_if(capture.tensors, [&](const trace::CaptureTensor& c) {
      return c.use == trace::TensorUse::Expected && c.name == t.name;
    });
    arrays[t.name] = {recorded->bias == 0 ? "int8" : "uint8", {t.h, t.w, t.c}, t.values};
  }
  return base::write_npz(path, arrays);
}

CliStatus replay_command(const ReplayCommandOptions& options) {
  trace::ReplayOptions replay_options;
  std::set<std::string> given;
  for (const std::string& text : options.switches) {
    if (const std::string name = text.substr(0, text.find('=')); !given.insert(name).second)
      return usage("--switch {} is given twice", name);
    if (const Status set = trace::set_switch(replay_options.switches, text); !set)
      return usage("--switch {}", set.error().message);
  }
  if (!options.outputs.empty()) PERAXIS_TRY(check_output(options.outputs, options.file));
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(options.file));
  const trace::Capture capture = PERAXIS_TRY_NOTE(trace::read_capture(bytes), "in {}", options.file);
  for (const std::string& text : options.inputs) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return usage("--input {}: must be NAME=FILE.npy", text);
    const std::string name = text.substr(0, equals);
    if (replay_options.inputs.contains(name)) return usage("--input {} is given twice", name);
    const std::string path = text.substr(equals + 1);
    if (!options.outputs.empty()) PERAXIS_TRY(check_output(options.outputs, path));
    replay_options.inputs[name] = PERAXIS_TRY(read_input(capture, name, path));
  }
  const trace::Replay replay =
      PERAXIS_TRY_NOTE(trace::replay(capture, replay_options), "while replaying {}", options.file);
  if (!options.outputs.empty()) PERAXIS_TRY(save_outputs(options.outputs, capture, replay));
  if (options.json)
    print_json(replay_json(options.file, capture, replay));
  else
    print_text(replay_text(capture, replay));
  if (!replay.ok()) return quiet_failure();
  return {};
}

}  // namespace

void add_replay(const Arguments& arguments) {
  const auto options = std::make_shared<ReplayCommandOptions>();
  arguments.option("CAPTURE", options->file, "a capture (docs/capture.md)").not_empty().required();
  arguments.option("--input", options->inputs, "values of an input tensor instead of the recorded ones")
      .type_name("NAME=FILE.npy")
      .repeatable();
  arguments.option("--switch", options->switches, "another reading of the chip: " + trace::switch_names())
      .type_name("NAME=VALUE")
      .repeatable();
  arguments
      .option("--outputs", options->outputs, "write the values that came out, one array a recorded result")
      .type_name("FILE.npz");
  arguments.flag("--json", options->json, "one JSON document on stdout");
  arguments.footer("Exit code 0: ran and agrees with what was recorded, 1: not, 2: wrong usage.");
  arguments.runs([options] { return replay_command(*options); });
}

}  // namespace peraxis::cli
