// Command words in shared memory, as far as a kernel's checks look at them.
#pragma once

#include <optional>
#include <vector>

#include "capture/server/executor.hpp"

namespace peraxis::capture {

// The words of a task; fewer when they leave the buffer.
std::vector<uint64_t> words_at(const Space& space, const CommandRange& task);
// Whether the word writes the register group pointer of CNA or CORE.
bool sets_pointer(uint64_t word);
// The device address that the word writes into a register that holds one. 0 may be none, or the first
// buffer's.
std::optional<uint32_t> address_in(uint64_t word);

}  // namespace peraxis::capture
