// PC: fetches command words, writes registers, starts tasks and follows the chain (docs/hardware/pc.md). It
// reads 2 * (amount + 1) words from a program's address and stops at the op-enable word; the tail of each
// program gives address and amount of the next; TASK_NUMBER ends the chain whatever the last tail says.
#include "machine/pc.hpp"

namespace peraxis::machine {

using namespace rk3588;

namespace {

uint64_t load_word(std::span<const uint8_t> bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return word;
}

}  // namespace

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

int64_t barrier_cores(const RegisterFile& file) {
  const uint16_t amount = PC::REGISTER_AMOUNTS::Reg::offset;
  if (!file.written_in_this_task(amount)) return 0;
  const int64_t others = PC::REGISTER_AMOUNTS::CORE_BARRIER.get(*file.value(amount));
  return others == 0 ? 0 : others + 1;
}

}  // namespace peraxis::machine
