// What a plan says of the operators on the NPU that are no convolutions: their certificates, and what
// differed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/difference_text.hpp"
#include "cli/output.hpp"
#include "engine/operator_compare.hpp"
#include "plan/planner.hpp"

namespace peraxis::cli {

using engine::OperatorDifferences;

// Adds to every entry of `operators` ({"op": ...}) on the NPU "tasks", "certificate" {"values", "differing",
// "max", "counted", "every_tie_reading", "max_any_tie_reading"}, "expected_mismatch_percent", with
// `measured` "isolated", and of an ADD "not_fused": why no convolution does it, or null.
void add_operator_plans(Json& operators, const ir::Graph& graph, const plan::Plan& plan,
                        const OperatorDifferences* measured);

// A row each; empty when there are none.
std::string operators_table(const ir::Graph& graph, const plan::Plan& plan,
                            const OperatorDifferences* measured);

// Rows behind those of the layers, with the same columns.
std::string operators_csv(const ir::Graph& graph, const plan::Plan& plan,
                          const OperatorDifferences* measured);

}  // namespace peraxis::cli
