// The text form of a placed program, and its way back. docs/program.md shows one.
//
//   program "yolo" activation_bytes(281600) largest_live_bytes(281600) order(0, 1, 2)
//
//   operator 0 strategy("hw-multiply") proved{max(1) expected(0.00057)} cost{tasks(2) ...}
//   step 1 kind(job) task_count(43) after(0) reads(0) writes(1, 2) completes(1@1, 2@4)
//   tensor 0 of(0) at(a0+0) map{h(160) w(160) c(3)} slots(3) pitch(160)
//   host_work 0 op(3) ...
//     region allocation(4) h(20) ...
//     channel slot(0) ...
//   table 0 le(...) lo(...)
//   task 0 rows(69) ... convolution{in_width(160) ... input(a0+0)}
//   allocation 0 bytes(76800) first(0) last(0)
//   proof 0
//     channel acc_min(-657401) ...
//
// A field that has its default is left out; what fields mean is said in program.hpp, in the same order.
// a3+128 is byte 128 of allocation 3; 2@14 tensor 2, complete after task 14, and 2 alone after the whole
// step. Lines that begin with # and empty ones are skipped. Of constants the text has size and hash.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "ir/graph.hpp"
#include "program/program.hpp"

namespace peraxis::program {

// With a graph every operator has a comment that says what it is in the model.
std::string print(const Program& program, const ir::Graph* graph = nullptr);
// Structure only: whether it makes sense is verify()'s question. parse(print(p)) is p again.
Result<Program> parse(std::string_view text);

}  // namespace peraxis::program
