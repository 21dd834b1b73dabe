#include "cli/uploads.hpp"

#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "runtime/layout.hpp"

namespace peraxis::cli {
namespace {

// fn(placement, name) for every upload of a tensor of the graph.
template <class Fn>
void for_each_upload(const ir::Graph& graph, const exe::Executable& executable, const Fn& fn) {
  for (const exe::Step& step : executable.steps) {
    if (step.kind != exe::StepKind::Upload) continue;
    const exe::Placement& to = executable.placements[static_cast<size_t>(step.placement)];
    const auto tensor = static_cast<size_t>(to.tensor);
    if (tensor < graph.tensors.size()) fn(to, graph.tensors[tensor].name);
  }
}

const char* form_of(const exe::Placement& placement) {
  return placement.packed() ? "packed" : "cube";
}

}  // namespace

Json uploads_json(const ir::Graph& graph, const exe::Executable& executable) {
  Json out = Json::array();
  for_each_upload(graph, executable, [&](const exe::Placement& to, const std::string& name) {
    out.push_back({{"tensor", to.tensor},
                   {"name", name},
                   {"form", form_of(to)},
                   {"bytes", runtime::placement_bytes(to)}});
  });
  return out;
}

std::string uploads_text(const ir::Graph& graph, const exe::Executable& executable) {
  std::string out;
  for_each_upload(graph, executable, [&](const exe::Placement& to, const std::string& name) {
    out += fmt::format("{}'{}' {}, {} bytes", out.empty() ? "uploads: " : "; ", printable_name(name),
                       form_of(to), base::with_thousands(runtime::placement_bytes(to)));
  });
  return out.empty() ? out : out + "\n";
}

}  // namespace peraxis::cli
