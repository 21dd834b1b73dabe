#include "program/verify.hpp"

#include <algorithm>

#include "program/edges.hpp"
#include "target/rk3588/limits.hpp"

namespace peraxis::program {
namespace {

template <class... Args>
tl::unexpected<Error> bad(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::InvalidModel, format, std::forward<Args>(args)...);
}

bool is_index(int64_t index, size_t count) {
  return index >= 0 && index < static_cast<int64_t>(count);
}

class Checker {
 public:
  Checker(const ir::Graph& graph, const Program& program) : graph_(graph), p_(program) {}

  Status run() {
    PERAXIS_TRY(check_operators());
    PERAXIS_TRY(check_order());
    PERAXIS_TRY(check_allocations());
    for (size_t i = 0; i < p_.tensors.size(); ++i)
      PERAXIS_TRY_NOTE(check_tensor(p_.tensors[i]), "in device tensor {}", i);
    for (size_t i = 0; i < p_.host_works.size(); ++i)
      PERAXIS_TRY_NOTE(check_host_work(p_.host_works[i]), "in host work {}", i);
    for (size_t i = 0; i < p_.tasks.size(); ++i) PERAXIS_TRY_NOTE(check_task(p_.tasks[i]), "in task {}", i);
    int32_t next = 0;
    for (size_t i = 0; i < p_.steps.size(); ++i) PERAXIS_TRY_NOTE(check_step(i, next), "in step {}", i);
    if (next != static_cast<int32_t>(p_.tasks.size()))
      return bad("the jobs hold {} tasks, the program has {}", next, p_.tasks.size());
    for (const int32_t t : p_.host_constants)
      if (!is_index(t, graph_.tensors.size()) || !graph_.tensor(t).is_constant)
        return bad("the host reads constant {}, which the graph does not have", t);
    PERAXIS_TRY(check_completions());
    PERAXIS_TRY(check_host_arrays());
    return check_waiting();
  }

 private:
  const Operator& op(int32_t index) const { return p_.operators[static_cast<size_t>(index)]; }

  Status check_operators() const {
    if (p_.operators.size() != graph_.ops.size())
      return bad("it has {} operators, the graph {}", p_.operators.size(), graph_.ops.size());
    for (size_t i = 0; i < p_.operators.size(); ++i) {
      const Operator& o = p_.operators[i];
      const bool other = o.variant == Variant::Part || o.variant == Variant::Sum;
      if (!other && o.by >= 0)
        return bad("operator {} has variant {} of operator {}", i, static_cast<int>(o.variant), o.by);
      if (!other) continue;
      if (!is_index(o.by, p_.operators.size()))
        return bad("operator {} is done by {}, which is none", i, o.by);
      const Variant whole = op(o.by).variant;
      if (whole != (o.variant == Variant::Sum ? Variant::Convolution : Variant::Tasks))
        return bad("operator {} is done by operator {}, whose tasks cannot", i, o.by);
    }
    return {};
  }

  // Each operator once, behind those that make what it reads.
  Status check_order() const {
    std::vector<int32_t> maker(graph_.tensors.size(), -1), place(graph_.ops.size(), -1);
    for (size_t i = 0; i < graph_.ops.size(); ++i)
      for (const int32_t t : graph_.ops[i].outputs) maker[static_cast<size_t>(t)] = static_cast<int32_t>(i);
    if (p_.order.size() != graph_.ops.size())
      return bad("the order has {} operators, the graph {}", p_.order.size(), graph_.ops.size());
    for (size_t i = 0; i < p_.order.size(); ++i) {
      const int32_t index = p_.order[i];
      if (!is_index(index, graph_.ops.size()) || place[static_cast<size_t>(index)] >= 0)
        return bad("place {} of the order has operator {}, which is none or was there", i, index);
      place[static_cast<size_t>(index)] = static_cast<int32_t>(i);
      for (const int32_t t : graph_.ops[static_cast<size_t>(index)].inputs)
        if (t != ir::kAbsent)
          if (const int32_t before = maker[static_cast<size_t>(t)];
              before >= 0 && place[static_cast<size_t>(before)] < 0)
            return bad("operator {} comes before operator {}, which makes what it reads", index, before);
    }
    return {};
  }

