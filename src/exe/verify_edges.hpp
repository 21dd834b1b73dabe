// The rules of the edges between steps, apart from those of their contents.
#pragma once

#include "base/result.hpp"
#include "exe/executable.hpp"

namespace peraxis::exe {

// Every index is there, lists are in order without repetition, steps wait for earlier ones, and each
// placement is completed at most once. The steps themselves must have been checked.
Status verify_edges(const Executable& executable);

}  // namespace peraxis::exe
