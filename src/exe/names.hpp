// The words a file may hold where only certain ones have a meaning. verify() refuses every other one: a file
// made for another chip or by another arithmetic must not run as if it were ours.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace peraxis::exe {

using Names = std::span<const std::string_view>;

Names target_names();
Names accuracy_names();   // in the order of compiler::Accuracy
Names reference_names();  // in the order of num::Reference
Names device_names();     // of layers and operators
Names strategy_names();   // of layers, in the order of requant::Strategy
Names requested_names();  // of the whole file: "auto", then those
// Of the enumerations, in their order.
Names buffer_kind_names();
Names task_kind_names();
Names step_kind_names();
Names rounding_names();

// "fast, exact"
std::string listed(Names names);

}  // namespace peraxis::exe
