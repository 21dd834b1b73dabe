// The edges of a program: what its steps read and write, which wait for which, and which host arrays end
// where.
#pragma once

#include <vector>

#include "ir/graph.hpp"
#include "program/program.hpp"

namespace peraxis::program {

// Device tensors that an operator's tasks read and write.
struct OperatorAccess {
  std::vector<int32_t> reads, writes;
};
// Gives each job what the operators of its tasks read and write; `accesses` by operator.
void note_operands(const std::vector<OperatorAccess>& accesses, Program& program);

// Fills Step::after and Step::frees. Everything else must be there: places of all memory, and what the steps
// read and write. A step waits for those that write what it reads, and for those that use memory that it
// writes.
void draw_edges(const ir::Graph& graph, Program& program);

// By step: those that it may not run beside, each an earlier one; not only the nearest.
class Hazards {
 public:
  explicit Hazards(const Program& program);
  // They use the same memory or host array, and one of them writes it.
  bool between(size_t earlier, size_t later) const;

 private:
  struct Range {
    int64_t begin = 0, end = 0;
  };
  struct Use {
    std::vector<Range> all, written;              // of the arena, in order, none touching another
    std::vector<int32_t> arrays, arrays_written;  // host arrays, in order
  };
  static std::vector<Range> merged(std::vector<Range> ranges);
  static bool overlap(const std::vector<Range>& a, const std::vector<Range>& b);

  std::vector<Use> uses_;  // by step
};

// Whether steps wait for steps through others.
class Waiting {
 public:
  // Of the edges of the first steps, as many as were added; `after` of the next one.
  void add(const std::vector<int32_t>& after);
  bool waits(size_t later, size_t earlier) const { return earlier < later && before_[later][earlier]; }

 private:
  std::vector<std::vector<bool>> before_;  // by step: all that are done when it begins
};

}  // namespace peraxis::program
