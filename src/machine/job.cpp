// A job: chains of tasks, one a core. Cores run on their own until a task whose tail asks all cores of the
// job to wait for each other (docs/hardware/pc.md#barriers-between-cores). The model runs one core after the
// other up to such a barrier. What a core reads while another writes it would depend on chance on the chip,
// so it is refused.
#include "machine/fast.hpp"
#include "machine/machine.hpp"
#include "machine/pc.hpp"
#include "machine/pool.hpp"
#include "machine/unpool.hpp"

namespace peraxis::machine {
namespace {

constexpr int32_t kCores = 3;

Status check_kick(const Kick& kick) {
  if (kick.tasks < 1 || kick.tasks > 4095)
    return fail(ErrorCode::InvalidArgument, "TASK_NUMBER is {}, must be 1..4095", kick.tasks);
  if (kick.core < 0 || kick.core >= kCores)
    return fail(ErrorCode::InvalidArgument, "core is {}, must be 0..2", kick.core);
  if (kick.address % 16 != 0)
    return fail(ErrorCode::InvalidArgument, "program address {:#x} is no multiple of 16", kick.address);
  if (kick.words < 1)
    return fail(ErrorCode::InvalidArgument, "the program at {:#x} has no words", kick.address);
  return {};
}

class CoreJob {
 public:
  CoreJob(const Options& options, Memory& memory, const Kick& kick, int64_t cores, std::shared_ptr<Cbuf> cbuf)
      : options_(options),
        memory_(memory),
        kick_(kick),
        cores_(cores),
        cbuf_(std::move(cbuf)),
        program_{kick.address, 2 * ((int64_t{kick.words} + 1) / 2)} {}

  // Tasks up to the end of the chain or to a barrier.
  Status run_to_barrier() {
    reads_.clear();
    writes_.clear();
    waiting_ = false;
    while (!done() && !waiting_) PERAXIS_TRY(step());
    return {};
  }
  // One task, and no other after it.
  Result<TaskReport> run_alone(uint32_t address, uint32_t words) {
    kick_.tasks = index_ + 1;
    program_ = {address, 2 * ((int64_t{words} + 1) / 2)};
    PERAXIS_TRY(step());
    return reports_.back();
  }
  bool done() const { return index_ == kick_.tasks; }
  bool waiting() const { return waiting_; }
  int32_t core() const { return kick_.core; }
  // What the tasks since the last barrier read and wrote; of jobs on several cores only.
  const std::vector<Range>& reads() const { return reads_; }
  const std::vector<Range>& writes() const { return writes_; }
  std::vector<TaskReport>& reports() { return reports_; }

 private:
  Status step();
  Status execute(uint32_t enable, Context& context);
  Status execute_conv(bool rdma, Context& context);

