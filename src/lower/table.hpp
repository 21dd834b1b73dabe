// Operators that are functions of one 8-bit value, through the chip's look-up table: one task that loads it,
// and one that looks up.
#pragma once

#include "lower/device_op.hpp"

namespace peraxis::lower {

// Operators that are such functions when every other operand is a constant of one element.
bool is_table_operator(ir::OpKind kind);

DeviceText table_text();

Result<DeviceForm> table_form(const ir::Graph& graph, size_t op);

// SiLU as exporters write it, MUL(x, LOGISTIC(x)), where nothing else reads the LOGISTIC: by operator, the
// index of the other of the two, or -1.
std::vector<int32_t> silu_partners(const ir::Graph& graph);
// The form of the MUL, which computes both. The output keeps the values of the two operators one after the
// other, the LOGISTIC's own quantization included.
Result<DeviceForm> silu_form(const ir::Graph& graph, size_t logistic, size_t mul);

// The task that looks up; whoever chains tasks puts the loads in.
std::vector<rk3588::Task> look_up_task(const ir::Graph& graph, size_t op, const DeviceForm& form,
                                       const DevicePlaces& places);

}  // namespace peraxis::lower
