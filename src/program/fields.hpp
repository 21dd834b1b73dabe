// The fields of everything in a program by name, once for printer and parser: visit(name, field) for each.
#pragma once

#include <array>
#include <type_traits>

#include "program/program.hpp"

namespace peraxis::program {

// T, const or not. A type without fields here does not compile.
template <class T, class Type>
concept Is = std::is_same_v<std::remove_const_t<T>, Type>;

// A task's fields stand under the name of its kind.
template <class T>
constexpr const char* task_word() {
  if constexpr (std::is_same_v<T, rk3588::ConvTask>) return "convolution";
  if constexpr (std::is_same_v<T, rk3588::PoolTask>) return "pool";
  if constexpr (std::is_same_v<T, rk3588::ElementTask>) return "element";
  if constexpr (std::is_same_v<T, rk3588::UpsampleTask>) return "upsample";
  if constexpr (std::is_same_v<T, rk3588::TableTask>) return "load_table";
}

template <class Visit, Is<rk3588::ConvTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("depthwise", x.depthwise);
  visit("in_width", x.in_width);
  visit("in_height", x.in_height);
  visit("packed", x.packed);
  visit("in_plane", x.in_plane);
  visit("line", x.line);
  visit("in_channels", x.in_channels);
  visit("in_channels_real", x.in_channels_real);
  visit("input", x.input);
  visit("pad_left", x.pad_left);
  visit("pad_top", x.pad_top);
  visit("pad_value", x.pad_value);
  visit("kernel_width", x.kernel_width);
  visit("kernel_height", x.kernel_height);
  visit("stride_x", x.stride_x);
  visit("stride_y", x.stride_y);
  visit("dilation_x", x.dilation_x);
  visit("dilation_y", x.dilation_y);
  visit("insert_x", x.insert_x);
  visit("insert_y", x.insert_y);
  visit("kernels", x.kernels);
  visit("weight_bytes_per_kernel", x.weight_bytes_per_kernel);
  visit("weight_bytes", x.weight_bytes);
  visit("weights", x.weights);
  visit("weight_zero_point", x.weight_zero_point);
  visit("out_width", x.out_width);
  visit("out_height", x.out_height);
  visit("out_plane", x.out_plane);
  visit("out_channels", x.out_channels);
  visit("out_channels_real", x.out_channels_real);
  visit("output", x.output);
  visit("operands", x.operands);
  visit("data_banks", x.data_banks);
  visit("weight_banks", x.weight_banks);
  visit("weight_reuse", x.weight_reuse);
  visit("dpu", x.dpu);
  visit("added", x.added);
}

template <class Visit, Is<rk3588::PoolTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("average", x.average);
  visit("in_width", x.in_width);
  visit("in_height", x.in_height);
  visit("out_width", x.out_width);
  visit("out_height", x.out_height);
  visit("channels", x.channels);
  visit("kernel_width", x.kernel_width);
  visit("kernel_height", x.kernel_height);
  visit("stride_x", x.stride_x);
  visit("stride_y", x.stride_y);
  visit("pad_left", x.pad_left);
  visit("pad_top", x.pad_top);
  visit("pad_right", x.pad_right);
  visit("pad_bottom", x.pad_bottom);
  visit("input", x.input);
  visit("output", x.output);
  visit("in_plane", x.in_plane);
  visit("out_plane", x.out_plane);
}

template <class Visit, Is<rk3588::ElementTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("width", x.width);
  visit("height", x.height);
  visit("channels", x.channels);
  visit("input", x.input);
  visit("output", x.output);
  visit("in_plane", x.in_plane);
  visit("out_plane", x.out_plane);
  visit("addend", x.addend);
  visit("factor", x.factor);
  visit("constant", x.constant);
  visit("relu_first", x.relu_first);
  visit("operand", x.operand);
  visit("prelu_factor", x.prelu_factor);
  visit("prelu_shift", x.prelu_shift);
  visit("relu", x.relu);
  visit("table", x.table);
  visit("out_scale", x.out_scale);
  visit("out_shift", x.out_shift);
  visit("out_offset", x.out_offset);
}

