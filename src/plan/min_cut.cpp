// Dinic's algorithm: shortest augmenting paths by levels, until the sink is out of reach.
#include "plan/min_cut.hpp"

#include <algorithm>

namespace peraxis::plan {

int32_t MinCut::add_node() {
  first_.push_back(-1);
  return static_cast<int32_t>(first_.size() - 1);
}

void MinCut::add_edge(int32_t from, int32_t to, int64_t cost) {
  const auto link = [&](int32_t a, int32_t b, int64_t capacity) {
    edges_.push_back({b, first_[static_cast<size_t>(a)], capacity});
    first_[static_cast<size_t>(a)] = static_cast<int32_t>(edges_.size() - 1);
  };
  link(from, to, std::min(cost, kInfinite));
  link(to, from, 0);
}

bool MinCut::find_levels() {
  level_.assign(first_.size(), -1);
  level_[kSource] = 0;
  std::vector<int32_t> queue{kSource};
  for (size_t i = 0; i < queue.size(); ++i) {
    const auto node = static_cast<size_t>(queue[i]);
    for (int32_t e = first_[node]; e >= 0; e = edges_[static_cast<size_t>(e)].next) {
      --steps_left_;
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.left == 0 || level_[static_cast<size_t>(edge.to)] >= 0) continue;
      level_[static_cast<size_t>(edge.to)] = level_[node] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

// One path of the levels; false when there is none left.
bool MinCut::push_flow() {
  std::vector<int32_t> path;  // edges
  int32_t node = kSource;
  while (node != kSink && steps_left_ > 0) {
    int32_t& e = current_[static_cast<size_t>(node)];
    while (e >= 0) {
      --steps_left_;
      const Edge& edge = edges_[static_cast<size_t>(e)];
      if (edge.left > 0 && level_[static_cast<size_t>(edge.to)] == level_[static_cast<size_t>(node)] + 1)
        break;
      e = edge.next;
    }
    if (e >= 0) {
      path.push_back(e);
      node = edges_[static_cast<size_t>(e)].to;
      continue;
    }
    if (path.empty()) return false;
    // A dead end: back, and past the edge that led here.
    node = edges_[static_cast<size_t>(path.back() ^ 1)].to;
    current_[static_cast<size_t>(node)] = edges_[static_cast<size_t>(path.back())].next;
    path.pop_back();
  }
  if (node != kSink) return false;
  int64_t flow = kInfinite;
  for (const int32_t e : path) flow = std::min(flow, edges_[static_cast<size_t>(e)].left);
  for (const int32_t e : path) {
    edges_[static_cast<size_t>(e)].left -= flow;
    edges_[static_cast<size_t>(e ^ 1)].left += flow;
  }
  return true;
}

std::optional<std::vector<bool>> MinCut::solve(int64_t most_steps) {
  steps_left_ = most_steps;
  while (steps_left_ > 0 && find_levels()) {
    current_ = first_;
    while (push_flow()) {
    }
  }
  if (steps_left_ <= 0) return std::nullopt;
  // The nodes that cannot reach the sink any more.
  std::vector<bool> reaches(first_.size());
  reaches[kSink] = true;
  std::vector<int32_t> queue{kSink};
  for (size_t i = 0; i < queue.size(); ++i)
    for (int32_t e = first_[static_cast<size_t>(queue[i])]; e >= 0; e = edges_[static_cast<size_t>(e)].next) {
      const auto from = static_cast<size_t>(edges_[static_cast<size_t>(e)].to);
      if (reaches[from] || edges_[static_cast<size_t>(e ^ 1)].left == 0) continue;
      reaches[from] = true;
      queue.push_back(static_cast<int32_t>(from));
    }
  reaches.flip();
  return reaches;
}

}  // namespace peraxis::plan