  Status check_allocations() const {
    std::vector<const Allocation*> used;
    for (size_t i = 0; i < p_.allocations.size(); ++i) {
      const Allocation& a = p_.allocations[i];
      if (a.bytes < 0 || a.offset < 0 || a.offset % rk3588::kAtomBytes != 0)
        return bad("allocation {} has {} bytes at {}", i, a.bytes, a.offset);
      if (a.constant || a.last < 0) continue;
      if (a.first < 0 || a.first > a.last || a.last > static_cast<int32_t>(p_.order.size()))
        return bad("allocation {} lives from place {} to {} of {}", i, a.first, a.last, p_.order.size());
      if (a.bytes > p_.activation_bytes || a.offset > p_.activation_bytes - a.bytes)
        return bad("allocation {} ends at {}, the arena at {}", i, a.offset + a.bytes, p_.activation_bytes);
      used.push_back(&a);
    }
    std::ranges::sort(used, {}, &Allocation::offset);
    for (size_t i = 0; i < used.size(); ++i)
      for (size_t j = i + 1; j < used.size() && used[j]->offset < used[i]->offset + used[i]->bytes; ++j)
        if (used[j]->bytes > 0 && used[i]->first <= used[j]->last && used[j]->first <= used[i]->last)
          return bad("allocations {} and {} share byte {} while both live", used[i] - p_.allocations.data(),
                     used[j] - p_.allocations.data(), used[j]->offset);
    return {};
  }

  // The bytes are there; what is written is no constant.
  Status check_bytes(int32_t allocation, int64_t begin, int64_t end, bool written) const {
    if (!is_index(allocation, p_.allocations.size()))
      return bad("it uses allocation {} of {}", allocation, p_.allocations.size());
    const Allocation& a = p_.allocations[static_cast<size_t>(allocation)];
    if (a.constant && written) return bad("it writes allocation {}, a constant", allocation);
    if (begin < 0 || end < begin || end > a.bytes)
      return bad("it uses bytes {} to {} of allocation {}, which has {}", begin, end, allocation, a.bytes);
    return {};
  }

  Status check_tensor(const DeviceTensor& t) const {
    constexpr int64_t kMost = int64_t{1} << 24;
    if (!is_index(t.tensor, graph_.tensors.size()))
      return bad("it is of tensor {} of {}", t.tensor, graph_.tensors.size());
    if (t.owner >= 0 && !is_index(t.owner, graph_.tensors.size()))
      return bad("its owner is tensor {}", t.owner);
    const Map& map = t.map;
    for (const int64_t size : {map.h, map.w, map.c, t.slots})
      if (size < 1 || size > kMost)
        return bad("its map is {}x{}x{} in {} slots", map.h, map.w, map.c, t.slots);
    if (t.pitch < 0 || t.pitch > kMost || (t.pitch > 0 && t.pitch < map.w))
      return bad("its rows are {} pixels apart and {} wide", t.pitch, map.w);
    if (t.pitch == 0 && (t.slots % rk3588::kAtomBytes != 0 || t.layout.slots > t.slots))
      return bad("its channels lie in {} slots of {}", t.layout.slots, t.slots);
    if (map.h * map.w > kMost * kMost / t.slots) return bad("its map is {}x{}x{}", map.h, map.w, t.slots);
    PERAXIS_TRY(check_slots(t));
    PERAXIS_TRY(check_bytes(t.address.allocation, t.address.offset, t.address.offset + t.bytes(), true));
    const Allocation& a = p_.allocations[static_cast<size_t>(t.address.allocation)];
    if (t.first > t.last || (t.last >= 0 && (t.first < a.first || t.last > a.last)))
      return bad("it lives from place {} to {}, its allocation from {} to {}", t.first, t.last, a.first,
                 a.last);
    return {};
  }

  static Status check_slots(const DeviceTensor& t) {
    if (t.layout.plain()) {
      if (t.map.c > t.slots) return bad("it has {} channels in {} slots", t.map.c, t.slots);
      return {};
    }
    if (static_cast<int64_t>(t.layout.slot_of.size()) != t.map.c)
      return bad("it says the slots of {} channels and has {}", t.layout.slot_of.size(), t.map.c);
    std::vector<bool> taken(static_cast<size_t>(t.slots), false);
    for (const int32_t slot : t.layout.slot_of) {
      if (!is_index(slot, taken.size())) return bad("a channel lies in slot {} of {}", slot, t.slots);
      if (taken[static_cast<size_t>(slot)]) return bad("two channels lie in slot {}", slot);
      taken[static_cast<size_t>(slot)] = true;
    }
    return {};
  }

