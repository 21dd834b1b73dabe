// Operators that read nothing but constants are computed once, here. Exporters leave chains of them where
// shapes, anchors and grids are made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.hpp"

namespace peraxis::passes {

// All results together may have this many bytes; operators beyond stay.
inline constexpr int64_t kMostFoldedBytes = int64_t{64} << 20;

// The operator reads nothing but constants, or only the shape of its input.
bool depends_on_constants(const ir::Graph& graph, size_t op);
// The values of such an operator's outputs; none when the reference kernel refuses.
std::optional<std::vector<std::vector<uint8_t>>> computed_values(const ir::Graph& graph, size_t op);

// Computes each such operator by the reference kernels (SHAPE too: shapes are fixed) and lets its readers
// read the result, a new constant behind the graph's tensors. The operator stays, dead unless it makes an
// output of the graph. Returns how many operators were computed.
int64_t fold_constants(ir::Graph& graph);

}  // namespace peraxis::passes
