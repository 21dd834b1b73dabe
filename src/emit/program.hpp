// Command words of one task, with what is linked later.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "target/rk3588/conv_task.hpp"

namespace peraxis::emit {

// Word `word` of the program holds an address: it becomes that of `address` once memory is planned.
struct AddressWord {
  int32_t word = 0;
  rk3588::SymbolicAddress address;
};

struct Program {
  std::vector<uint64_t> words;  // register writes and the four-word tail
  std::vector<AddressWord> addresses;
  int32_t next_address_word = 0;  // tail: PC BASE_ADDRESS of the next program (a no-op until linked)
  int32_t next_amount_word = 0;   // tail: PC REGISTER_AMOUNTS of the next program
};

// The tail's words that lead to a program of `words` words. Its address word is a relocation.
uint64_t next_address();
Result<uint64_t> next_amount(int64_t words);

}  // namespace peraxis::emit
