// See layers.hpp.
#include "cli/layers.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/table.hpp"

namespace peraxis::cli {

std::string op_output_name(const ir::Graph& graph, size_t op) {
  const std::vector<int32_t>& outputs = graph.ops[op].outputs;
  return outputs.empty() ? std::string() : graph.tensor(outputs.front()).name;
}

namespace {

// Over all channels; counts as double, since a channel alone may reach 2^31.
struct CertificateTotals {
  double values = 0, differing = 0;
  int32_t max = 0;
};

CertificateTotals totals(const std::vector<exe::ChannelCertificate>& certificate) {
  CertificateTotals out;
  for (const exe::ChannelCertificate& channel : certificate) {
    out.values += static_cast<double>(channel.acc_max) - static_cast<double>(channel.acc_min) + 1;
    out.differing += static_cast<double>(channel.differing);
    out.max = std::max(out.max, channel.max);
  }
  return out;
}

Json certificate_json(const exe::LayerPlan& layer) {
  const CertificateTotals sum = totals(layer.certificate);
  return {{"channels", layer.certificate.size()},
          {"values", sum.values},
          {"differing", sum.differing},
          {"max", sum.max},
          {"every_tie_reading", layer.every_reading}};
}

}  // namespace

Json layer_head_json(const ir::Graph& graph, const exe::LayerPlan& layer) {
  const auto op = static_cast<size_t>(layer.op);
  return {{"op", layer.op},
          {"kind", ir::op_name(graph.ops[op].kind)},
          {"name", op_output_name(graph, op)},
          {"device", layer.device},
          {"strategy", layer.strategy.empty() ? Json(nullptr) : Json(layer.strategy)},
          {"reason", layer.reason.empty() ? Json(nullptr) : Json(layer.reason.str())}};
}

Json layers_json(const ir::Graph& graph, const std::vector<exe::LayerPlan>& layers) {
  Json out = Json::array();
  for (const exe::LayerPlan& layer : layers) {
    if (static_cast<size_t>(layer.op) >= graph.ops.size()) continue;
    Json entry = layer_head_json(graph, layer);
    entry["tasks"] = layer.tasks;
    entry["macs"] = layer.macs;
    if (!layer.certificate.empty()) entry["certificate"] = certificate_json(layer);
    out.push_back(std::move(entry));
  }
  return out;
}

std::pair<std::string, std::string> certificate_cells(const exe::LayerPlan& layer) {
  if (layer.certificate.empty()) return {};
  const CertificateTotals sum = totals(layer.certificate);
  return {share_text(sum.differing / sum.values), std::to_string(sum.max)};
}

std::string strategies_text(const std::vector<exe::LayerPlan>& layers) {
  std::vector<std::pair<std::string, int>> counts;
  for (const exe::LayerPlan& layer : layers) {
    if (layer.strategy.empty()) continue;
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& entry) { return entry.first == layer.strategy; });
    if (found == counts.end())
      counts.emplace_back(layer.strategy, 1);
    else
      ++found->second;
  }
  std::string out;
  for (const auto& [name, count] : counts)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, name);
  return out;
}

std::string fallback_text(const ir::Graph& graph, const std::vector<exe::LayerPlan>& layers) {
  std::string out;
  for (const exe::LayerPlan& layer : layers) {
    const auto op = static_cast<size_t>(layer.op);
    if (op >= graph.ops.size() || layer.reason.empty()) continue;
    out += fmt::format("  {} on {}{}{}: {}\n", printable_message(graph.op_label(op)), layer.device,
                       layer.strategy.empty() ? "" : " by ", layer.strategy,
                       printable_message(layer.reason.str()));
  }
  return out;
}

std::string operators_text(const ir::Graph& graph, const std::vector<exe::OperatorPlan>& operators) {
  if (operators.empty()) return {};
  std::map<std::pair<std::string, std::string>, int64_t> by_reason;  // kind and reason -> how many
  int64_t on_npu = 0;
  std::string sums;
  for (const exe::OperatorPlan& o : operators) {
    if (o.device == "npu") {
      ++on_npu;
      // An ADD in the tasks of a convolution, with the bound on what both may differ by.
      const auto op = static_cast<size_t>(o.op);
      if (op < graph.ops.size() && graph.ops[op].kind == ir::OpKind::Add && !o.reason.empty())
        sums += fmt::format("  {} {}\n", printable_message(graph.op_label(op)),
                            printable_message(o.reason.str()));
    } else if (static_cast<size_t>(o.op) < graph.ops.size())
      ++by_reason[{ir::op_name(graph.ops[static_cast<size_t>(o.op)].kind), o.reason.str()}];
  }
  std::string out = fmt::format("{} of {} other operators run on the NPU\n", on_npu, operators.size());
  for (const auto& [what, count] : by_reason)
    out += fmt::format("  {} {} on cpu: {}\n", count, what.first, printable_message(what.second));
  return out + sums;
}

