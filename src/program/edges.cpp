#include "program/edges.hpp"

#include <algorithm>

namespace peraxis::program {
namespace {

void sort_unique(std::vector<int32_t>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

bool share_one(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();)
    if (*i == *j)
      return true;
    else
      ++(*i < *j ? i : j);
  return false;
}

// A host array is free after the last step that has to do with it, unless the model keeps it.
void draw_frees(const ir::Graph& graph, Program& program) {
  std::vector<int32_t> last(graph.tensors.size(), -1);
  for (size_t i = 0; i < program.steps.size(); ++i)
    for (const auto* list : {&program.steps[i].host_reads, &program.steps[i].host_writes})
      for (const int32_t t : *list) last[static_cast<size_t>(t)] = static_cast<int32_t>(i);
  for (const int32_t t : graph.outputs) last[static_cast<size_t>(t)] = -1;
  for (const ir::KeptState& kept : graph.states) last[static_cast<size_t>(kept.after)] = -1;
  for (size_t t = 0; t < last.size(); ++t)
    if (last[t] >= 0) program.steps[static_cast<size_t>(last[t])].frees.push_back(static_cast<int32_t>(t));
}

}  // namespace

void note_operands(const std::vector<OperatorAccess>& accesses, Program& program) {
  for (Step& step : program.steps) {
    if (step.kind != StepKind::Job) continue;
    int32_t last = -1;
    for (int32_t t = step.first_task; t < step.first_task + step.task_count; ++t) {
      const int32_t op = program.tasks[static_cast<size_t>(t)].op;
      if (op == last) continue;
      last = op;
      const OperatorAccess& access = accesses[static_cast<size_t>(op)];
      step.reads.insert(step.reads.end(), access.reads.begin(), access.reads.end());
      step.writes.insert(step.writes.end(), access.writes.begin(), access.writes.end());
    }
  }
}

Hazards::Hazards(const Program& program) {
  for (const Step& step : program.steps) {
    Use use;
    for (const Access& access : accesses(program, step)) {
      use.all.push_back({access.begin, access.end});
      if (access.written) use.written.push_back(use.all.back());
    }
    use.all = merged(std::move(use.all));
    use.written = merged(std::move(use.written));
    use.arrays_written = step.host_writes;
    use.arrays = step.host_reads;
    use.arrays.insert(use.arrays.end(), step.host_writes.begin(), step.host_writes.end());
    sort_unique(use.arrays);
    sort_unique(use.arrays_written);
    uses_.push_back(std::move(use));
  }
}

std::vector<Hazards::Range> Hazards::merged(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> out;
  for (const Range& range : ranges)
    if (!out.empty() && range.begin <= out.back().end)
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  return out;
}

bool Hazards::overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (i->begin < j->end && j->begin < i->end) return true;
    ++(i->end <= j->end ? i : j);
  }
  return false;
}

bool Hazards::between(size_t earlier, size_t later) const {
  const Use &a = uses_[earlier], &b = uses_[later];
  return overlap(a.written, b.all) || overlap(a.all, b.written) || share_one(a.arrays_written, b.arrays) ||
         share_one(a.arrays, b.arrays_written);
}

void Waiting::add(const std::vector<int32_t>& after) {
  std::vector<bool> before(before_.size());
  for (const int32_t step : after) {
    const auto s = static_cast<size_t>(step);
    before[s] = true;
    for (size_t i = 0; i < before_[s].size(); ++i)
      if (before_[s][i]) before[i] = true;
  }
  before_.push_back(std::move(before));
}

void draw_edges(const ir::Graph& graph, Program& program) {
  for (Step& step : program.steps)
    for (auto* list : {&step.reads, &step.writes, &step.host_reads, &step.host_writes}) sort_unique(*list);
  const Hazards hazards(program);
  Waiting waiting;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    std::vector<int32_t>& after = program.steps[i].after;
    after.clear();
    // The nearest first: what they wait for needs no edge of its own.
    for (size_t j = i; j-- > 0;) {
      const bool known =
          std::ranges::any_of(after, [&](int32_t a) { return waiting.waits(static_cast<size_t>(a), j); });
      if (!known && hazards.between(j, i)) after.push_back(static_cast<int32_t>(j));
    }
    std::ranges::reverse(after);
    waiting.add(after);
    program.steps[i].frees.clear();
  }
  draw_frees(graph, program);
}

}  // namespace peraxis::program