  Status check_host_work(const HostWork& work) const {
    if (!is_index(work.op, p_.operators.size()) || op(work.op).variant != Variant::Convolution)
      return bad("it is of operator {}, no convolution of the NPU", work.op);
    for (const Region& r : work.regions) {
      if (r.h < 1 || r.w < 1 || r.slots < 1 || (r.element_bytes != 1 && r.element_bytes != 4) ||
          r.h * r.w > (int64_t{1} << 40) / r.slots)
        return bad("a region is {}x{}x{} of {} bytes", r.h, r.w, r.slots, r.element_bytes);
      PERAXIS_TRY(check_bytes(r.allocation, r.offset, r.offset + r.bytes(), true));
    }
    for (const HostChannel& c : work.channels) {
      if (!is_index(c.region, work.regions.size()))
        return bad("a channel lies in region {} of {}", c.region, work.regions.size());
      const auto slots = static_cast<size_t>(work.regions[static_cast<size_t>(c.region)].slots);
      if (!is_index(c.slot, slots) || (c.sum_slot != -1 && !is_index(c.sum_slot, slots)))
        return bad("a channel lies in slots {} and {} of {}", c.slot, c.sum_slot, slots);
    }
    return {};
  }

  Status check_task(const Task& task) const {
    if (!is_index(task.op, p_.operators.size()))
      return bad("it is of operator {} of {}", task.op, p_.operators.size());
    const Variant variant = op(task.op).variant;
    if (variant != Variant::Convolution && variant != Variant::Tasks)
      return bad("it is of operator {}, which has no tasks", task.op);
    for (const Reach& reach : reach_of(task.task))
      PERAXIS_TRY(check_bytes(reach.allocation, reach.begin, reach.end, reach.written));
    if (const auto* c = std::get_if<rk3588::ConvTask>(&task.task))
      if (!is_index(c->weights.allocation, p_.allocations.size()) ||
          !p_.allocations[static_cast<size_t>(c->weights.allocation)].constant)
        return bad("its weights are in allocation {}, which is no constant", c->weights.allocation);
    return {};
  }

  Status check_tensors(const std::vector<int32_t>& list) const {
    for (const int32_t index : list)
      if (!is_index(index, p_.tensors.size()))
        return bad("it uses device tensor {} of {}", index, p_.tensors.size());
    return {};
  }

  Status check_step(size_t index, int32_t& next) const {
    const Step& s = p_.steps[index];
    for (const auto* list : {&s.reads, &s.writes}) PERAXIS_TRY(check_tensors(*list));
    for (const auto* list : {&s.host_reads, &s.host_writes, &s.frees})
      for (const int32_t t : *list)
        if (!is_index(t, graph_.tensors.size()))
          return bad("it uses tensor {} of {}", t, graph_.tensors.size());
    for (const auto* list : {&s.after, &s.reads, &s.writes, &s.host_reads, &s.host_writes, &s.frees})
      if (std::ranges::adjacent_find(*list, std::greater_equal<>()) != list->end())
        return bad("what it reads, writes, frees or waits for is not in rising order");
    for (const int32_t a : s.after)
      if (!is_index(a, index)) return bad("it waits for step {}, which is not an earlier one", a);
    switch (s.kind) {
      case StepKind::Cpu:
        return check_cpu(s);
      case StepKind::Job:
        if (s.first_task != next || s.task_count < 1 ||
            s.task_count > static_cast<int64_t>(p_.tasks.size()) - next)
          return bad("it runs {} tasks from {} on, {} comes next of {}", s.task_count, s.first_task, next,
                     p_.tasks.size());
        if (s.task_count > rk3588::kMaxChainTasks)
          return bad("it runs {} tasks, the chip counts {}", s.task_count, rk3588::kMaxChainTasks);
        next += s.task_count;
        return {};
      case StepKind::Upload:
      case StepKind::Download:
        return check_tensors({s.tensor});
      case StepKind::Gather:
      case StepKind::Requantize:
      case StepKind::Correct:
        if (!is_index(s.host_work, p_.host_works.size()))
          return bad("it does host work {} of {}", s.host_work, p_.host_works.size());
        return check_tensors({s.tensor});
    }
    return {};
  }

