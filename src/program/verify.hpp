// What must hold of a placed program, whoever made or wrote it.
#pragma once

#include "base/result.hpp"
#include "ir/graph.hpp"
#include "program/program.hpp"

namespace peraxis::program {

// `graph` is the program's and has passed ir::verify. The error names what breaks a rule. The rules:
//   indices     everything that is referred to is there
//   operators   each has its place in the order, behind those that make what it reads; `by` names an operator
//   with
//               tasks; tasks and host work belong to operators that have some
//   memory      no two activations that live at once share bytes; tasks, tensors and work of the host stay
//   inside
//               their allocations
//   tensors     every channel has a slot of its own; a tensor lives no longer than its allocation
//   steps       the jobs hold all tasks once, in order
//   edges       steps wait for earlier ones only, and two that must not run side by side wait for each other;
//   what is
//               read has been written; each tensor is completed at most once, after which the step that
//               completes it is behind none that reads it; nothing is read that was freed
Status verify(const ir::Graph& graph, const Program& program);

}  // namespace peraxis::program
