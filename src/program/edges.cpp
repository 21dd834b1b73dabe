#include "program/edges.hpp"

#include <algorithm>

namespace peraxis::program {
namespace {

void sort_unique(std::vector<int32_t>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
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

std::vector<Conflicts::Range> Conflicts::merged(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> out;
  for (const Range& range : ranges)
    if (range.begin >= range.end)
      continue;
    else if (!out.empty() && range.begin <= out.back().end)
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  return out;
}

void Conflicts::split(int64_t at) {
  auto segment = bytes_.upper_bound(at);
  if (segment == bytes_.begin()) return;
  --segment;
  if (segment->first == at || segment->second.end <= at) return;
  bytes_.emplace(at, segment->second);
  segment->second.end = at;
}

template <class Fn>
void Conflicts::for_users(const Range& range, const Fn& fn) {
  split(range.begin);
  split(range.end);
  for (auto segment = bytes_.lower_bound(range.begin); segment != bytes_.end() && segment->first < range.end;
       ++segment)
    fn(segment->second.users);
}

void Conflicts::note_reader(const Range& range, int32_t step) {
  int64_t known = range.begin;  // up to here
  std::vector<Range> unused;
  split(range.begin);
  split(range.end);
  for (auto segment = bytes_.lower_bound(range.begin); segment != bytes_.end() && segment->first < range.end;
       ++segment) {
    if (known < segment->first) unused.push_back({known, segment->first});
    segment->second.users.readers.push_back(step);
    known = segment->second.end;
  }
  if (known < range.end) unused.push_back({known, range.end});
  for (const Range& gap : unused) bytes_[gap.begin] = {gap.end, {-1, {step}}};
}

void Conflicts::note_writer(const Range& range, int32_t step) {
  split(range.begin);
  split(range.end);
  bytes_.erase(bytes_.lower_bound(range.begin), bytes_.lower_bound(range.end));
  bytes_[range.begin] = {range.end, {step, {}}};
}

std::vector<int32_t> Conflicts::next() {
  const Step& step = program_.steps[step_];
  const auto index = static_cast<int32_t>(step_++);
  std::vector<Range> read, written;
  for (const Access& access : accesses(program_, step))
    (access.written ? written : read).push_back({access.begin, access.end});
  read = merged(std::move(read));
  written = merged(std::move(written));

  std::vector<int32_t> out;
  const auto wait_for_writer = [&](const Users& users) {
    if (users.writer >= 0) out.push_back(users.writer);
  };
  const auto wait_for_all = [&](const Users& users) {
    wait_for_writer(users);
    out.insert(out.end(), users.readers.begin(), users.readers.end());
  };
  for (const Range& range : read) for_users(range, wait_for_writer);
  for (const Range& range : written) for_users(range, wait_for_all);
  for (const int32_t t : step.host_reads) wait_for_writer(arrays_[static_cast<size_t>(t)]);
  for (const int32_t t : step.host_writes) wait_for_all(arrays_[static_cast<size_t>(t)]);

  for (const Range& range : read) note_reader(range, index);
  for (const Range& range : written) note_writer(range, index);
  for (const int32_t t : step.host_reads) arrays_[static_cast<size_t>(t)].readers.push_back(index);
  for (const int32_t t : step.host_writes) arrays_[static_cast<size_t>(t)] = {index, {}};
  sort_unique(out);
  return out;
}

void Waiting::add(const std::vector<int32_t>& after) {
  size_t below = 0;
  for (const int32_t step : after) below = std::max(below, all_below_[static_cast<size_t>(step)]);
  for (const int32_t step : after)
    if (static_cast<size_t>(step) == below) ++below;
  after_.push_back(after);
  all_below_.push_back(below);
  seen_.push_back(0);
}

bool Waiting::waits(size_t later, size_t earlier, size_t most) const {
  if (earlier >= later) return false;
  ++questions_;
  std::vector<size_t> open{later};
  for (size_t looked = 0; !open.empty() && looked < most; ++looked) {
    const size_t step = open.back();
    open.pop_back();
    if (earlier < all_below_[step]) return true;
    for (const int32_t next : after_[step]) {
      const auto before = static_cast<size_t>(next);
      if (before == earlier) return true;
      if (before < earlier || seen_[before] == questions_) continue;
      seen_[before] = questions_;
      open.push_back(before);
    }
  }
  return false;
}

void draw_edges(const ir::Graph& graph, Program& program) {
  for (Step& step : program.steps)
    for (auto* list : {&step.reads, &step.writes, &step.host_reads, &step.host_writes}) sort_unique(*list);
  // An edge that another makes needless is harmless: it is not looked for at any price.
  constexpr size_t kMostLooks = 10'000;
  Conflicts conflicts(graph, program);
  Waiting waiting;
  for (Step& step : program.steps) {
    std::vector<int32_t>& after = step.after;
    after.clear();
    // The nearest first: what they wait for needs no edge of its own.
    const std::vector<int32_t> candidates = conflicts.next();
    for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
      const bool known = std::ranges::any_of(after, [&](int32_t a) {
        return waiting.waits(static_cast<size_t>(a), static_cast<size_t>(*candidate), kMostLooks);
      });
      if (!known) after.push_back(*candidate);
    }
    std::ranges::reverse(after);
    waiting.add(after);
    step.frees.clear();
  }
  draw_frees(graph, program);
}

}  // namespace peraxis::program
