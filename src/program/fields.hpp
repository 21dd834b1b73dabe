// The fields of everything in a program by name, once for printer and parser: visit(name, field) for each.
#pragma once

#include <array>
#include <type_traits>

#include "base/fields.hpp"
#include "program/program.hpp"

namespace peraxis::program {

using base::Is;

// A task's fields stand under the name of its kind.
template <class T>
constexpr const char* task_word() {
  if constexpr (std::is_same_v<T, rk3588::ConvTask>) return "convolution";
#define PERAXIS_TASK(kind, type, name, word, emitter) \
  if constexpr (std::is_same_v<T, rk3588::type>) return word;
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK
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
constexpr std::array kTaskKindNames = {
    "direct",
    "depthwise",
    "block_diagonal",
#define PERAXIS_TASK(kind, type, name, word, emitter) name,
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK
};
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