Partitions partitions(const std::vector<exe::LayerPlan>& layers,
                      const std::vector<exe::OperatorPlan>& operators, const std::vector<int32_t>& order) {
  std::map<int32_t, bool> on_npu;
  for (const exe::LayerPlan& layer : layers) on_npu[layer.op] = layer.device == "npu";
  for (const exe::OperatorPlan& o : operators) on_npu[o.op] = o.device == "npu";
  Partitions out;
  bool before = false;
  for (const int32_t op : order) {
    const auto found = on_npu.find(op);
    if (found == on_npu.end()) continue;  // dead
    if (found->second && !before) ++out.npu;
    before = found->second;
  }
  out.crossings = 2 * out.npu;  // it begins and ends with the CPU
  return out;
}

Conversions conversions(const exe::Executable& executable) {
  Conversions out;
  for (const exe::Step& step : executable.steps) {
    const auto placed = [](int32_t placement) { return placement >= 0; };
    if (step.kind == exe::StepKind::Upload) ++out.uploads;
    if (step.kind == exe::StepKind::Download) ++out.downloads;
    if (step.kind != exe::StepKind::Cpu) continue;
    const bool cubes = std::ranges::any_of(step.inputs, placed) || std::ranges::any_of(step.outputs, placed);
    ++(cubes ? out.on_cubes : out.dense);
  }
  return out;
}

namespace {

// Of all buffers: what one session takes of the device's 32-bit address space.
int64_t device_bytes(const exe::Executable& executable) {
  int64_t bytes = 0;
  for (const exe::Buffer& buffer : executable.buffers) bytes += buffer.size;
  return bytes;
}

int64_t activation_bytes(const exe::Executable& executable) {
  int64_t bytes = 0;
  for (const exe::Buffer& buffer : executable.buffers)
    if (buffer.kind == exe::BufferKind::Activations) bytes += buffer.size;
  return bytes;
}

}  // namespace

void add_splitting(Json& out, const compiler::Compiled& compiled) {
  const Partitions found =
      partitions(compiled.executable.layers, compiled.executable.operators, compiled.program.order);
  out["execution_order"] = compiled.program.order;
  out["partitions"] = found.npu;
  out["crossings"] = found.crossings;
  const Conversions converted = conversions(compiled.executable);
  out["conversions"] = {{"uploads", converted.uploads},
                        {"downloads", converted.downloads},
                        {"cpu_operators_on_cubes", converted.on_cubes},
                        {"cpu_operators_dense", converted.dense}};
  out["memory"] = {{"device_bytes", device_bytes(compiled.executable)},
                   {"activation_bytes", activation_bytes(compiled.executable)},
                   {"largest_live_bytes", compiled.program.largest_live_bytes}};
}

std::string splitting_text(const compiler::Compiled& compiled) {
  const Partitions found =
      partitions(compiled.executable.layers, compiled.executable.operators, compiled.program.order);
  const Conversions converted = conversions(compiled.executable);
  const auto counted = [](int64_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::string text = fmt::format(
      "{} on the NPU, {}, {}, {}\n"
      "memory of the device: {} bytes, of it {} for activations (at most {} of them alive at once)\n",
      counted(found.npu, "partition"), counted(found.crossings, "crossing"),
      counted(converted.uploads, "upload"), counted(converted.downloads, "download"),
      base::with_thousands(device_bytes(compiled.executable)),
      base::with_thousands(activation_bytes(compiled.executable)),
      base::with_thousands(compiled.program.largest_live_bytes));
  if (const int64_t steps = converted.on_cubes + converted.dense; steps > 0)
    text += fmt::format("{} on the CPU, {} of them on the NPU's layout\n", counted(steps, "operator"),
                        converted.on_cubes);
  return text;
}

Json operators_json(const ir::Graph& graph, const std::vector<exe::OperatorPlan>& operators) {
  Json out = Json::array();
  for (const exe::OperatorPlan& o : operators) {
    const auto op = static_cast<size_t>(o.op);
    if (op >= graph.ops.size()) continue;
    out.push_back({{"op", o.op},
                   {"kind", ir::op_name(graph.ops[op].kind)},
                   {"name", op_output_name(graph, op)},
                   {"device", o.device},
                   {"reason", o.reason.empty() ? Json(nullptr) : Json(o.reason.str())}});
  }
  return out;
}

Json npu_json(int64_t tasks, std::optional<int64_t> macs, int64_t all) {
  Json out{{"tasks", tasks}, {"macs", nullptr}, {"mac_share", nullptr}};
  if (!macs) return out;
  out["macs"] = *macs;
  out["mac_share"] = all == 0 ? 0.0 : static_cast<double>(*macs) / static_cast<double>(all);
  return out;
}

std::string npu_text(int64_t tasks, std::optional<int64_t> macs, int64_t all) {
  if (!macs)
    return fmt::format("NPU: {} tasks (the device does not count multiplications)\n",
                       base::with_thousands(tasks));
  return fmt::format("NPU: {} tasks, {} multiplications, {:.2f} % of the convolutions\n",
                     base::with_thousands(tasks), base::with_thousands(*macs),
                     all == 0 ? 0.0 : 100.0 * static_cast<double>(*macs) / static_cast<double>(all));
}

}  // namespace peraxis::cli
