// The cheapest cut of a directed graph between a source and a sink.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace peraxis::plan {

class MinCut {
 public:
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;
  static constexpr int32_t kSource = 0, kSink = 1;

  MinCut() : first_(2, -1) {}
  int32_t add_node();
  // What it costs when `from` is on the source's side and `to` on the sink's.
  void add_edge(int32_t from, int32_t to, int64_t cost);

  // By node: on the source's side of a cut of least cost; of several such cuts the one with most nodes there.
  // None when more than `most_steps` edges would be looked at.
  std::optional<std::vector<bool>> solve(int64_t most_steps);

 private:
  struct Edge {
    int32_t to = 0, next = -1;
    int64_t left = 0;  // capacity left; the edge's twin is at its index ^ 1
  };
  bool find_levels();
  bool push_flow();

  std::vector<int32_t> first_;  // by node: its first edge
  std::vector<Edge> edges_;
  std::vector<int32_t> level_, current_;
  int64_t steps_left_ = 0;
};

}  // namespace peraxis::plan