  Status check_cpu(const Step& s) const {
    if (!is_index(s.op, p_.operators.size()) || op(s.op).variant != Variant::Cpu)
      return bad("it runs operator {}, which is not one of the CPU", s.op);
    const ir::Op& o = graph_.ops[static_cast<size_t>(s.op)];
    if (s.inputs.empty() && s.outputs.empty()) return {};
    if (s.inputs.size() != o.inputs.size() || s.outputs.size() != o.outputs.size())
      return bad("it has {} and {} operands, the operator {} and {}", s.inputs.size(), s.outputs.size(),
                 o.inputs.size(), o.outputs.size());
    for (const auto* list : {&s.inputs, &s.outputs})
      for (const int32_t index : *list)
        if (index >= 0) PERAXIS_TRY(check_tensors({index}));
    return {};
  }

  // Each tensor at most once, by a step that is not behind its readers.
  Status check_completions() const {
    std::vector<int64_t> done(p_.tensors.size(), -1);
    for (size_t i = 0; i < p_.steps.size(); ++i) {
      const Step& s = p_.steps[i];
      for (const Completion& c : s.completes) {
        if (!is_index(c.tensor, p_.tensors.size()))
          return bad("step {} completes device tensor {}", i, c.tensor);
        if (c.task >= 0 &&
            (s.kind != StepKind::Job || c.task < s.first_task || c.task >= s.first_task + s.task_count))
          return bad("step {} completes device tensor {} by task {}, which it has not", i, c.tensor, c.task);
        if (done[static_cast<size_t>(c.tensor)] >= 0)
          return bad("device tensor {} is completed twice, by steps {} and {}", c.tensor,
                     done[static_cast<size_t>(c.tensor)], i);
        done[static_cast<size_t>(c.tensor)] = static_cast<int64_t>(i);
      }
    }
    std::vector<bool> written(p_.tensors.size(), false);
    for (size_t i = 0; i < p_.steps.size(); ++i) {
      const Step& s = p_.steps[i];
      for (const int32_t t : s.writes) written[static_cast<size_t>(t)] = true;
      for (const Completion& c : s.completes) written[static_cast<size_t>(c.tensor)] = true;
      for (const int32_t t : s.reads) {
        if (!written[static_cast<size_t>(t)])
          return bad("step {} reads device tensor {}, which nothing has written", i, t);
        if (done[static_cast<size_t>(t)] > static_cast<int64_t>(i))
          return bad("step {} reads device tensor {}, which step {} completes", i, t,
                     done[static_cast<size_t>(t)]);
      }
    }
    return {};
  }

  Status check_host_arrays() const {
    std::vector<bool> there(graph_.tensors.size(), false);
    for (size_t t = 0; t < there.size(); ++t) there[t] = graph_.tensors[t].is_constant;
    for (const int32_t t : graph_.inputs) there[static_cast<size_t>(t)] = true;
    for (const ir::KeptState& kept : graph_.states) there[static_cast<size_t>(kept.before)] = true;
    for (size_t i = 0; i < p_.steps.size(); ++i) {
      for (const int32_t t : p_.steps[i].host_reads)
        if (!there[static_cast<size_t>(t)])
          return bad("step {} reads host array {}, which is not there", i, t);
      for (const int32_t t : p_.steps[i].host_writes) there[static_cast<size_t>(t)] = true;
      for (const int32_t t : p_.steps[i].frees) {
        if (!there[static_cast<size_t>(t)])
          return bad("step {} frees host array {}, which is not there", i, t);
        there[static_cast<size_t>(t)] = false;
      }
    }
    for (const int32_t t : graph_.outputs)
      if (!there[static_cast<size_t>(t)]) return bad("output {} of the model is no host array in the end", t);
    for (const ir::KeptState& kept : graph_.states)
      if (!there[static_cast<size_t>(kept.after)])
        return bad("state {} of the model is no host array in the end", kept.after);
    return {};
  }

  Status check_waiting() const {
    Conflicts conflicts(graph_, p_);
    Waiting waiting;
    for (size_t i = 0; i < p_.steps.size(); ++i) {
      waiting.add(p_.steps[i].after);
      for (const int32_t before : conflicts.next())
        if (!waiting.waits(i, static_cast<size_t>(before)))
          return bad("step {} uses what step {} uses, and does not wait for it", i, before);
    }
    return {};
  }

  const ir::Graph& graph_;
  const Program& p_;
};

}  // namespace

Status verify(const ir::Graph& graph, const Program& program) {
  PERAXIS_TRY_NOTE(Checker(graph, program).run(), "in the placed program of '{}'", program.model);
  return {};
}

}  // namespace peraxis::program
