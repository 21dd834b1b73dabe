// Any task -> command words.
#pragma once

#include "emit/program.hpp"
#include "target/rk3588/tasks.hpp"

namespace peraxis::emit {

// In the order of the vendor's blocks for the same operation.
Result<Program> pooling(const rk3588::PoolTask& task);
Result<Program> element_wise(const rk3588::ElementTask& task);
Result<Program> upsampling(const rk3588::UpsampleTask& task);
Result<Program> table_loading(const rk3588::TableTask& task);

Result<Program> program(const rk3588::Task& task);

}  // namespace peraxis::emit
