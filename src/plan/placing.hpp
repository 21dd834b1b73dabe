// Where the tensors made on the NPU are: in which slots of their cubes, and which cubes are part of
// another's.
#pragma once

#include "plan/candidates.hpp"

namespace peraxis::plan {

inline int64_t pixels(const ir::Nhwc& map) {
  return map.n * map.h * map.w;
}
inline lower::Layout plain_layout_of(const ir::Graph& graph, int32_t tensor) {
  return lower::plain_layout(ir::nhwc(graph.tensor(tensor)).c);
}

// By tensor: every reader on the NPU takes its channels in whatever slots they are. The host always does.
// Network::refusals and forms must be known.
std::vector<bool> readers_take_any_order(const Network& network);

// What the NPU's readers of the operator's output pay when its channels stay where its tasks wrote them. None
// when a reader cannot take them so, or when gathering is cheaper; `why` says which.
struct Scatter {
  std::optional<Cost> penalty;
  std::string why;
};
Result<Scatter> scatter_penalty(const Network& network, size_t producer, const lower::Layout& layout);

// An operator whose tasks cannot be made for tensors that lie as the plan has them.
struct Misfit {
  size_t op = 0;
  bool in_order = false;  // all channels that it reads are in their order: another layout is no help
  std::string why;
};

// Lowers every operator as it will really run: with the input cube its producer leaves. Decides which layers
// stay scattered (the host gathers the others), lays out the parts of concatenations, and fills
// Plan::layouts, joins, homes and the costs. Where something does not fit the plan is of no use.
Result<std::vector<Misfit>> place_tensors(const Network& network, Plan& plan);

}  // namespace peraxis::plan
