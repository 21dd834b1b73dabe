// Where the tensors made on the NPU are: in which slots of their cubes, and which cubes are part of
// another's.
#pragma once

#include "plan/candidates.hpp"

namespace peraxis::plan {

// By tensor: every reader on the NPU takes its channels in whatever slots they are. The host always does.
// By operator: `refusals`, why it runs there, and `forms`.
std::vector<bool> readers_take_any_order(const ir::Graph& graph, const std::vector<std::string>& refusals,
                                         const std::vector<lower::DeviceForm>& forms);

// What the NPU's readers of the operator's output pay when its channels stay where its tasks wrote them. None
// when a reader cannot take them so, or when gathering is cheaper.
std::optional<Cost> scatter_penalty(const Network& network, size_t producer, const lower::Layout& layout);

// Lowers every layer as it will really run: with the input cube its producer leaves. Decides which layers
// stay scattered (the host gathers the others), lays out the parts of concatenations, and fills
// Plan::layouts, joins, homes and the layers' costs.
Status place_tensors(const Network& network, Plan& plan);

}  // namespace peraxis::plan
