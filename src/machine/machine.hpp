// The machine model: executes RK3588 NPU command words from a memory image, bit by bit. It is a second
// witness beside the compiler: it knows the register table and the rounding rules, and has its own reading
// of every layout, as docs/hardware tells it. What would hang the chip, or what those pages do not
// settle, is refused with the task, the register and the value, never guessed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "machine/memory.hpp"
#include "machine/switches.hpp"

namespace peraxis::machine {

struct Options {
  Switches switches;
  bool plain = false;  // the obvious way through a task instead of the fast one; same results
  // A task with more multiplications is refused: bounds the time of hostile programs.
  int64_t max_task_macs = int64_t{1} << 40;
  // Asked before each task, if given: an error ends the job there.
  std::function<Status(int32_t core, int32_t task)> before_task = nullptr;
};

// One job: a chain of `tasks` programs, as the kernel would start it.
struct Kick {
  uint32_t address = 0;  // of the first command word, 16-byte aligned
  uint32_t words = 0;    // of the first program, including its tail
  int32_t tasks = 0;     // PC TASK_NUMBER
  int32_t core = 0;
};

enum class TaskKind : uint8_t {
  Convolution,
  Flying,  // the DPU alone
  Pool,
};

struct TaskReport {
  int32_t index = 0;
  TaskKind kind = TaskKind::Convolution;
  int64_t output_pixels = 0;                        // of this task
  int64_t kernel_taps = 0;                          // 0 for the DPU alone
  int64_t input_channels = 0, output_channels = 0;  // as programmed, dummies included
  bool depthwise = false;
  int64_t command_words = 0;
  int64_t bytes_read = 0, bytes_written = 0;  // features, weights and operands; output
  int64_t saturations = 0;                    // values cut to 32 bits between stages
  int64_t dropped_output_bytes = 0;           // Switches::drop_dummy_output
  int64_t feature_width = 0, dma_width = 0;   // DATAIN_WIDTH and DMA_WIDTH: the same in all but odd programs
  int64_t junk_operand_channels = 0;  // dummy channels whose operands lie outside the buffer, taken as 0
};

struct Cbuf;
class KickedJob;

class Machine {
 public:
  explicit Machine(Options options = {}) : options_(options) {
    if (options.switches.read_unwritten) memory_.read_unwritten();
  }
  Memory& memory() { return memory_; }
  const Options& options() const { return options_; }

  // Runs the job. Registers and CBUF contents start unknown in every job: a program that needs what an
  // earlier job left behind is refused (Switches::cbuf_survives_jobs: not for the CBUF). On error, tasks
  // before the refused one have been executed.
  Result<std::vector<TaskReport>> run(const Kick& kick);
  // A job on several cores, one chain each; reports by chain.
  Result<std::vector<std::vector<TaskReport>>> run(std::span<const Kick> kicks);

 private:
  friend class KickedJob;
  std::shared_ptr<Cbuf> cbuf_of(int32_t core);

  Options options_;
  Memory memory_;
  std::array<std::shared_ptr<Cbuf>, 3> kept_;  // by core; Switches::cbuf_survives_jobs
};

// A job whose tasks are started one by one, as a kernel does that kicks each task on its own: chain words
// have no effect; registers, look-up tables and CBUF are as the tasks before left them.
class KickedJob {
 public:
  KickedJob(Machine& machine, int32_t core);
  ~KickedJob();
  Result<TaskReport> run(uint32_t address, uint32_t words);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace peraxis::machine