  const Options& options_;
  Memory& memory_;
  Kick kick_;
  int64_t cores_;
  std::shared_ptr<Cbuf> cbuf_;
  Program program_;
  RegisterFile file_;
  JobCache cache_;
  std::vector<Range> commands_, reads_, writes_;
  std::vector<TaskReport> reports_;
  int32_t index_ = 0;
  bool waiting_ = false;
};

Status CoreJob::execute_conv(bool rdma, Context& context) {
  const ConvTask task = PERAXIS_TRY(decode_conv(file_, index_, rdma, options_));
  TaskReport& report = context.report;
  report.output_pixels = task.pixels();
  report.kernel_taps = task.cna.taps();
  report.input_channels = task.cna.channels;
  report.feature_width = task.cna.in_width;
  report.dma_width = task.cna.dma_width;
  report.output_channels = task.core.channels;
  report.depthwise = task.cna.depthwise;
  PERAXIS_TRY(run_conv(task, context));
  if (cores_ > 1) {
    const std::vector<Range> out = output_ranges(task);
    writes_.insert(writes_.end(), out.begin(), out.end());
  }
  return {};
}

Status CoreJob::execute(uint32_t enable, Context& context) {
  constexpr uint32_t kConv = 0x0D, kConvRdma = 0x1D, kFlying = 0x18, kPool = 0x60;
  TaskReport& report = context.report;
  std::vector<Range> out;
  switch (enable) {
    case kConv:
    case kConvRdma:
      return execute_conv(enable == kConvRdma, context);
    case kFlying: {
      report.kind = TaskKind::Flying;
      if (asks_for_unpool(file_)) {
        const UnpoolTask task = PERAXIS_TRY(decode_unpool(file_, index_));
        report.output_pixels = task.width * task.columns * task.height * task.rows;
        report.input_channels = report.output_channels = kAtom;
        PERAXIS_TRY(run_unpool(task, context));
        out = output_ranges(task);
        break;
      }
      const FlyingTask task = PERAXIS_TRY(decode_flying(file_, index_, options_));
      report.output_pixels = task.pixels();
      report.input_channels = report.output_channels = task.core.channels;
      PERAXIS_TRY(run_flying(task, context));
      out = output_ranges(task);
      break;
    }
    case kPool: {
      const PoolTask task = PERAXIS_TRY(decode_pool(file_, index_, options_));
      report.kind = TaskKind::Pool;
      report.output_pixels = task.out_width * task.out_height;
      report.kernel_taps = task.kernel_w * task.kernel_h;
      report.input_channels = report.output_channels = task.channels;
      PERAXIS_TRY(run_pool(task, context));
      out = output_ranges(task);
      break;
    }
    default:
      return fail(ErrorCode::Device, "task {}: enable word {:#x} is no known combination of blocks", index_,
                  enable);
  }
  if (cores_ > 1) writes_.insert(writes_.end(), out.begin(), out.end());
  return {};
}

Status CoreJob::step() {
  if (options_.before_task) PERAXIS_TRY(options_.before_task(kick_.core, index_));
  file_.begin_task();
  const Fetched fetched = PERAXIS_TRY(fetch(program_, index_, kick_.core, memory_, file_));
  commands_.push_back({program_.address, program_.address + fetched.words * kWordBytes});
  TaskReport report;
  report.index = index_;
  report.command_words = fetched.words;
  Context context{options_, memory_, *cbuf_, cache_, report, commands_};
  PERAXIS_TRY(execute(fetched.enable, context));
  reports_.push_back(report);
  if (cores_ > 1) reads_.insert(reads_.end(), context.reads.begin(), context.reads.end());
  const int64_t barrier = barrier_cores(file_);
  if (barrier != 0 && barrier != cores_)
    return fail(ErrorCode::Device,
                "task {}: PC.REGISTER_AMOUNTS.CORE_BARRIER is {}: waits for {} cores, the job runs on {}",
                index_, barrier - 1, barrier, cores_);
  waiting_ = barrier != 0;
  if (index_ + 1 < kick_.tasks) program_ = PERAXIS_TRY(next_program(file_, index_, kick_.tasks));
  file_.end_task();
  ++index_;
  return {};
}

Status check_races(const std::vector<std::unique_ptr<CoreJob>>& jobs) {
  for (const auto& a : jobs)
    for (const auto& b : jobs) {
      if (a == b) continue;
      for (const Range& out : a->writes())
        for (const Range& in : b->reads())
          if (out.begin < in.end && in.begin < out.end)
            return fail(ErrorCode::Device,
                        "core {} writes {:#x}..{:#x}, core {} reads {:#x}..{:#x}, and neither waits for the "
                        "other (PC.REGISTER_AMOUNTS.CORE_BARRIER)",
                        a->core(), out.begin, out.end, b->core(), in.begin, in.end);
    }
  return {};
}

}  // namespace

std::shared_ptr<Cbuf> Machine::cbuf_of(int32_t core) {
  std::shared_ptr<Cbuf>& kept = kept_[static_cast<size_t>(core)];
  if (kept == nullptr || !options_.switches.cbuf_survives_jobs) kept = std::make_shared<Cbuf>();
  return kept;
}

Result<std::vector<std::vector<TaskReport>>> Machine::run(std::span<const Kick> kicks) {
  if (kicks.empty() || kicks.size() > kCores)
    return fail(ErrorCode::InvalidArgument, "a job runs on {} cores, must be 1..3", kicks.size());
  std::vector<std::unique_ptr<CoreJob>> jobs;
  for (const Kick& kick : kicks) {
    PERAXIS_TRY(check_kick(kick));
    for (const auto& job : jobs)
      if (job->core() == kick.core)
        return fail(ErrorCode::InvalidArgument, "core {} is given two chains", kick.core);
    jobs.push_back(std::make_unique<CoreJob>(options_, memory_, kick, static_cast<int64_t>(kicks.size()),
                                             cbuf_of(kick.core)));
  }
  for (bool more = true; more;) {
    for (const auto& job : jobs) PERAXIS_TRY(job->run_to_barrier());
    PERAXIS_TRY(check_races(jobs));
    more = false;
    for (const auto& job : jobs) more = more || job->waiting();
    for (const auto& job : jobs)
      if (more && !job->waiting())
        return fail(ErrorCode::Device, "core {} has ended, others wait for it for ever", job->core());
  }
  std::vector<std::vector<TaskReport>> reports;
  for (const auto& job : jobs) reports.push_back(std::move(job->reports()));
  return reports;
}

Result<std::vector<TaskReport>> Machine::run(const Kick& kick) {
  auto reports = PERAXIS_TRY(run(std::span(&kick, 1)));
  return std::move(reports.front());
}

struct KickedJob::State {
  int32_t core;
  std::unique_ptr<CoreJob> job;
};
KickedJob::KickedJob(Machine& machine, int32_t core) : state_(new State{core, nullptr}) {
  if (core >= 0 && core < kCores)
    state_->job = std::make_unique<CoreJob>(machine.options_, machine.memory_, Kick{0, 1, 1, core}, 1,
                                            machine.cbuf_of(core));
}
KickedJob::~KickedJob() = default;

Result<TaskReport> KickedJob::run(uint32_t address, uint32_t words) {
  PERAXIS_TRY(check_kick({address, words, 1, state_->core}));
  return state_->job->run_alone(address, words);
}

}  // namespace peraxis::machine
