// PC: fetches command words, writes registers, starts tasks and follows the chain (npu/hardware.md 3). It
// reads 2 * (amount + 1) words from a program's address and stops at the op-enable word; the tail of each
// program gives address and amount of the next; TASK_NUMBER ends the chain whatever the last tail says.
#include <algorithm>

#include "machine/fast.hpp"
#include "machine/machine.hpp"
#include "machine/task.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

constexpr int64_t kWordBytes = 8;

struct Program {
  int64_t address = 0;
  int64_t words = 0;  // at most this many are fetched
};

uint64_t load_word(std::span<const uint8_t> bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return word;
}

struct Fetched {
  uint32_t enable = 0;
  int64_t words = 0;
};

// Runs one program's writes; returns at its op-enable word.
Result<Fetched> fetch(const Program& program, int32_t task, int32_t core, const Memory& memory,
                      RegisterFile& file) {
  bool separated = false;
  for (int64_t i = 0; i < program.words; ++i) {
    const int64_t address = program.address + i * kWordBytes;
    const auto bytes = memory.read(address, kWordBytes, "PC");
    if (!bytes)
      return with_note(bytes.error(), fmt::format("task {}: command word {} of the program at {:#x}", task, i,
                                                  program.address));
    const uint64_t word = load_word(*bytes);
    const uint16_t target = static_cast<uint16_t>(word >> 48);
    const uint32_t value = static_cast<uint32_t>(word >> 16);
    const uint16_t offset = static_cast<uint16_t>(word);
    const bool after_separator = separated;
    separated = false;
    if (word == 0) continue;  // no operation
    if (target == kSeparatorTarget) {
      if (value != 0 || offset != 0)
        return fail(ErrorCode::Device, "task {}: separator word {} carries value {:#x}, offset {:#x}", task,
                    i, value, offset);
      separated = true;
      continue;
    }
    if (target == kEnableTarget && offset == kEnableOffset) {
      if (!after_separator)
        return fail(ErrorCode::Device, "task {}: op-enable word {} does not follow a separator word", task,
                    i);
      return Fetched{value, i + 1};
    }
    PERAXIS_TRY(file.write(task, target, value, offset, core));
  }
  return fail(ErrorCode::Device,
              "task {}: no op-enable word in the {} words at {:#x} that PC.REGISTER_AMOUNTS covers", task,
              program.words, program.address);
}

Result<Program> next_program(const RegisterFile& file, int32_t task, int32_t tasks) {
  using PC::BASE_ADDRESS::PC_SEL;
  using PC::BASE_ADDRESS::PC_SOURCE_ADDR;
  const uint16_t base = PC::BASE_ADDRESS::Reg::offset;
  const uint16_t amount = PC::REGISTER_AMOUNTS::Reg::offset;
  if (!file.written_in_this_task(base) || file.value(base).value_or(0) == 0)
    return fail(ErrorCode::Device, "task {}: the chain ends here (no PC.BASE_ADDRESS), TASK_NUMBER is {}",
                task, tasks);
  if (!file.written_in_this_task(amount))
    return fail(ErrorCode::Device, "task {}: PC.BASE_ADDRESS is given without PC.REGISTER_AMOUNTS", task);
  const uint32_t word = *file.value(base);
  if (PC_SEL.get(word) != 0)
    return fail(ErrorCode::Device, "task {}: PC.BASE_ADDRESS.PC_SEL is 1: stops the fetch", task);
  return Program{PC_SOURCE_ADDR.get(word) * 16,
                 2 * (PC::REGISTER_AMOUNTS::PC_DATA_AMOUNT.get(*file.value(amount)) + 1)};
}

}  // namespace

Result<std::vector<TaskReport>> Machine::run(const Kick& kick) {
  if (kick.tasks < 1 || kick.tasks > 4095)
    return fail(ErrorCode::InvalidArgument, "TASK_NUMBER is {}, must be 1..4095", kick.tasks);
  if (kick.core < 0 || kick.core > 2)
    return fail(ErrorCode::InvalidArgument, "core is {}, must be 0..2", kick.core);
  if (kick.address % 16 != 0)
    return fail(ErrorCode::InvalidArgument, "program address {:#x} is no multiple of 16", kick.address);
  if (kick.words < 1)
    return fail(ErrorCode::InvalidArgument, "the program at {:#x} has no words", kick.address);
  RegisterFile file;
  Cbuf cbuf;
  JobCache cache;
  std::vector<Range> commands;
  std::vector<TaskReport> reports;
  Program program{kick.address, 2 * ((int64_t{kick.words} + 1) / 2)};
  for (int32_t index = 0; index < kick.tasks; ++index) {
    file.begin_task();
    const Fetched fetched = PERAXIS_TRY(fetch(program, index, kick.core, memory_, file));
    commands.push_back({program.address, program.address + fetched.words * kWordBytes});
    const ConvTask task = PERAXIS_TRY(decode_task(file, index, fetched.enable, options_));
    TaskReport report;
    report.index = index;
    report.output_pixels = task.pixels();
    report.kernel_taps = task.cna.taps();
    report.input_channels = task.cna.channels;
    report.output_channels = task.core.channels;
    report.depthwise = task.cna.depthwise;
    report.command_words = fetched.words;
    Context context{options_, memory_, cbuf, cache, report, commands};
    PERAXIS_TRY(run_conv(task, context));
    reports.push_back(report);
    if (index + 1 < kick.tasks) program = PERAXIS_TRY(next_program(file, index, kick.tasks));
    file.end_task();
  }
  return reports;
}

}  // namespace peraxis::machine
