// See steps.hpp.
#include "cli/steps.hpp"

#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "exe/names.hpp"

namespace peraxis::cli {
namespace {

std::string_view kind_of(const exe::Step& step) {
  return exe::step_kind_names()[static_cast<size_t>(step.kind)];
}

std::string placed_tensor(const ir::Graph& graph, const exe::Executable& executable, int32_t placement) {
  const int32_t tensor = executable.placements[static_cast<size_t>(placement)].tensor;
  if (tensor < 0 || static_cast<size_t>(tensor) >= graph.tensors.size()) return std::to_string(tensor);
  return short_name(graph.tensor(tensor).name);
}

std::string what_it_does(const ir::Graph& graph, const exe::Executable& executable, const exe::Step& step) {
  switch (step.kind) {
    case exe::StepKind::Cpu:
      if (static_cast<size_t>(step.op) < graph.ops.size())
        return fmt::format("{} {}", ir::op_name(graph.ops[static_cast<size_t>(step.op)].kind), step.op);
      return fmt::format("operator {}", step.op);
    case exe::StepKind::Job:
      return step.task_count == 1
                 ? fmt::format("task {}", step.first_task)
                 : fmt::format("tasks {} to {}", step.first_task, step.first_task + step.task_count - 1);
    default:
      return placed_tensor(graph, executable, step.placement);
  }
}

std::string numbers(const std::vector<int32_t>& list) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(list.size(), kShown); ++i)
    text += (i > 0 ? " " : "") + std::to_string(list[i]);
  return list.size() > kShown ? text + fmt::format(" and {} more", list.size() - kShown) : text;
}

}  // namespace

Json steps_json(const exe::Executable& executable) {
  Json out = Json::array();
  for (size_t i = 0; i < executable.steps.size(); ++i) {
    const exe::Step& step = executable.steps[i];
    const bool cpu = step.kind == exe::StepKind::Cpu, job = step.kind == exe::StepKind::Job;
    Json entry;
    entry["step"] = i;
    entry["kind"] = kind_of(step);
    entry["op"] = cpu ? Json(step.op) : Json(nullptr);
    entry["placement"] = cpu || job ? Json(nullptr) : Json(step.placement);
    entry["tensor"] =
        cpu || job ? Json(nullptr) : Json(executable.placements[static_cast<size_t>(step.placement)].tensor);
    entry["first_task"] = job ? Json(step.first_task) : Json(nullptr);
    entry["tasks"] = job ? Json(step.task_count) : Json(nullptr);
    entry["after"] = step.edges.after;
    entry["reads"] = step.edges.reads;
    entry["writes"] = step.edges.writes;
    entry["completes"] = Json::array();
    for (const exe::Completion& done : step.edges.completes)
      entry["completes"].push_back(
          {{"placement", done.placement}, {"task", done.task < 0 ? Json(nullptr) : Json(done.task)}});
    entry["frees"] = step.edges.frees;
    out.push_back(std::move(entry));
  }
  return out;
}

std::string steps_table(const ir::Graph& graph, const exe::Executable& executable) {
  base::Table table({"step", "kind", "does", "waits for", "completes", "frees"});
  for (const size_t column : {1U, 2U, 4U}) table.align(column, base::Table::Align::Left);
  for (size_t i = 0; i < executable.steps.size(); ++i) {
    const exe::Step& step = executable.steps[i];
    std::string completed;
    for (const exe::Completion& done : step.edges.completes)
      completed += (completed.empty() ? "" : " ") + placed_tensor(graph, executable, done.placement);
    table.add_row({std::to_string(i), std::string(kind_of(step)), what_it_does(graph, executable, step),
                   numbers(step.edges.after), short_name(completed), numbers(step.edges.frees)});
  }
  return table.text();
}

}  // namespace peraxis::cli
