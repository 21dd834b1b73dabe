#include "program/program.hpp"

#include "program/task_memory.hpp"

namespace peraxis::program {
namespace {

const rk3588::LookUpTable* table_in(const rk3588::Task& task) {
  if (const auto* load = std::get_if<rk3588::TableTask>(&task)) return load->table.get();
  return rk3588::table_of(task).get();
}

// The same task but for the object that its table is.
rk3588::Task without_table(rk3588::Task task) {
  if (auto* load = std::get_if<rk3588::TableTask>(&task)) load->table = nullptr;
  if (auto* element = std::get_if<rk3588::ElementTask>(&task)) element->table = nullptr;
  return task;
}

}  // namespace

bool Task::operator==(const Task& other) const {
  const rk3588::LookUpTable *a = table_in(task), *b = table_in(other.task);
  const bool tables = a == nullptr || b == nullptr ? a == b : *a == *b;
  return tables && op == other.op && kind == other.kind && first_row == other.first_row &&
         rows == other.rows && real_input_channels == other.real_input_channels &&
         real_output_channels == other.real_output_channels && set == other.set &&
         without_table(task) == without_table(other.task);
}

std::vector<Access> accesses(const Program& program, const Step& step) {
  std::vector<Access> out;
  const auto add = [&](int32_t allocation, int64_t begin, int64_t end, bool written) {
    const Allocation& at = program.allocations[static_cast<size_t>(allocation)];
    if (!at.constant) out.push_back({at.offset + begin, at.offset + end, written});
  };
  const auto add_tensor = [&](int32_t index, bool written) {
    if (index < 0) return;
    const DeviceTensor& tensor = program.tensors[static_cast<size_t>(index)];
    add(tensor.address.allocation, tensor.address.offset, tensor.address.offset + tensor.bytes(), written);
  };
  switch (step.kind) {
    case StepKind::Cpu:
      for (const int32_t index : step.inputs) add_tensor(index, false);
      for (const int32_t index : step.outputs) add_tensor(index, true);
      break;
    case StepKind::Upload:
    case StepKind::Download:
      add_tensor(step.tensor, step.kind == StepKind::Upload);
      break;
    case StepKind::Job:
      for (int32_t t = step.first_task; t < step.first_task + step.task_count; ++t)
        for (const Reach& reach : reach_of(program.tasks[static_cast<size_t>(t)].task))
          add(reach.allocation, reach.begin, reach.end, reach.written);
      break;
    case StepKind::Gather:
    case StepKind::Requantize:
    case StepKind::Correct:
      for (const Region& region : program.host_works[static_cast<size_t>(step.host_work)].regions)
        add(region.allocation, region.offset, region.offset + region.bytes(), false);
      add_tensor(step.tensor, true);
      break;
  }
  return out;
}

}  // namespace peraxis::program