template <class Visit, Is<rk3588::UpsampleTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("width", x.width);
  visit("height", x.height);
  visit("rows", x.rows);
  visit("columns", x.columns);
  visit("input", x.input);
  visit("output", x.output);
}
template <class Visit, Is<rk3588::TableTask> T>
void visit_fields(Visit&& visit, T& x) {
  visit("table", x.table);
  visit("input", x.input);
  visit("output", x.output);
}
template <class Visit, Is<rk3588::DpuParams> T>
void visit_fields(Visit&& visit, T& x) {
  visit("int32_output", x.int32_output);
  visit("multiply", x.multiply);
  visit("scalar_factor", x.scalar_factor);
  visit("bs_shift", x.bs_shift);
  visit("relu", x.relu);
  visit("bn_addend", x.bn_addend);
  visit("relux", x.relux);
  visit("relux_compare", x.relux_compare);
  visit("out_scale", x.out_scale);
  visit("out_shift", x.out_shift);
  visit("ties_away", x.ties_away);
  visit("out_offset", x.out_offset);
}
template <class Visit, Is<rk3588::AddedTensor> T>
void visit_fields(Visit&& visit, T& x) {
  visit("address", x.address);
  visit("plane", x.plane);
  visit("factor", x.factor);
  visit("constant", x.constant);
  visit("offset", x.offset);
  visit("operand_factor", x.operand_factor);
  visit("relu", x.relu);
  visit("out_scale", x.out_scale);
  visit("out_shift", x.out_shift);
  visit("out_offset", x.out_offset);
}
template <class Visit, Is<rk3588::ElementTask::Operand> T>
void visit_fields(Visit&& visit, T& x) {
  visit("address", x.address);
  visit("plane", x.plane);
  visit("offset", x.offset);
  visit("factor", x.factor);
  visit("combine", x.combine);
}
template <class Visit, Is<Operator> T>
void visit_fields(Visit&& visit, T& x) {
  visit("variant", x.variant);
  visit("by", x.by);
  visit("strategy", x.strategy);
  visit("proved", x.certificate);
  visit("cost", x.cost);
  visit("reason", x.reason);
}
// Its channels are lines of their own.
template <class Visit, Is<Certificate> T>
void visit_fields(Visit&& visit, T& x) {
  visit("max", x.max);
  visit("expected", x.expected);
  visit("every_reading", x.every_reading);
}
template <class Visit, Is<ChannelCertificate> T>
void visit_fields(Visit&& visit, T& x) {
  visit("acc_min", x.acc_min);
  visit("acc_max", x.acc_max);
  visit("differing", x.differing);
  visit("max", x.max);
  visit("expected", x.expected);
}
template <class Visit, Is<Cost> T>
void visit_fields(Visit&& visit, T& x) {
  visit("tasks", x.tasks);
  visit("mac_cycles", x.mac_cycles);
  visit("bytes", x.bytes);
  visit("host_values", x.host_values);
  visit("npu_ms", x.npu_ms);
  visit("host_ms", x.host_ms);
}
template <class Visit, Is<DeviceTensor> T>
void visit_fields(Visit&& visit, T& x) {
  visit("of", x.tensor);
  visit("at", x.address);
  visit("map", x.map);
  visit("slots", x.slots);
  visit("layout", x.layout);
  visit("pitch", x.pitch);
  visit("owner", x.owner);
  visit("first", x.first);
  visit("last", x.last);
}
template <class Visit, Is<Map> T>
void visit_fields(Visit&& visit, T& x) {
  visit("h", x.h);
  visit("w", x.w);
  visit("c", x.c);
}
template <class Visit, Is<Layout> T>
void visit_fields(Visit&& visit, T& x) {
  visit("slots", x.slots);
  visit("slot_of", x.slot_of);
}
template <class Visit, Is<Step> T>
void visit_fields(Visit&& visit, T& x) {
  visit("kind", x.kind);
  visit("op", x.op);
  visit("tensor", x.tensor);
  visit("first_task", x.first_task);
  visit("task_count", x.task_count);
  visit("host_work", x.host_work);
  visit("inputs", x.inputs);
  visit("outputs", x.outputs);
  visit("after", x.after);
  visit("reads", x.reads);
  visit("writes", x.writes);
  visit("host_reads", x.host_reads);
  visit("host_writes", x.host_writes);
  visit("completes", x.completes);
  visit("frees", x.frees);
}
// Regions and channels are lines of their own.
template <class Visit, Is<HostWork> T>
void visit_fields(Visit&& visit, T& x) {
  visit("op", x.op);
  visit("rounding", x.rounding);
  visit("zero_point", x.zero_point);
  visit("low", x.low);
  visit("high", x.high);
}
template <class Visit, Is<Region> T>
void visit_fields(Visit&& visit, T& x) {
  visit("allocation", x.allocation);
  visit("offset", x.offset);
  visit("h", x.h);
  visit("w", x.w);
  visit("slots", x.slots);
  visit("element_bytes", x.element_bytes);
}
template <class Visit, Is<HostChannel> T>
void visit_fields(Visit&& visit, T& x) {
  visit("region", x.region);
  visit("slot", x.slot);
  visit("addend", x.addend);
  visit("sum_slot", x.sum_slot);
  visit("sum_factor", x.sum_factor);
  visit("mantissa", x.mantissa);
  visit("exponent", x.exponent);
  visit("multiplier", x.multiplier);
}
template <class Visit, Is<Task> T>
void visit_fields(Visit&& visit, T& x) {
  visit("of", x.op);
  visit("kind", x.kind);
  visit("first_row", x.first_row);
  visit("rows", x.rows);
  visit("real_input_channels", x.real_input_channels);
  visit("real_output_channels", x.real_output_channels);
  visit("set", x.set);
  visit("", x.task);  // under the name of its kind
}
template <class Visit, Is<Allocation> T>
void visit_fields(Visit&& visit, T& x) {
  visit("constant", x.constant);
  visit("offset", x.offset);
  visit("bytes", x.bytes);
  visit("first", x.first);
  visit("last", x.last);
  visit("hash", x.hash);
}
// What the first line has beside the name.
template <class Visit, Is<Program> T>
void visit_fields(Visit&& visit, T& x) {
  visit("activation_bytes", x.activation_bytes);
  visit("largest_live_bytes", x.largest_live_bytes);
  visit("order", x.order);
  visit("host_constants", x.host_constants);
}

// Names of enums, by value.
constexpr std::array kVariantNames = {"convolution", "tasks", "view", "part", "sum", "cpu", "unused"};
constexpr std::array kTaskKindNames = {"direct",  "depthwise", "block_diagonal", "pool",
                                       "element", "upsample",  "table"};
constexpr std::array kStepKindNames = {"cpu", "upload", "download", "job", "gather", "requantize", "correct"};
constexpr std::array kRoundingNames = {"two", "once", "double"};
constexpr std::array kCombineNames = {"add", "multiply", "maximum", "minimum"};

template <class Enum>
constexpr const auto& enum_names() {
  if constexpr (std::is_same_v<Enum, Variant>)
    return kVariantNames;
  else if constexpr (std::is_same_v<Enum, TaskKind>)
    return kTaskKindNames;
  else if constexpr (std::is_same_v<Enum, StepKind>)
    return kStepKindNames;
  else if constexpr (std::is_same_v<Enum, HostRounding>)
    return kRoundingNames;
  else {
    static_assert(std::is_same_v<Enum, rk3588::ElementTask::Operand::Combine>);
    return kCombineNames;
  }
}

}  // namespace peraxis::program
