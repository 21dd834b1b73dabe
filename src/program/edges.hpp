// The edges of a program: what its steps read and write, which wait for which, and which host arrays end
// where.
#pragma once

#include <limits>
#include <map>
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

// Which steps a step must wait for: of every byte of the arena and every host array that it uses its last
// writer, and where it writes those that have read since. For all earlier users these wait themselves.
class Conflicts {
 public:
  Conflicts(const ir::Graph& graph, const Program& program)
      : program_(program), arrays_(graph.tensors.size()) {}
  // Of the next step, in rising order: to be asked once a step, in the order of the list.
  std::vector<int32_t> next();

 private:
  struct Range {
    int64_t begin = 0, end = 0;
  };
  struct Users {
    int32_t writer = -1;           // the last one
    std::vector<int32_t> readers;  // since
  };
  struct Segment {
    int64_t end = 0;
    Users users;
  };
  static std::vector<Range> merged(std::vector<Range> ranges);
  // The map then has a border at `at`, if it has bytes on both sides.
  void split(int64_t at);
  // fn(users) of all of the range that steps have used.
  template <class Fn>
  void for_users(const Range& range, const Fn& fn);
  void note_reader(const Range& range, int32_t step);
  void note_writer(const Range& range, int32_t step);

  const Program& program_;
  size_t step_ = 0;
  std::map<int64_t, Segment> bytes_;  // of the arena, by first byte; what is in none was not used
  std::vector<Users> arrays_;         // by tensor of the graph: its host array
};

// Whether steps wait for steps through others.
class Waiting {
 public:
  // The edges of the next step.
  void add(const std::vector<int32_t>& after);
  // `most`: steps to look at. False when the answer is not known after so many.
  bool waits(size_t later, size_t earlier, size_t most = std::numeric_limits<size_t>::max()) const;

 private:
  std::vector<std::vector<int32_t>> after_;  // by step
  std::vector<size_t> all_below_;            // by step: it waits for every step below this one
  mutable std::vector<size_t> seen_;         // by step: the question that has come by last
  mutable size_t questions_ = 0;
};

}  // namespace peraxis::program
