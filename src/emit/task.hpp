// Any task -> command words.
#pragma once

#include "emit/program.hpp"
#include "target/rk3588/tasks.hpp"

namespace peraxis::emit {

// In the order of the vendor's blocks for the same operation.
#define PERAXIS_TASK(kind, type, name, word, emitter) Result<Program> emitter(const rk3588::type& task);
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK

Result<Program> program(const rk3588::Task& task);

}  // namespace peraxis::emit
