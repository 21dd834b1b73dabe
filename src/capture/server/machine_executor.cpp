// The machine model as executor. A core has a model of its own, so cores run side by side.
#include <array>
#include <thread>

#include "capture/server/executor.hpp"

namespace peraxis::capture {
namespace {

constexpr uint32_t kRaisedByPool = 0x400, kRaisedByDpu = 0x100;

class MachineExecutor final : public Executor {
 public:
  explicit MachineExecutor(const MachineProfile& profile) : profile_(profile) {
    options_.switches = profile.switches;
    options_.switches.cbuf_survives_jobs = true;  // from kick to kick; between jobs as the profile says
    options_.switches.read_unwritten = true;
    options_.switches.drop_dummy_output = profile.drop_dummy_output;
    for (auto& core : cores_) core = std::make_unique<machine::Machine>(options_);
    chains_ = std::make_unique<machine::Machine>(options_);
  }

  std::unique_ptr<CoreSession> begin_job(int32_t core, const Space& space) override;
  TaskOutcome run_chains(std::span<const machine::Kick> kicks, const Space& space, const Budget& budget,
                         std::vector<int64_t>& finished) override;
  const MachineProfile& profile() const { return profile_; }

 private:
  Status map(machine::Machine& machine, const Space& space) const {
    machine.memory().clear();
    for (const Mapped& part : space) {
      PERAXIS_TRY(machine.memory().map(part.address, part.memory->bytes(), part.name));
      if (!profile_.check_unwritten) {
        PERAXIS_TRY(
            machine.memory().mark_written(part.address, static_cast<int64_t>(part.memory->bytes().size())));
        continue;
      }
      for (const auto& [begin, end] : part.memory->touched())
        PERAXIS_TRY(machine.memory().mark_written(part.address + begin, end - begin));
    }
    return {};
  }

  MachineProfile profile_;
  machine::Options options_;
  std::array<std::unique_ptr<machine::Machine>, 3> cores_;
  std::unique_ptr<machine::Machine> chains_;
};

// Findings of a memory beyond the first `seen`.
std::vector<std::string> new_findings(machine::Machine& machine, size_t& seen) {
  const std::vector<std::string>& all = machine.memory().unwritten_reads();
  std::vector<std::string> out(all.begin() + static_cast<int64_t>(std::min(seen, all.size())), all.end());
  seen = all.size();
  return out;
}

class MachineSession final : public CoreSession {
 public:
  MachineSession(const MachineProfile& profile, machine::Machine& machine, int32_t core, Status mapped)
      : profile_(profile), machine_(machine), job_(machine, core), mapped_(std::move(mapped)) {
    seen_ = machine.memory().unwritten_reads().size();
  }

  TaskOutcome run(const CommandRange& task,
                  const Budget&) override {  // the model's own time is no device time
    TaskOutcome out;
    if (!mapped_) {
      out.why = mapped_.error().message;
      return out;
    }
    const auto report = job_.run(task.address & ~0xFU, task.words);
    out.remarks = new_findings(machine_, seen_);
    if (!report) {
      out.why = report.error().text();
      return out;
    }
    out.finished = true;
    out.interrupts = kRaisedByDpu;
    if (report->kind == machine::TaskKind::Pool)
      out.interrupts = kRaisedByPool | (profile_.ppu_raises_dpu ? kRaisedByDpu : 0);
    return out;
  }

 private:
  const MachineProfile& profile_;
  machine::Machine& machine_;
  machine::KickedJob job_;
  Status mapped_;
  size_t seen_ = 0;
};

std::unique_ptr<CoreSession> MachineExecutor::begin_job(int32_t core, const Space& space) {
  auto& machine = cores_[static_cast<size_t>(core)];
  if (!profile_.keep_cbuf) machine = std::make_unique<machine::Machine>(options_);
  return std::make_unique<MachineSession>(profile_, *machine, core, map(*machine, space));
}

TaskOutcome MachineExecutor::run_chains(std::span<const machine::Kick> kicks, const Space& space,
                                        const Budget&, std::vector<int64_t>& finished) {
  // Jobs of one core run side by side; one of several cores has them all.
  auto& machine = kicks.size() == 1 ? cores_[static_cast<size_t>(kicks[0].core)] : chains_;
  if (!profile_.keep_cbuf) machine = std::make_unique<machine::Machine>(options_);
  TaskOutcome out;
  finished.assign(kicks.size(), 0);
  if (const Status mapped = map(*machine, space); !mapped) {
    out.why = mapped.error().message;
    return out;
  }
  size_t seen = machine->memory().unwritten_reads().size();
  const auto reports = machine->run(kicks);
  out.remarks = new_findings(*machine, seen);
  if (!reports) {
    out.why = reports.error().text();
    return out;
  }
  out.finished = true;
  for (size_t i = 0; i < kicks.size(); ++i) {
    finished[i] = static_cast<int64_t>((*reports)[i].size());
    for (const machine::TaskReport& report : (*reports)[i])
      out.interrupts = report.kind == machine::TaskKind::Pool
                           ? kRaisedByPool | (profile_.ppu_raises_dpu ? kRaisedByDpu : 0)
                           : kRaisedByDpu;
  }
  return out;
}

}  // namespace

bool Budget::pass(std::chrono::microseconds time) const {
  const Clock::time_point until = Clock::now() + time;
  std::this_thread::sleep_until(std::min(until, end_));
  return until <= end_;
}
void Budget::pass_all() const {
  std::this_thread::sleep_until(end_);
}

std::unique_ptr<Executor> make_machine_executor(const MachineProfile& profile) {
  return std::make_unique<MachineExecutor>(profile);
}

}  // namespace peraxis::capture
