// What executes a job's tasks in place of the chip, on memory that programs share with it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "capture/server/objects.hpp"
#include "machine/machine.hpp"

namespace peraxis::capture {

// What the device addresses of a job lead to.
struct Mapped {
  uint32_t address = 0;
  std::shared_ptr<SharedMemory> memory;
  std::string name;
};
using Space = std::vector<Mapped>;

struct CommandRange {
  uint32_t address = 0;
  uint32_t words = 0;
};

// The time a job has; a task that would take longer does not finish.
class Budget {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Budget(std::chrono::microseconds time) : end_(Clock::now() + time) {}

  // Lets device time pass. False: the job's time is over.
  bool pass(std::chrono::microseconds time) const;
  void pass_all() const;
  Clock::time_point end() const { return end_; }

 private:
  Clock::time_point end_;
};

inline constexpr uint32_t kDpuInterrupts = 0x300, kPpuInterrupts = 0xC00;

struct TaskOutcome {
  bool finished = false;
  bool late = false;        // it was the time that ended it, not a fault
  std::string why;          // not finished: the machine's sentence
  uint32_t interrupts = 0;  // raised at its end
  std::vector<std::string> remarks;
};

// One core during one job.
class CoreSession {
 public:
  virtual ~CoreSession() = default;
  // Starts one task on its own and waits.
  virtual TaskOutcome run(const CommandRange& task, const Budget& budget) = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::unique_ptr<CoreSession> begin_job(int32_t core, const Space& space) = 0;
  // Chains of tasks that follow their tails, one a core (vendor kernel). `finished`: tasks, by chain.
  virtual TaskOutcome run_chains(std::span<const machine::Kick> kicks, const Space& space,
                                 const Budget& budget, std::vector<int64_t>& finished) = 0;
};

struct MachineProfile {
  machine::Switches switches;
  bool keep_cbuf = false;         // a core's buffer keeps its content from job to job
  bool ppu_raises_dpu = true;     // the end of a pooling raises the DPU's interrupts too (silicon unknown)
  bool check_unwritten = false;   // report reads of memory that nobody ever touched
  bool drop_dummy_output = true;  // what dummy channels write outside every buffer is lost, as on the chip
};
std::unique_ptr<Executor> make_machine_executor(const MachineProfile& profile);
// The words of the program that measured the real kernel, in place of commands: target 0xFFFF, offset 0 delay
// in us, 4 hang, 8 bytes, 12 value added to each copied u32, 16 seed of a ramp, 20 interrupts to raise.
std::unique_ptr<Executor> make_test_word_executor();

}  // namespace peraxis::capture
