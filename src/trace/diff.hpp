// Two lists of tasks beside each other: which task is which, and the fields in which they differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/facts.hpp"

namespace peraxis::trace {

struct Difference {
  std::string where;  // "DPU.OUT_CVT_SCALE.OUT_CVT_SCALE", "raw words"
  std::string a, b;   // "20001", "weights+0x40", "not written"
  bool address = false;
};
struct TaskPair {
  std::optional<size_t> a, b;  // task numbers; one is missing: only the other list has it
  std::string operation;       // of the one that is there
  std::vector<Difference> differences;
  bool reordered = false;  // the same writes in another order

  bool equal() const { return a && b && differences.empty(); }
};
struct DiffOptions {
  bool addresses = true;  // false: device addresses may differ
};
struct Diff {
  size_t tasks_a = 0, tasks_b = 0;
  std::vector<TaskPair> pairs;  // in order of both lists
  std::string rest;             // what differs outside of tasks; empty: nothing

  bool equal() const;
};

// Streams of a list are read one after another. Tasks are paired by operation and shape, in order, so that
// the pairs agree as well as possible; of very long lists (kMostPairings) only head and tail are searched,
// the middle is paired by position.
inline constexpr size_t kMostPairings = size_t{1} << 24;
Diff diff_streams(const std::vector<Stream>& a, const std::vector<Stream>& b,
                  const DiffOptions& options = {});
std::string diff_text(const Diff& diff, const std::string& name_a, const std::string& name_b);

}  // namespace peraxis::trace
