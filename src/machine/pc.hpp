// PC: fetches command words, writes registers and follows the chain.
#pragma once

#include "machine/memory.hpp"
#include "machine/register_file.hpp"

namespace peraxis::machine {

inline constexpr int64_t kWordBytes = 8;

struct Program {
  int64_t address = 0;
  int64_t words = 0;  // at most this many are fetched
};

struct Fetched {
  uint32_t enable = 0;
  int64_t words = 0;
};

// Runs one program's writes; returns at its op-enable word.
Result<Fetched> fetch(const Program& program, int32_t task, int32_t core, const Memory& memory,
                      RegisterFile& file);
// The program that the tail of the current one names.
Result<Program> next_program(const RegisterFile& file, int32_t task, int32_t tasks);
// How many cores wait for each other after the current task; 0: nobody waits
// (docs/hardware/pc.md#barriers-between-cores).
int64_t barrier_cores(const RegisterFile& file);

}  // namespace peraxis::machine
